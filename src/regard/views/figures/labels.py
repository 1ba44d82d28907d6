"""Token labels along an axis: shortened, rotated or thinned so that those drawn are readable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 72.0  # per inch
MAX_COLUMNS = 24  # of a label; a Chinese character takes two
MIN_SIZE, MAX_SIZE = 6.5, 9.0  # points
_STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)


class AxisLabels(NamedTuple):
    """The labels along an axis.

    step    every step-th token has a label
    size    of the font, in points
    extent  the width of the longest label, in inches
    """

    words: tuple[str, ...]
    step: int
    size: float
    extent: float

    @property
    def positions(self) -> range:
        """The tokens that have a label."""
        return range(0, len(self.words), self.step)

    @property
    def drawn(self) -> list[str]:
        """Their labels."""
        return [self.words[position] for position in self.positions]


def label_texts(labels: Any, count: int) -> list[str]:
    """Labels as texts: words, numbers (also of numpy and torch), or 0, 1, 2 … by default."""
    if labels is None:
        return [str(position) for position in range(count)]
    items = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    return [f"{item:.4g}" if isinstance(item, float) else str(item) for item in items]


def fit_labels(words: Sequence[str], cell: float, max_labels: int | None = None) -> AxisLabels:
    """Labels for tokens `cell` inches apart, as large as fits, and thinned where none would fit."""
    room = cell * POINTS
    size = min(MAX_SIZE, max(MIN_SIZE, room * 0.8))
    min_step = max(size * 1.15 / room, len(words) / max_labels if max_labels else 1.0)
    step = next((s for s in _STEPS if s >= min_step), math.ceil(min_step))
    labels = AxisLabels(tuple(shorten(word) for word in words), step, size, 0.0)
    widest = max(map(text_width, labels.drawn), default=0.0)
    return labels._replace(extent=widest * size / POINTS)


def shorten(word: str, columns: int = MAX_COLUMNS) -> str:
    """The word, or its beginning and "…"."""
    return word if cell_len(word) <= columns else set_cell_size(word, columns - 1).rstrip() + "…"


def text_width(text: str) -> float:
    """The width of a text in multiples of its font size (with the figure's fonts)."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    if not text:
        return 0.0
    width, _, _ = TextToPath().get_text_width_height_descent(text, FontProperties(size=10), False)
    return float(width) / 10


def draw_labels(axes: Axes, rows: AxisLabels, columns: AxisLabels, *, rotated: bool) -> None:
    """Write the row labels on the left and the column labels on top, `rotated` by 90°."""
    axes.set_yticks(list(rows.positions), rows.drawn, fontsize=rows.size)
    axes.set_xticks(list(columns.positions), columns.drawn, fontsize=columns.size)
    axes.tick_params(axis="x", top=False, bottom=False, labeltop=True, labelbottom=False, pad=3)
    axes.tick_params(axis="y", left=False, pad=3)
    axes.tick_params(axis="x", labelrotation=90 if rotated else 0)
    if rows.step > 1:  # where labels are thinned, ticks show which token each belongs to
        axes.tick_params(axis="y", left=True, length=3)
    if columns.step > 1:
        axes.tick_params(axis="x", top=True, length=3)


def thinning_note(rows: AxisLabels, columns: AxisLabels) -> str:
    """A note on labels that were left out."""
    if rows.step == columns.step:
        return f"one token in {rows.step} has its label" if rows.step > 1 else ""
    parts = [(rows.step, "row"), (columns.step, "column")]
    return ", ".join(f"one {side} in {step} has its label" for step, side in parts if step > 1)
