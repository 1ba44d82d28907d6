"""The parts of a page: its text and its fenced blocks, for notebooks and for the tests."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^(?P<ticks>```+)(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ ]*$", re.M | re.S)
CODE = ("python", "py")
COMMANDS = ("console",)


class Part(NamedTuple):
    """A part of a page: kind "text", or the word after the opening fence."""

    kind: str
    body: str


def parts(page: str) -> Iterator[Part]:
    """The text and the fenced blocks of a page, in order."""
    end = 0
    for found in FENCE.finditer(page):
        if page[end : found.start()].strip():
            yield Part("text", page[end : found.start()].strip())
        yield Part(found["kind"].strip(), found["body"])
        end = found.end()
    if page[end:].strip():
        yield Part("text", page[end:].strip())


def code_of(path: Path) -> list[str]:
    """The Python blocks of a page; those in a folded solution too."""
    return [part.body for part in _all(path.read_text("utf-8")) if part.kind in CODE]


def commands_of(path: Path) -> list[str]:
    """The console blocks of a page."""
    return [part.body for part in _all(path.read_text("utf-8")) if part.kind in COMMANDS]


def _all(page: str) -> Iterator[Part]:
    """The parts of a page, with those inside directives in their place."""
    for part in parts(page):
        if part.kind.startswith("{"):
            yield from _all(part.body)
        else:
            yield part
