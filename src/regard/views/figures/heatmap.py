"""A map of weights as coloured cells: a row looks, columns are looked at.

Shapes: R rows, C columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import LARGEST, Drawing, Figure, drawing
from regard.views.figures.labels import label_texts, labels, put_labels, text_width, thinned
from regard.views.maps.layers import Floats, Truths, numbers, truths, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

CELL, SMALL_CELL = 0.32, 0.11  # inches, of few tokens and of many
SIDE, MOST_SIDE = 7.7, 17.0  # inches that cells may take before they shrink, and at all
MOST_VECTORS = 2500  # cells drawn one by one; more are an image, which keeps SVG and PDF small
MOST_DOTS = 2000  # cells of an image's side; of more, the largest of each block is drawn
MOST_PLACES = 20  # places written along a side that has no labels of its own
MOST_VALUES = 400  # cells that have their value written in


def heatmap(
    weights: Any,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    mask: Any = None,
    *,
    title: str = "",
    row_title: str = "",
    column_title: str = "",
    scale: float | None = None,
    values: bool = False,
    unit: str | None = None,
) -> Figure:
    """A matrix (R, C) as a heat map: a tensor, an array or lists.

    `rows` and `columns` are the labels, words or numbers; without them the places 0, 1, 2 … are
    written. `mask` (R, C) or (C,) is True where a row may look: masked cells are grey and hatched,
    unlike a weight of zero. Values below zero give two colours. `scale` is the value of the full
    colour, the largest there is by default; `values` writes them into the cells; `unit` stands
    beside the colours.

    >>> heatmap([[1.0, 0.0], [0.5, 0.5]])
    Figure(heatmap of 2 × 2)
    """
    plane = numbers(weights)
    if plane.ndim != 2:
        raise ValueError(
            f"a heat map is of one matrix (R, C), got shape {plane.shape}; head_grid draws a grid "
            "of maps (layers, heads, R, C)."
        )
    most_rows, most_columns = (MOST_PLACES if given is None else None for given in (rows, columns))
    plain = rows is None and columns is None
    rows, columns = label_texts(rows, plane.shape[0]), label_texts(columns, plane.shape[1])
    if not rows or not columns:
        raise ValueError(
            f"a heat map needs at least one token a side, but {len(rows)} came for the rows and "
            f"{len(columns)} for the columns."
        )
    if plane.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights must be of shape {(len(rows), len(columns))}, one row and column for each "
            f"token, but {plane.shape} came."
        )
    visible = np.ones(plane.shape, np.bool_) if mask is None else truths(mask, plane.shape)
    if not np.isfinite(plane[visible]).all():
        raise ValueError("weights must be finite numbers wherever they are not masked.")
    unit = unit_of(plane[visible]) if unit is None else unit
    width, height = cell_sizes(*plane.shape)
    texts = [*rows, *columns, title, row_title, column_title, unit]
    with drawing((4, 4), texts) as made:  # its size follows from its labels
        spell = made.letters.spell
        down = labels([spell(word) for word in rows], height, most_rows)
        across = labels([spell(word) for word in columns], width, most_columns)
        turned = any(text_width(w) * across.size / 72 > width * across.step for w in across.shown)
        size = (
            width * len(columns) + down.reach + 1.5,
            height * len(rows) + (across.reach if turned else 0.25) + 0.9,
        )
        made.canvas.set_size_inches(*_bounded(size))
        axes = made.axes()
        drawn = put_cells(axes, plane, visible, scale)
        put_labels(axes, down, across, turned=turned)
        if values and plane.size <= MOST_VALUES:
            put_values(axes, plane, visible, drawn)
        axes.set_title(spell(title))
        axes.set_xlabel(spell(column_title))
        axes.set_ylabel(spell(row_title))
        axes.xaxis.set_label_position("top")
        put_scale(made, axes, drawn, unit, percent=unit in ("weight", "share"))
        put_notes(
            made,
            _notes(plane, "" if plain else thinned(down, across)),
            masked=not visible.all(),
            hatched=plane.size <= MOST_VECTORS,
        )
        return made.done(f"heatmap of {len(rows)} × {len(columns)}")


def cell_sizes(num_rows: int, num_columns: int) -> tuple[float, float]:
    """Width and height of a cell in inches: square, but for a map of few rows or columns."""
    longer = max(num_rows, num_columns)
    side = min(longer * CELL, max(SIDE, longer * SMALL_CELL), MOST_SIDE)
    cell = side / longer
    wide, high = (max(cell, min(CELL, 1.2 / number)) for number in (num_columns, num_rows))
    return wide, high


def put_cells(
    axes: Axes,
    plane: Floats,
    visible: Truths,
    scale: float | None = None,
    *,
    signed: bool | None = None,
) -> ScalarMappable:
    """Draw the cells; the answer is what a colour bar needs."""
    shown = np.ma.masked_array(plane, ~visible)
    largest = float(np.abs(shown).max()) if visible.any() else 1.0
    bound = largest if scale is None else scale
    if signed if signed is not None else bool((shown < 0).any()):
        look: dict[str, Any] = {"cmap": palette.sign_colours(), "norm": palette.sign_scale(bound)}
    else:
        look = {"cmap": palette.weight_colours(), "norm": palette.weight_scale(bound)}
    num_rows, num_columns = plane.shape
    if plane.size <= MOST_VECTORS:
        edges = np.arange(num_columns + 1) - 0.5, np.arange(num_rows + 1) - 0.5
        drawn: ScalarMappable = axes.pcolormesh(
            *edges, shown, edgecolors=palette.LINE, linewidth=0.4, **look
        )
        _hatch(axes, ~visible)
        axes.set_ylim(num_rows - 0.5, -0.5)
        return drawn
    extent = (-0.5, num_columns - 0.5, num_rows - 0.5, -0.5)
    return axes.imshow(pooled(shown), extent=extent, aspect="auto", interpolation="nearest", **look)


def pooled(
    shown: np.ma.MaskedArray[Any, Any], most: int = MOST_DOTS
) -> np.ma.MaskedArray[Any, Any]:
    """At most `most` cells each way: of every block the value farthest from zero."""
    for axis in (0, 1):
        block = -(-shown.shape[axis] // most)
        if block == 1:
            continue
        starts = np.arange(0, shown.shape[axis], block)
        filled = shown.filled(0.0)
        top = np.maximum.reduceat(filled, starts, axis)
        low = np.minimum.reduceat(filled, starts, axis)
        hidden = np.logical_and.reduceat(np.ma.getmaskarray(shown), starts, axis)
        shown = np.ma.masked_array(np.where(top >= -low, top, low), hidden)
    return shown


def put_values(axes: Axes, plane: Floats, visible: Truths, drawn: ScalarMappable) -> None:
    """Write each value into its cell, light on dark."""
    for row, column in np.argwhere(visible):
        value = float(plane[row, column])
        ground = np.asarray(drawn.to_rgba(np.asarray([value])))[0, :3]
        dark = float(ground @ (0.3, 0.59, 0.11)) < 0.55
        axes.text(
            column, row, _short(value), ha="center", va="center", fontsize=7,
            color=palette.PAPER if dark else palette.INK,
        )  # fmt: skip


def put_scale(
    made: Drawing, axes: Axes, drawn: ScalarMappable, unit: str, *, percent: bool = False
) -> None:
    """The colour bar: which colour is which value."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    width, height = made.canvas.get_size_inches()
    bar = made.canvas.colorbar(
        drawn, ax=axes, fraction=min(0.05, 0.6 / width), pad=0.02, aspect=22, anchor=(0.0, 1.0),
        shrink=min(0.9, 5.5 / height), ticks=MaxNLocator(5),
        format=PercentFormatter(1.0) if percent and _is_unsigned(drawn) else None,
    )  # fmt: skip
    bar.set_label(made.letters.spell(unit), color=palette.MUTED, fontsize=9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, length=2)


