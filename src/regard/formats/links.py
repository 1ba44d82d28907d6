"""Word links as text, one line a sentence pair (Pharaoh): `0-0 1-2 2?3`, counted from 0.

`i-j` is a sure link of word i and word j, `i?j` a possible one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from regard.formats.pair import Path, format_error

_LINK = re.compile(r"(\d{1,9})([-?])(\d{1,9})")


class TextLink(NamedTuple):
    """A link as it is written: two words, and whether it is sure."""

    first: int
    second: int
    sure: bool


def parse_links(line: str, file: Path = "links", number: int = 1) -> list[TextLink]:
    """The links of a line; `file` and `number` say where it is, if it is malformed.

    >>> parse_links("0-0 1?2")
    [TextLink(first=0, second=0, sure=True), TextLink(first=1, second=2, sure=False)]
    """
    links = []
    for word in line.split():
        match = _LINK.fullmatch(word)
        if not match:
            what = f"links are pairs of word numbers such as 0-0 or 1?2, got {word[:40]!r}"
            raise format_error(file, number, what, "write one line for each sentence pair")
        links.append(TextLink(int(match[1]), int(match[3]), match[2] == "-"))
    return links
