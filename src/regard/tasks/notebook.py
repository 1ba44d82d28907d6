"""What notebooks show of a result: the page's view in a frame, or plain text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from regard.views import SentenceView
from regard.views.html.notebook import Page


def notebook_html(views: Iterable[SentenceView], text: str) -> str:
    """A page of the views in a frame; without any, the text alone."""
    shown = tuple(views)
    if shown:
        return Page("regard", shown)._repr_html_()
    return f'<p dir="auto" style="white-space: pre-wrap">{escape(text)}</p>'
