"""Position encodings: tables, rotation angles or biases as heat maps, and some of them as curves.

Shapes: T positions, D features, P pairs of features, H heads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import Figure, FigureBuilder, new_figure
from regard.views.figures.heatmap import add_color_bar, pool
from regard.views.maps.arrays import Floats, Ints, as_floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from regard.attention import DistanceBias, Position, Rotary

NUM_CURVES = 4
MAX_HEADS = 4  # biases drawn as maps
MAX_CURVES = 6  # with more heads, only those drawn as maps have curves
DISTANCES = (-512, -128, -32, -8, 0, 8, 32, 128, 512)


def positions_figure(position: Position, length: int = 64) -> Figure:
    """Draw a position encoding for `length` positions.

    `Sinusoidal`: the table (T, D). `Learned`: the table, and the similarity of positions in it.
    `Rotary`: the angle by which each pair of features is rotated. `Alibi` and `RelativeBias`: what
    each head adds to the scores.
    """
    from regard.attention import DistanceBias, Learned, Rotary, Sinusoidal

    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}.")
    if isinstance(position, Sinusoidal):
        return _sinusoidal_figure(as_floats(position.table(length)))
    if isinstance(position, Learned):
        if length > position.max_length:
            raise ValueError(
                f"length must be at most {position.max_length}, the positions of Learned, got "
                f"{length}."
            )
        return _learned_figure(as_floats(position.weight[:length]))
    if isinstance(position, Rotary):
        return _rotary_figure(rotation_angles(position, length))
    if isinstance(position, DistanceBias):
        causal = not getattr(position, "bidirectional", True)
        return _bias_figure(score_biases(position, length), type(position).__name__, causal)
    raise TypeError(f"position must be a Position of regard.attention, got {position!r}.")


def rotation_angles(position: Rotary, length: int) -> Floats:
    """The angle (T, P) by which each pair is rotated at each position, from 0 to 2π."""
    import torch

    dim = position.dim
    first = slice(0, dim, 2) if position.interleaved else slice(0, dim // 2)
    second = slice(1, dim, 2) if position.interleaved else slice(dim // 2, dim)
    x = torch.zeros(length, dim, dtype=torch.float64)
    x[:, first] = 1.0  # (1, 0) is rotated to (cos, sin)
    rotated = position.rotate(x)
    return as_floats(torch.atan2(rotated[:, second], rotated[:, first]) % (2 * np.pi))


def score_biases(position: DistanceBias, length: int) -> Floats:
    """What is added to the scores of queries i and keys j, (H, T, T)."""
    import torch

    positions = torch.arange(length)
    return as_floats(position(positions[None, :] - positions[:, None]))


def cosine_similarity(table_TD: Floats) -> Floats:
    """The cosine (T, T) between the vectors of any two positions."""
    norms = np.linalg.norm(table_TD, axis=1, keepdims=True)
    unit = table_TD / np.where(norms > 0, norms, 1.0)
    return np.asarray(unit @ unit.T)


def _sinusoidal_figure(table_TD: Floats) -> Figure:
    with new_figure((10, 4.2)) as builder:
        left, right = builder.canvas.subplots(1, 2)
        colors = palette.color_scale(True, np.abs(table_TD).max())
        _draw_matrix(builder, left, table_TD, colors, "value")
        left.set(title="sinusoidal positions", xlabel="feature", ylabel="position")
        chosen = np.unique(np.linspace(0, table_TD.shape[1] - 1, NUM_CURVES + 1)[:-1].astype(int))
        names = [f"feature {n}" for n in chosen]
        _draw_curves(right, np.arange(len(table_TD)), table_TD[:, chosen].T, names)
        right.set_xlabel("position")
        return builder.finish(f"sinusoidal positions, {table_TD.shape[0]} × {table_TD.shape[1]}")


def _learned_figure(table_TD: Floats) -> Figure:
    with new_figure((10, 4.2)) as builder:
        left, right = builder.canvas.subplots(1, 2)
        colors = palette.color_scale(True, np.abs(table_TD).max())
        _draw_matrix(builder, left, table_TD, colors, "value")
        left.set(title="learned positions", xlabel="feature", ylabel="position")
        similarity = cosine_similarity(table_TD)
        _draw_matrix(builder, right, similarity, palette.color_scale(True, 1.0), "cosine")
        right.set(title="similarity of positions", xlabel="position", ylabel="position")
        return builder.finish(f"learned positions, {table_TD.shape[0]} × {table_TD.shape[1]}")


def _rotary_figure(angles_TP: Floats) -> Figure:
    from matplotlib.colors import Normalize

    with new_figure((10, 4.2)) as builder:
        left, right = builder.canvas.subplots(1, 2)
        colors = {"cmap": palette.color_map("turns"), "norm": Normalize(0, 2 * np.pi)}
        _draw_matrix(builder, left, angles_TP, colors, "angle (radians)")
        left.set(title="rotary positions", xlabel="pair of features", ylabel="position")
        chosen = np.unique(np.linspace(0, angles_TP.shape[1], NUM_CURVES + 1)[:-1].astype(int))
        names = [f"pair {n}" for n in chosen]
        _draw_curves(right, np.arange(len(angles_TP)), angles_TP[:, chosen].T, names)
        right.set(xlabel="position", ylabel="angle (radians)")
        return builder.finish(f"rotary positions, {angles_TP.shape[0]} positions")


def _bias_figure(bias_HTT: Floats, name: str, causal: bool) -> Figure:
    """Draw the maps of some heads, and the bias over distance; `causal` has no keys ahead."""
    num_heads, length, _ = bias_HTT.shape
    chosen = np.unique(np.linspace(0, num_heads - 1, MAX_HEADS).astype(int))
    hidden = np.triu(np.ones((length, length), np.bool_), 1) & causal
    with new_figure((2.6 * len(chosen) + 5.2, 3.6)) as builder:
        ratios = [1.0] * len(chosen) + [1.6]
        grid = builder.canvas.add_gridspec(1, len(chosen) + 1, width_ratios=ratios)
        bound = float(np.abs(np.where(hidden, 0.0, bias_HTT[chosen])).max())
        for number, head in enumerate(chosen):
            axes = builder.canvas.add_subplot(grid[number])
            unit = "bias" if head == chosen[-1] else None
            matrix = np.ma.masked_array(bias_HTT[head], hidden)
            _draw_matrix(builder, axes, matrix, palette.color_scale(True, bound), unit)
            axes.set_title(f"head {head}" if number else f"{name}, head {head}")
            axes.set(xlabel="key", ylabel="" if number else "query")
        axes = builder.canvas.add_subplot(grid[-1])
        query = length - 1 if causal else length // 2  # with keys on all its sides
        keys = query + 1 if causal else length
        heads = chosen if num_heads > MAX_CURVES else np.arange(num_heads)
        distance = np.arange(keys) - query
        _draw_curves(axes, distance, bias_HTT[heads, query, :keys], [f"head {n}" for n in heads])
        if name == "RelativeBias":  # its buckets grow with distance
            axes.set_xscale("symlog", linthresh=8)
            axes.set_xticks([n for n in DISTANCES if distance[0] <= n <= distance[-1]])
            axes.xaxis.set_major_formatter(lambda n, _: f"{n:g}".replace("-", "−"))
        axes.set_xlabel("key − query")
        return builder.finish(f"{name} of {num_heads} heads, {length} positions")


def _draw_matrix(
    builder: FigureBuilder, axes: Axes, matrix: Floats, colors: dict[str, Any], unit: str | None
) -> None:
    """Draw a heat map with numbered axes, and a color bar if it has a unit."""
    from matplotlib.ticker import MaxNLocator

    image = axes.imshow(
        pool(np.ma.asarray(matrix)),
        aspect="auto",
        interpolation="nearest",
        **colors,
        extent=(-0.5, matrix.shape[1] - 0.5, matrix.shape[0] - 0.5, -0.5),
    )
    axes.tick_params(length=2)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    if unit is not None:
        add_color_bar(builder, axes, image, unit)


def _draw_curves(axes: Axes, x: Ints, lines: Floats, names: list[str]) -> None:
    """Draw curves that differ by color and by marker."""
    every = max(1, len(x) // 12)
    for number, (line, name) in enumerate(zip(lines, names, strict=True)):
        series = number % len(palette.SERIES)
        axes.plot(
            x,
            line,
            color=palette.SERIES[series],
            label=name,
            linewidth=1.3,
            markersize=4,
            marker=palette.MARKERS[series],
            markevery=(number * every // len(names), every),
        )
    axes.grid(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(len(names), 4))
