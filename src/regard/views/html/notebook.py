"""The page as an object that notebooks show: in a frame of its own, apart from the notebook.

The frame is a sandbox: its script sees nothing of the notebook around it, and the notebook's styles
do not reach into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from unicodedata import east_asian_width

from regard.errors import InputError
from regard.storage import replace_file
from regard.views.html.page import Board, page
from regard.views.maps.sentence import Viewed

WIDTH = 940  # pixels that a notebook has for what a cell shows, more or less
MOST = 1600  # pixels of a frame: it scrolls
SMALL = 3_000_000  # bytes of a page in a notebook, which keeps them all in one file


@dataclass(frozen=True, eq=False)
class Page:
    """What there is to see of texts, to be saved as a file or shown by a notebook.

    boards  texts, or pairs of them that stand side by side
    facts   what is told below the heading
    """

    title: str
    boards: tuple[Board, ...]
    facts: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        number = len(self.boards)
        return f"Page({self.title!r}, {number} text{'' if number == 1 else 's'})"

    @cached_property
    def html(self) -> str:
        """The whole page; it needs nothing else."""
        return page(self.title, self.boards, self.facts)

    @cached_property
    def _light(self) -> str:
        """The page with its maps packed smaller, where they can be."""
        try:
            return page(self.title, self.boards, self.facts, largest=SMALL)
        except InputError:  # words alone take more
            return self.html

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page as one file, whole or not at all."""
        final = Path(path)
        if not final.absolute().parent.is_dir():
            raise InputError(f"{final}: there is no folder {final.parent}; make it first.")
        replace_file(final, self.html)
        return final

    @property
    def height(self) -> int:
        """About how many pixels a reader needs, within reason: the frame scrolls."""
        boards = [board if isinstance(board, tuple) else (board,) for board in self.boards]
        width = WIDTH - 95 - (280 if len(boards) > 1 else 0)  # the list stands beside a text
        tallest = max(
            (_height(one, width // len(board) - 30 * (len(board) - 1))
             for board in boards for one in board),
            default=60,
        )  # fmt: skip
        return min(MOST, 140 + tallest + (60 if self.facts else 0))

    def _repr_html_(self) -> str:
        return framed(self._light, self.title, self.height)


def framed(html: str, title: str, height: int) -> str:
    """A page inside another one: a sandboxed frame that may run scripts and nothing else.

    >>> framed("<p>&amp;</p>", "A page", 300)  # doctest: +ELLIPSIS
    '<iframe sandbox="allow-scripts" title="A page" ... srcdoc="&lt;p&gt;&amp;amp;&lt;/p&gt;">...'
    """
    return (
        f'<iframe sandbox="allow-scripts" title="{_attribute(title)}" '
        f'style="width: 100%; height: {int(height)}px; border: 0; color-scheme: light dark;" '
        f'srcdoc="{_attribute(html)}"></iframe>'
    )


def _attribute(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode(), quote=True)


def _height(viewed: Viewed, width: int) -> int:
    """About how many pixels a text takes, of its words and its maps, where it is so wide."""
    return 153 + _words_height(viewed, width) + _maps_height(viewed, width)


def _words_height(viewed: Viewed, width: int) -> int:
    """Of words: in rows, in columns where rows do not fit, or as flowing text."""
    lines = [sum(map(_chip, words)) for words in (viewed.source_words, viewed.target_words)]
    longest = max(len(viewed.source_words), len(viewed.target_words))
    reference = 24 if viewed.reference is not None else 0
    if longest > 60:
        beside = viewed.is_alone or width >= 640
        return reference + (250 if beside else 510)
    if viewed.is_alone:
        return reference + 35 * max(1, -(-lines[0] // width))
    return reference + (134 if max(lines) <= 0.94 * width else 27 * longest)


def _chip(word: str) -> int:
    """How wide a word is with what is around it."""
    return 21 + sum(16 if east_asian_width(letter) in "WF" else 8 for letter in word)


def _maps_height(viewed: Viewed, width: int) -> int:
    """Of the map that is shown first, or of the sentence that there is none."""
    if not viewed.maps:
        return 55
    first, wide = viewed.maps[0], width >= 704
    rows, columns = len(first.rows), len(first.columns)
    across = max(60, width - 120 - (222 if wide else 0))
    cell = min(28.0, across / max(columns, 1), 760 / max(rows, 1))
    cells = 82 + round(rows * cell)
    pictures = len(first.heads) + (len(first.heads) > 1)
    if wide:
        return max(cells + 241, 138 + 126 * -(-pictures // 2))
    return cells + 280 + 126 * -(-pictures // max(1, width // 99))
