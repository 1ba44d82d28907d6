"""Word links of sentence pairs, one pair a line.

    pharaoh  `0-0 1-2`, words counted from 0
    talp     `1-1 2p3`, words counted from 1
    json     {"source": [words], "target": [words], "links": [[0, 0], [1, 2]]}, counted from 0

A source word, a sign and a target word; the sign `-` is a sure link, `p` or `?` a possible one. A
pair without links is an empty line. A file ending in `.talp` is talp, one in `.jsonl` JSON, and any
other Pharaoh.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from regard.errors import InputError
from regard.formats.compressed import suffix
from regard.formats.lines import read_lines
from regard.formats.pair import Path, format_error

LAYOUTS = ("pharaoh", "talp", "json")
WordLink = tuple[int, int]

_LINK = re.compile(r"([0-9]{1,9})([-p?])([0-9]{1,9})")


class FileLinks(NamedTuple):
    """The links of a sentence pair, counted from 0; `possible` has no sure ones."""

    sure: frozenset[WordLink]
    possible: frozenset[WordLink]

    @property
    def every(self) -> list[WordLink]:
        """All links, in order."""
        return sorted(self.sure | self.possible)


def layout_of(path: Path) -> str:
    """The layout of a file of links, by its suffix.

    >>> layout_of("gold.talp"), layout_of("links.jsonl.gz"), layout_of("links.txt")
    ('talp', 'json', 'pharaoh')
    """
    return {".talp": "talp", ".jsonl": "json", ".ndjson": "json"}.get(suffix(path), "pharaoh")


def read_links(path: Path, encoding: str = "utf-8") -> Iterator[FileLinks]:
    """The links of each line of a file."""
    for number, line in enumerate(read_lines(path, encoding), start=1):
        yield line_links(line, path, number)


def line_links(line: str, path: Path, number: int) -> FileLinks:
    """The links of line `number` of a file."""
    try:
        return parse_links(line, layout_of(path))
    except InputError as error:
        remedy = "links are written 0-0 1-2, and counted from 1 in a .talp file"
        raise format_error(path, number, str(error).rstrip("."), remedy) from None


def parse_links(line: str, layout: str) -> FileLinks:
    """The links of one line.

    >>> parse_links("1-1 2p3", "talp")
    FileLinks(sure=frozenset({(0, 0)}), possible=frozenset({(1, 2)}))
    """
    if layout == "json":
        return FileLinks(frozenset(_json_links(line)), frozenset())
    first = 1 if layout == "talp" else 0
    sure: set[WordLink] = set()
    possible: set[WordLink] = set()
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise InputError(f"{word!r} is not a link.")
        link = int(match[1]) - first, int(match[3]) - first
        if min(link) < 0:
            raise InputError(f"{word!r} has a word 0, but words are counted from 1 here.")
        (sure if match[2] == "-" else possible).add(link)
    return FileLinks(frozenset(sure), frozenset(possible - sure))


def _json_links(line: str) -> Iterator[WordLink]:
    if not line.strip():
        return
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("this is not JSON.") from None
    links = value.get("links") if isinstance(value, dict) else None
    if not isinstance(links, list):
        raise InputError('there is no list "links".')
    for link in links:
        if not (
            isinstance(link, list)
            and len(link) == 2
            and all(type(word) is int and word >= 0 for word in link)
        ):
            raise InputError(f"{json.dumps(link)[:40]} is not a link of two words.")
        yield link[0], link[1]


def format_links(
    links: frozenset[WordLink], layout: str, source: Sequence[str] = (), target: Sequence[str] = ()
) -> str:
    """The line of a sentence pair; JSON has its words too.

    >>> format_links(frozenset({(1, 2), (0, 0)}), "talp")
    '1-1 2-3'
    """
    if layout == "json":
        values = {"source": list(source), "target": list(target), "links": sorted(links)}
        return json.dumps(values, ensure_ascii=False)
    first = 1 if layout == "talp" else 0
    return " ".join(f"{source + first}-{target + first}" for source, target in sorted(links))
