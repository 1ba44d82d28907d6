"""Tokens along an axis: shortened, turned or thinned so that those that are drawn can be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 72.0  # in an inch
MOST_COLUMNS = 24  # of a label; a Chinese character takes two
SMALLEST, USUAL = 6.5, 9.0  # points
_STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)


class Labels(NamedTuple):
    """What is written along an axis.

    step    every step-th token has a label
    size    of its letters, in points
    reach   how far the longest one reaches, in inches
    """

    words: tuple[str, ...]
    step: int
    size: float
    reach: float

    @property
    def places(self) -> range:
        """The tokens that have a label."""
        return range(0, len(self.words), self.step)

    @property
    def shown(self) -> list[str]:
        """Their labels."""
        return [self.words[place] for place in self.places]


def label_texts(given: Any, number: int) -> list[str]:
    """Labels as they are written: words, numbers (also of numpy and torch), or 0, 1, 2 …"""
    if given is None:
        return [str(place) for place in range(number)]
    listed = given.tolist() if hasattr(given, "tolist") else list(given)
    return [f"{one:.4g}" if isinstance(one, float) else str(one) for one in listed]


def labels(words: Sequence[str], cell: float, most: int | None = None) -> Labels:
    """Labels for tokens `cell` inches apart, as large as fits and thinned where nothing does.

    `most` is how many are enough; words are all written, if they fit.
    """
    room = cell * POINTS
    size = min(USUAL, max(SMALLEST, room * 0.8))
    least = max(size * 1.15 / room, len(words) / most if most else 1.0)
    step = next((s for s in _STEPS if s >= least), math.ceil(least))
    short = tuple(shortened(word) for word in words)
    lettered = Labels(short, step, size, 0.0)
    return lettered._replace(
        reach=max(map(text_width, lettered.shown), default=0.0) * size / POINTS
    )


def shortened(word: str, columns: int = MOST_COLUMNS) -> str:
    """The word, or its beginning and "…"."""
    return word if cell_len(word) <= columns else set_cell_size(word, columns - 1).rstrip() + "…"


def text_width(text: str) -> float:
    """How wide a text is drawn, in multiples of its size (with the figure's fonts)."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    if not text:
        return 0.0
    width, _, _ = TextToPath().get_text_width_height_descent(text, FontProperties(size=10), False)
    return float(width) / 10


def put_labels(axes: Axes, rows: Labels, columns: Labels, *, turned: bool) -> None:
    """Write the rows' labels on the left and the columns' above, `turned` a quarter."""
    # matplotlib reads labels of an empty string as no label at all: nothing to write there
    axes.set_yticks(list(rows.places), rows.shown, fontsize=rows.size)
    axes.set_xticks(list(columns.places), columns.shown, fontsize=columns.size)
    axes.tick_params(axis="x", top=False, bottom=False, labeltop=True, labelbottom=False, pad=3)
    axes.tick_params(axis="y", left=False, pad=3)
    for label in axes.get_xticklabels():
        label.set_rotation(90 if turned else 0)
    for step, tick in ((rows.step, "y"), (columns.step, "x")):
        if step > 1:  # where labels are thinned, marks say which token each belongs to
            axes.tick_params(axis=tick, left=True, top=True, length=3)  # type: ignore[arg-type]  # x or y


def thinned(rows: Labels, columns: Labels) -> str:
    """What a reader must know of labels left out."""
    steps = {rows.step, columns.step} - {1}
    if not steps:
        return ""
    if rows.step == columns.step:
        return f"one token in {rows.step} has its label"
    parts = [(rows.step, "row"), (columns.step, "column")]
    return ", ".join(f"one {side} in {step} has its label" for step, side in parts if step > 1)
