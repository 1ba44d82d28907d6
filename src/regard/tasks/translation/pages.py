"""Pages and files through a translator: HTML, and the layout of plain text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, Unpack

from regard.documents.html import parse_html
from regard.tasks.translation.translation import TranslateKeywords, Translation
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


_BREAK = re.compile(r"(\r\n|\r|\n)")


class Layout(NamedTuple):
    """A text without its layout, and the layout.

    bare     the text: lines that end in \\n, without indentation
    indents  the white space at the beginning of each line
    breaks   what ends each line but the last

    >>> layout = Layout.of("One:\\r\\n  two")
    >>> layout.bare
    'One:\\ntwo'
    >>> layout.apply("Un :\\ndeux")
    'Un :\\r\\n  deux'
    """

    bare: str
    indents: tuple[str, ...]
    breaks: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Layout:
        """Separate a text from its layout."""
        parts = _BREAK.split(text)
        lines = [line.lstrip() for line in parts[::2]]
        indents = [
            line[: len(line) - len(bare)] if bare else ""
            for line, bare in zip(parts[::2], lines, strict=True)
        ]
        return cls("\n".join(lines), tuple(indents), tuple(parts[1::2]))

    def apply(self, translation: str) -> str:
        """Give a translation, which has as many lines as the text, the text's layout."""
        lines = translation.split("\n")
        if len(lines) != len(self.indents):
            return translation
        rows = zip(self.indents, lines, (*self.breaks, ""), strict=True)
        return "".join(indent + line + end for indent, line, end in rows)
