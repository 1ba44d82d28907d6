"""HTML pages through a translator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from regard.documents.html import parse_html
from regard.tasks.translation.options import TranslateKeywords
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translator import Translator


def translate_html(
    translator: Translator,
    source: str,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
    **options: Unpack[TranslateKeywords],
) -> str:
    """A page, or a part of one, with its text translated and its markup kept.

    `progress` receives the number of texts that are done and of all; `options` are those of
    `Translator.translate`.
    """
    page = parse_html(source)
    texts = page.texts
    done: list[Translation] = []
    options["alignment"] = True  # by which inline markup is placed
    for window in translator.translate_lines(texts, **options):
        done += window
        progress(len(done), len(texts))
    return page.render(done)