def put_notes(made: Drawing, note: str, *, masked: bool, hatched: bool = True) -> None:
    """Below the plots: what grey (and hatched) means, and what was left out."""
    if masked:
        from matplotlib.patches import Patch

        patch = Patch(
            facecolor=palette.MASKED, edgecolor=palette.HATCH, hatch="////" if hatched else "",
            label="masked",
        )  # fmt: skip
        made.canvas.legend(handles=[patch], loc="outside lower right", fontsize=8)
    if note:
        made.canvas.supxlabel(note, fontsize=8, color=palette.MUTED, x=0.01, ha="left")


def _hatch(axes: Axes, hidden: Truths) -> None:
    """Hatch the runs of masked cells, row by row."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    runs = []
    for row, line in enumerate(hidden):
        turns = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]])))
        for begin, end in turns.reshape(-1, 2):
            runs.append(Rectangle((begin - 0.5, row - 0.5), end - begin, 1))
    if runs:
        axes.add_collection(
            PatchCollection(
                runs, facecolor=palette.MASKED, edgecolor=palette.HATCH, hatch="////", linewidth=0
            )
        )


def _notes(plane: Floats, left_out: str) -> str:
    parts = [left_out]
    block = [-(-side // MOST_DOTS) for side in plane.shape]
    if max(block) > 1:
        parts.append(f"each dot is the largest of {block[0]} × {block[1]} weights")
    return "; ".join(part for part in parts if part)


def _bounded(size: tuple[float, float]) -> tuple[float, float]:
    width, height = (min(max(side, 2.2), LARGEST) for side in size)
    return width, height


def _is_unsigned(drawn: ScalarMappable) -> bool:
    return drawn.get_clim()[0] >= 0


def _short(value: float) -> str:
    if value == 0:
        return "0"
    size = abs(value)
    for least, digits in ((10.0, 1), (0.01, 2), (0.001, 3)):
        if size >= least:
            return f"{value:.{digits}f}"
    return f"{value:.0e}"
