"""The layout of plain text: how its lines end and how far they are indented."""

from __future__ import annotations

import re
from typing import NamedTuple

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
