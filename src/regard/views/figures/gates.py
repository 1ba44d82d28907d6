"""Gates over a feature map: how far each channel is opened, and each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import Figure, drawing
from regard.views.figures.heatmap import put_cells, put_scale
from regard.views.maps.layers import numbers

if TYPE_CHECKING:
    from regard.attention import AttentionMap

MOST_BARS = 120


def gate_figure(
    gate: AttentionMap, *, shape: tuple[int, ...] | None = None, row: int = 0
) -> Figure:
    """A recorded gate of kind "channel" as bars, or "spatial" as a heat map of its places.

    `shape` is the height and width of the places, a square by default; one number is a line.
    """
    if gate.kind not in ("channel", "spatial"):
        raise ValueError(f'gate must be of kind "channel" or "spatial", but {gate.kind!r} came.')
    from matplotlib.ticker import MaxNLocator

    opened = numbers(gate.weights[row]).reshape(-1)
    title = f"{gate.kind} gate, layer {gate.layer}"
    if gate.kind == "channel":
        with drawing((min(3.0 + 0.08 * len(opened), 16.0), 3.0)) as made:
            axes = made.axes()
            if len(opened) <= MOST_BARS:
                axes.bar(range(len(opened)), opened, width=0.8, color=palette.ACCENT)
            else:  # gaps between so many bars would shimmer
                edges = np.arange(len(opened) + 1) - 0.5
                axes.stairs(opened, edges, fill=True, color=palette.ACCENT)
            axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
            axes.set_ylim(0, max(1.0, float(opened.max())))
            axes.set_xlim(-0.7, len(opened) - 0.3)
            axes.set_xlabel("channel")
            axes.set_ylabel("opened")
            axes.set_title(title)
            axes.spines[["top", "right"]].set_visible(False)
            return made.done(f"{title}, {len(opened)} channels")
    high, wide = _places(len(opened), shape)
    cell = min(0.32, 8.0 / max(high, wide))
    with drawing((max(wide * cell, 1.2) + 1.6, max(high * cell, 0.6) + 1.0)) as made:
        axes = made.axes()
        everywhere = np.ones((high, wide), np.bool_)
        drawn = put_cells(axes, opened.reshape(high, wide), everywhere, 1.0, signed=False)
        axes.set_title(title)
        axes.tick_params(length=2)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
        axes.set_aspect("equal" if high > 1 else "auto")
        put_scale(made, axes, drawn, "opened", percent=True)
        return made.done(f"{title}, {high} × {wide}")


def _places(number: int, shape: tuple[int, ...] | None) -> tuple[int, int]:
    if shape is None:
        side = round(number**0.5)
        return (side, side) if side * side == number else (1, number)
    high, wide = (1, *shape)[-2:]
    if high * wide != number:
        raise ValueError(f"shape must hold the {number} places of the gate, but {shape} came.")
    return high, wide
