"""Notebooks: a result in a frame, and the progress of training as a bar drawn anew in its place."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from html import escape
from typing import Any

from regard.training.report import progress_text
from regard.views import SentenceView
from regard.views.html.notebook import Page


def notebook_html(views: Iterable[SentenceView], text: str) -> str:
    """A page of the views in a frame; without any, the text alone."""
    shown = tuple(views)
    if shown:
        return Page("regard", shown)._repr_html_()
    return f'<p dir="auto" style="white-space: pre-wrap">{escape(text)}</p>'


EVERY = 0.5  # seconds between two drawings of the bar


def in_notebook() -> bool:
    """Whether this process shows rich output, as Jupyter's kernels do."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


class NotebookProgress:
    """Shows training progress below a notebook's cell."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._drawn = 0.0

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, flush=True)

    def update(self, share: float, seconds_left: float, figures: dict[str, Any]) -> None:
        """Draw the bar anew, twice a second at the most."""
        if time.monotonic() - self._drawn < EVERY:
            return
        self._drawn = time.monotonic()
        self._draw(bar_html(share, progress_text(seconds_left, figures)))

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._draw("")
            self._bar = None

    def _draw(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._bar is None:
            self._bar = display(HTML(html), display_id=True)
        else:
            self._bar.update(HTML(html))


def bar_html(share: float, text: str) -> str:
    """A bar that is filled to `share`, with a text beside it.

    >>> bar_html(0.25, "step 3")
    '<progress max="1" value="0.250"></progress> 25 % step 3'
    """
    bar = f'<progress max="1" value="{share:.3f}"></progress>'
    return f"{bar} {100 * share:.0f} % {escape(text)}"
