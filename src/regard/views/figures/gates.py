"""Gates over a feature map: the gate value of each channel, or of each position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import Figure, new_figure
from regard.views.figures.heatmap import add_color_bar, draw_cells
from regard.views.maps.arrays import as_floats

if TYPE_CHECKING:
    from regard.attention import AttentionMap

MAX_BARS = 120


def gate_figure(
    gate: AttentionMap, *, shape: tuple[int, ...] | None = None, row: int = 0
) -> Figure:
    """Draw a recorded gate: of kind "channel" as bars, "spatial" as a heat map of its positions.

    `shape` is the height and width of the positions, a square by default; one number is a line.
    """
    if gate.kind not in ("channel", "spatial"):
        raise ValueError(f'gate must be of kind "channel" or "spatial", got {gate.kind!r}.')
    from matplotlib.ticker import MaxNLocator

    values = as_floats(gate.weights[row]).reshape(-1)
    title = f"{gate.kind} gate, layer {gate.layer}"
    if gate.kind == "channel":
        with new_figure((min(3.0 + 0.08 * len(values), 16.0), 3.0)) as builder:
            axes = builder.canvas.add_subplot()
            if len(values) <= MAX_BARS:
                axes.bar(range(len(values)), values, width=0.8, color=palette.ACCENT)
            else:  # gaps between so many bars would cause moiré
                edges = np.arange(len(values) + 1) - 0.5
                axes.stairs(values, edges, fill=True, color=palette.ACCENT)
            axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
            axes.set(xlabel="channel", ylabel="gate", title=title)
            axes.set_ylim(0, max(1.0, float(values.max())))
            axes.set_xlim(-0.7, len(values) - 0.3)
            axes.spines[["top", "right"]].set_visible(False)
            return builder.finish(f"{title}, {len(values)} channels")
    height, width = _grid_shape(len(values), shape)
    cell = min(0.32, 8.0 / max(height, width))
    with new_figure((max(width * cell, 1.2) + 1.6, max(height * cell, 0.6) + 1.0)) as builder:
        axes = builder.canvas.add_subplot()
        everywhere = np.ones((height, width), np.bool_)
        cells = draw_cells(axes, values.reshape(height, width), everywhere, 1.0, signed=False)
        axes.set_title(title)
        axes.tick_params(length=2)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
        axes.set_aspect("equal" if height > 1 else "auto")
        add_color_bar(builder, axes, cells, "gate", percent=True)
        return builder.finish(f"{title}, {height} × {width}")


def _grid_shape(count: int, shape: tuple[int, ...] | None) -> tuple[int, int]:
    if shape is None:
        side = round(count**0.5)
        return (side, side) if side * side == count else (1, count)
    height, width = (1, *shape)[-2:]
    if height * width != count:
        raise ValueError(f"shape must hold the {count} positions of the gate, got {shape}.")
    return height, width
