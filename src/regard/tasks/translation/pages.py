"""HTML pages through a translator."""

from __future__ import annotations

from collections.abc import Callable

from regard.config import SearchOptions
from regard.documents.html import parse_html
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translator import Translator


def translate_html(
    translator: Translator,
    source: str,
    *,
    settings: SearchOptions | None = None,
    split: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> str:
    """A page, or a part of one, with its text translated and its markup kept.

    `progress` is told how many of the page's texts are done, and how many there are.
    """
    page = parse_html(source)
    texts = page.texts
    done: list[Translation] = []
    for window in translator.translate_lines(texts, settings=settings, alignment=True, split=split):
        done += window
        progress(len(done), len(texts))
    return page.render(done)
