"""A matrix of attention weights as colored cells: rows are queries, columns are keys.

Shapes: R rows, C columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import MAX_INCHES, Figure, FigureBuilder, new_figure
from regard.views.figures.labels import (
    POINTS,
    draw_labels,
    fit_labels,
    label_texts,
    text_width,
    thinning_note,
)
from regard.views.maps.arrays import Bools, Floats, as_floats, as_mask
from regard.views.maps.layers import unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

CELL, SMALL_CELL = 0.32, 0.11  # inches, of few tokens and of many
SIDE, MAX_SIDE = 7.7, 17.0  # inches of all cells before they shrink, and at most
MAX_VECTOR_CELLS = 2500  # cells drawn one by one; more are an image, to keep SVG and PDF small
MAX_IMAGE_CELLS = 2000  # per side of an image; of more, the largest of each block is drawn
MAX_NUMBERS = 20  # position numbers along an axis that has no labels of its own
MAX_VALUES = 400  # cells that have their value written in


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
    """Draw a matrix (R, C), a tensor, an array or lists, as a heat map.

    `rows` and `columns` are the labels, words or numbers, and the positions 0, 1, 2 … by default.
    `mask` (R, C) or (C,) is True where a row may attend: masked cells are gray and hatched, unlike
    a weight of zero. Negative values get a second color. `scale` is the value of the full color,
    the largest by default; `values` writes them into the cells; `unit` labels the color bar.

    >>> heatmap([[1.0, 0.0], [0.5, 0.5]])
    Figure(heatmap of 2 × 2)
    """
    matrix = as_floats(weights)
    if matrix.ndim != 2:
        raise ValueError(
            f"weights must be one matrix (R, C), got shape {matrix.shape}; head_grid draws a grid "
            "of maps (layers, heads, R, C)."
        )
    max_rows, max_columns = (MAX_NUMBERS if labels is None else None for labels in (rows, columns))
    numbered = rows is None and columns is None
    rows, columns = label_texts(rows, matrix.shape[0]), label_texts(columns, matrix.shape[1])
    if not rows or not columns:
        raise ValueError(
            f"rows and columns must have at least one label each, got {len(rows)} and "
            f"{len(columns)}."
        )
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights must have shape {(len(rows), len(columns))}, one row and column per label, "
            f"got {matrix.shape}."
        )
    visible = np.ones(matrix.shape, np.bool_) if mask is None else as_mask(mask, matrix.shape)
    if not np.isfinite(matrix[visible]).all():
        raise ValueError("weights must be finite wherever they are not masked.")
    unit = unit_of(matrix[visible]) if unit is None else unit
    width, height = cell_size(*matrix.shape)
    texts = [*rows, *columns, title, row_title, column_title, unit]
    with new_figure((4, 4), texts) as builder:  # resized below, when the labels are known
        printable = builder.fonts.printable
        down = fit_labels([printable(word) for word in rows], height, max_rows)
        across = fit_labels([printable(word) for word in columns], width, max_columns)
        room = width * across.step * POINTS
        rotated = any(text_width(word) * across.size > room for word in across.drawn)
        total_width = width * len(columns) + down.extent + 1.5
        total_height = height * len(rows) + (across.extent if rotated else 0.25) + 0.9
        builder.canvas.set_size_inches(_bounded(total_width), _bounded(total_height))
        axes = builder.canvas.add_subplot()
        cells = draw_cells(axes, matrix, visible, scale)
        draw_labels(axes, down, across, rotated=rotated)
        if values and matrix.size <= MAX_VALUES:
            write_values(axes, matrix, visible, cells)
        axes.set_title(printable(title))
        axes.set(xlabel=printable(column_title), ylabel=printable(row_title))
        axes.xaxis.set_label_position("top")
        add_color_bar(builder, axes, cells, unit, percent=unit in ("weight", "share"))
        notes = ["" if numbered else thinning_note(down, across), _pooling_note(matrix)]
        add_notes(
            builder,
            "; ".join(note for note in notes if note),
            masked=not visible.all(),
            hatched=matrix.size <= MAX_VECTOR_CELLS,
        )
        return builder.finish(f"heatmap of {len(rows)} × {len(columns)}")


def _bounded(inches: float) -> float:
    return min(max(inches, 2.2), MAX_INCHES)


def cell_size(num_rows: int, num_columns: int) -> tuple[float, float]:
    """Width and height of a cell in inches: square, except in a map of few rows or columns."""
    longer = max(num_rows, num_columns)
    cell = min(longer * CELL, max(SIDE, longer * SMALL_CELL), MAX_SIDE) / longer
    width, height = (max(cell, min(CELL, 1.2 / count)) for count in (num_columns, num_rows))
    return width, height


def draw_cells(
    axes: Axes,
    matrix: Floats,
    visible: Bools,
    scale: float | None = None,
    *,
    signed: bool | None = None,
) -> ScalarMappable:
    """Draw the cells, and return what a color bar needs."""
    cells = np.ma.masked_array(matrix, ~visible)
    largest = float(np.abs(cells).max()) if visible.any() else 1.0
    signed = bool((cells < 0).any()) if signed is None else signed
    colors = palette.color_scale(signed, largest if scale is None else scale)
    num_rows, num_columns = matrix.shape
    if matrix.size > MAX_VECTOR_CELLS:
        extent = (-0.5, num_columns - 0.5, num_rows - 0.5, -0.5)
        return axes.imshow(
            pool(cells), extent=extent, aspect="auto", interpolation="nearest", **colors
        )
    edges = np.arange(num_columns + 1) - 0.5, np.arange(num_rows + 1) - 0.5
    mesh: ScalarMappable = axes.pcolormesh(
        *edges, cells, edgecolors=palette.LINE, linewidth=0.4, **colors
    )
    if not visible.all():
        axes.pcolor(
            *edges,
            np.ma.masked_array(matrix * 0, visible),
            hatch="////",
            linewidth=0,
            cmap=palette.color_map("masked"),
            edgecolors=palette.HATCH,
        )
    axes.set_ylim(num_rows - 0.5, -0.5)
    return mesh


def pool(
    cells: np.ma.MaskedArray[Any, Any], max_cells: int = MAX_IMAGE_CELLS
) -> np.ma.MaskedArray[Any, Any]:
    """Reduce to at most `max_cells` per side: of every block the value farthest from zero."""
    for axis in (0, 1):
        block = -(-cells.shape[axis] // max_cells)
        if block == 1:
            continue
        starts = np.arange(0, cells.shape[axis], block)
        filled = cells.filled(0.0)
        high = np.maximum.reduceat(filled, starts, axis)
        low = np.minimum.reduceat(filled, starts, axis)
        hidden = np.logical_and.reduceat(np.ma.getmaskarray(cells), starts, axis)
        cells = np.ma.masked_array(np.where(high >= -low, high, low), hidden)
    return cells


def write_values(axes: Axes, matrix: Floats, visible: Bools, cells: ScalarMappable) -> None:
    """Write each value into its cell, light on dark."""
    for row, column in np.argwhere(visible):
        value = float(matrix[row, column])
        background = np.asarray(cells.to_rgba(np.asarray([value])))[0, :3]
        dark = float(background @ (0.3, 0.59, 0.11)) < 0.55
        axes.text(
            column,
            row,
            _short_number(value),
            ha="center",
            va="center",
            fontsize=7,
            color=palette.PAPER if dark else palette.INK,
        )


def add_color_bar(
    builder: FigureBuilder, axes: Axes, cells: ScalarMappable, unit: str, *, percent: bool = False
) -> None:
    """Add the color bar beside a plot."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    width, height = builder.canvas.get_size_inches()
    unsigned = cells.get_clim()[0] >= 0
    bar = builder.canvas.colorbar(
        cells,
        ax=axes,
        fraction=min(0.05, 0.6 / width),
        pad=0.02,
        aspect=22,
        anchor=(0.0, 1.0),
        shrink=min(0.9, 5.5 / height),
        ticks=MaxNLocator(5),
        format=PercentFormatter(1.0) if percent and unsigned else None,
    )
    bar.set_label(builder.fonts.printable(unit), color=palette.MUTED, fontsize=9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, length=2)


def add_notes(builder: FigureBuilder, note: str, *, masked: bool, hatched: bool = True) -> None:
    """Write below the plots what gray (and hatched) cells mean, and what was left out."""
    if masked:
        from matplotlib.patches import Patch

        patch = Patch(
            facecolor=palette.MASKED,
            edgecolor=palette.HATCH,
            hatch="////" if hatched else "",
            label="masked",
        )
        builder.canvas.legend(handles=[patch], loc="outside lower right", fontsize=8)
    if note:
        builder.canvas.supxlabel(note, fontsize=8, color=palette.MUTED, x=0.01, ha="left")


def _pooling_note(matrix: Floats) -> str:
    blocks = [-(-side // MAX_IMAGE_CELLS) for side in matrix.shape]
    if max(blocks) == 1:
        return ""
    return f"each dot is the largest of {blocks[0]} × {blocks[1]} weights"


def _short_number(value: float) -> str:
    if value == 0:
        return "0"
    for least, digits in ((10.0, 1), (0.01, 2), (0.001, 3)):
        if abs(value) >= least:
            return f"{value:.{digits}f}"
    return f"{value:.0e}"
