"""What a plain text has besides its words: how its lines end and how far they are set in."""

from __future__ import annotations

import re
from typing import NamedTuple

_BREAK = re.compile(r"(\r\n|\r|\n)")


class Layout(NamedTuple):
    """A text without its layout, and the layout.

    leads   the white space that each line begins with
    breaks  what each line but the last ends with

    >>> layout = Layout.of("One:\\r\\n  two")
    >>> layout.bare
    'One:\\ntwo'
    >>> layout.around("Un :\\ndeux")
    'Un :\\r\\n  deux'
    """

    bare: str
    leads: tuple[str, ...]
    breaks: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Layout:
        """Take a text apart."""
        parts = _BREAK.split(text)
        lines = [line.lstrip() for line in parts[::2]]
        leads = [
            line[: len(line) - len(bare)] if bare else ""
            for line, bare in zip(parts[::2], lines, strict=True)
        ]
        return cls("\n".join(lines), tuple(leads), tuple(parts[1::2]))

    def around(self, translation: str) -> str:
        """The same layout around a translation, which has as many lines as the text."""
        lines = translation.split("\n")
        if len(lines) != len(self.leads):
            return translation
        rows = zip(self.leads, lines, (*self.breaks, ""), strict=True)
        return "".join(lead + line + end for lead, line, end in rows)
