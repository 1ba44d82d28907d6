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

from regard.errors import InputError
from regard.storage import replace_file
from regard.views.page import Board, page
from regard.views.sentence import Viewed

WORDS = 14  # that stand on one line of a notebook, more or less
LINE, AROUND, MAPS, LISTED = 46, 390, 500, 240
"""Pixels: of a line of words, of what is around them, of the maps, of the list of several texts."""
MOST = 1000


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
        tallest = max((_height(one) for board in boards for one in board), default=0)
        return min(MOST, AROUND + tallest + (LISTED if len(boards) > 1 else 0))

    def _repr_html_(self) -> str:
        return framed(self.html, self.title, self.height)


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


def _height(viewed: Viewed) -> int:
    longest = max(len(viewed.source_words), len(viewed.target_words))
    lines = -(-longest // WORDS) * (2 if viewed.target_words else 1)
    return LINE * lines + (MAPS if viewed.maps else 0)
