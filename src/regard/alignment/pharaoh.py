"""Links as text, one sentence a line: `0-0 1-2` are sure links, `3?4` is a possible one.

This is the Pharaoh format: source word, target word, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from regard.alignment.links import Link, Links
from regard.errors import InputError

_LINK = re.compile(r"(\d+)([-?])(\d+)", re.ASCII)


class GoldLinks(NamedTuple):
    """The links of one sentence. `possible` holds the sure ones too, as AER wants them."""

    sure: Links
    possible: Links


def read_pharaoh(line: str, where: str = "") -> GoldLinks:
    """The links of a line; `where` (file and line) begins the error message.

    >>> links = read_pharaoh("0-0 2?1")
    >>> sorted(links.sure), sorted(links.possible)
    ([(0, 0)], [(0, 0), (2, 1)])
    """
    sure, possible = set(), set()
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise InputError(
                f"{where + ': ' if where else ''}{word!r} is not a link; "
                "write 0-1 for a sure link of source word 0 and target word 1, 0?1 for a possible."
            )
        link = (int(match[1]), int(match[3]))
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return GoldLinks(frozenset(sure), frozenset(possible))


def write_pharaoh(sure: Iterable[Link], possible: Iterable[Link] = ()) -> str:
    """The line of links, in order; a link that is sure is not repeated as possible.

    >>> write_pharaoh({(2, 1), (0, 0)}, {(0, 0), (0, 3)})
    '0-0 0?3 2-1'
    """
    certain = set(sure)
    return " ".join(
        f"{link[0]}{'-' if link in certain else '?'}{link[1]}"
        for link in sorted(certain | set(possible))
    )
