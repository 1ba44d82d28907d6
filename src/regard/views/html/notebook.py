"""A page that notebooks display in a frame of its own.

The frame is sandboxed: its script has no access to the notebook, and the notebook's styles do not
apply inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from unicodedata import east_asian_width

from regard.errors import InputError
from regard.storage import replace_file
from regard.views.html.page import PageEntry, escape_text, page
from regard.views.maps.sentence import SentenceView
from regard.views.maps.traced import TracedText

WIDTH = 940  # pixels of a notebook's output, about
MAX_HEIGHT = 1600  # pixels of a frame; it scrolls
MAX_NOTEBOOK_BYTES = 3_000_000  # of a page in a notebook, which keeps all pages in one file


@dataclass(frozen=True, eq=False)
class Page:
    """A page of texts with their attention, to be saved as a file or displayed by a notebook.

    entries  texts, or pairs of them that are shown side by side
    facts    names and values listed below the heading
    stages   the steps of each text, to go through; not in a notebook, where they take too much
    """

    title: str
    entries: tuple[PageEntry, ...]
    facts: Mapping[str, object] = field(default_factory=dict)
    stages: tuple[TracedText | None, ...] = ()

    def __repr__(self) -> str:
        count = len(self.entries)
        return f"Page({self.title!r}, {count} text{'' if count == 1 else 's'})"

    @cached_property
    def html(self) -> str:
        """The whole page as one string."""
        return page(self.title, self.entries, self.facts, self.stages)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page atomically, as one file."""
        final = Path(path)
        if not final.absolute().parent.is_dir():
            raise InputError(f"{final}: there is no folder {final.parent}; make it first.")
        replace_file(final, self.html)
        return final

    @property
    def height(self) -> int:
        """The estimated height in pixels, limited because the frame scrolls."""
        groups = [entry if isinstance(entry, tuple) else (entry,) for entry in self.entries]
        width = WIDTH - 95 - (280 if len(groups) > 1 else 0)  # beside the list of texts
        tallest = max(
            (
                _view_height(view, width // len(group) - 30 * (len(group) - 1))
                for group in groups
                for view in group
            ),
            default=60,
        )
        return min(MAX_HEIGHT, 140 + tallest + (60 if self.facts else 0))

    @cached_property
    def _notebook_html(self) -> str:
        """The page in a frame, its maps packed smaller where that is possible."""
        try:
            html = page(self.title, self.entries, self.facts, max_bytes=MAX_NOTEBOOK_BYTES)
        except InputError:  # the words alone take more
            html = self.html
        return frame(html, self.title, self.height)

    def _repr_html_(self) -> str:
        return self._notebook_html


def frame(html: str, title: str, height: int) -> str:
    """A page inside another one: a sandboxed frame that may only run scripts.

    >>> frame("<p>&amp;</p>", "A page", 300)  # doctest: +ELLIPSIS
    '<iframe sandbox="allow-scripts" title="A page" ... srcdoc="&lt;p&gt;&amp;amp;&lt;/p&gt;">...'
    """
    return (
        f'<iframe sandbox="allow-scripts" title="{escape_text(title)}" '
        f'style="width: 100%; height: {int(height)}px; border: 0; color-scheme: light dark;" '
        f'srcdoc="{escape_text(html)}"></iframe>'
    )


def _view_height(view: SentenceView, width: int) -> int:
    """Estimate the pixels of a text's words and maps at this width."""
    return 153 + _words_height(view, width) + _maps_height(view, width)


def _words_height(view: SentenceView, width: int) -> int:
    """Of words: in rows, in columns where rows do not fit, or as flowing text."""
    rows = [sum(map(_word_width, words)) for words in (view.source_words, view.target_words)]
    longest = max(len(view.source_words), len(view.target_words))
    reference = 24 if view.reference is not None else 0
    if longest > 60:
        return reference + (510 if view.has_target and width < 640 else 250)
    if not view.has_target:
        return reference + 35 * max(1, -(-rows[0] // width))
    return reference + (134 if max(rows) <= 0.94 * width else 27 * longest)


def _word_width(word: str) -> int:
    return 21 + sum(16 if east_asian_width(letter) in "WF" else 8 for letter in word)


def _maps_height(view: SentenceView, width: int) -> int:
    """Of the map that is shown first, or of the note that there is none."""
    if not view.maps:
        return 55
    first, beside = view.maps[0], width >= 704  # heads beside the map, or above it
    num_rows, num_columns = len(first.rows), len(first.columns)
    room = max(60, width - 120 - (222 if beside else 0))
    cell = min(28.0, room / max(num_columns, 1), 760 / max(num_rows, 1))
    cells = 82 + round(num_rows * cell)
    num_thumbnails = len(first.heads) + (len(first.heads) > 1)
    if beside:
        return max(cells + 241, 138 + 126 * -(-num_thumbnails // 2))
    return cells + 280 + 126 * -(-num_thumbnails // max(1, width // 99))
