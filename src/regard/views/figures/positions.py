"""What a model is told of places: encodings, angles or biases, and a few of them as curves.

Shapes: T places, D features, H heads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.views.figures import palette
from regard.views.figures.figure import Drawing, Figure, drawing
from regard.views.figures.heatmap import pooled, put_scale
from regard.views.maps.layers import Floats, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

    from regard.attention import DistanceBias, Position, Rotary

CURVES = 4
MOST_HEADS = 4  # biases drawn as maps
MOST_CURVES = 6  # more heads than these: those that are drawn as maps
FAR = (-512, -128, -32, -8, 0, 8, 32, 128, 512)


def positions_figure(position: Position, length: int = 64) -> Figure:
    """A position's encodings for `length` places.

    `Sinusoidal`: the table (T, D). `Learned`: the table, and how alike places are in it. `Rotary`:
    by which angle each pair of features is turned. `Alibi` and `RelativeBias`: what each head adds
    to the scores.
    """
    from regard.attention import DistanceBias, Learned, Rotary, Sinusoidal

    if length < 1:
        raise ValueError(f"length must be at least 1, but {length} came.")
    if isinstance(position, Sinusoidal):
        return _table_figure(numbers(position.table(length)), "sinusoidal positions")
    if isinstance(position, Learned):
        if length > position.max_length:
            raise ValueError(f"Learned holds {position.max_length} positions, but {length} came.")
        return _learned_figure(numbers(position.weight[:length]))
    if isinstance(position, Rotary):
        return _angle_figure(angles(position, length))
    if isinstance(position, DistanceBias):
        backwards = not getattr(position, "bidirectional", True)
        return _bias_figure(biases(position, length), type(position).__name__, backwards)
    raise TypeError(f"position must be one of regard.attention's, but {position!r} came.")


def angles(position: Rotary, length: int) -> Floats:
    """By which angle (T, D/2) a Rotary turns each pair at each place, from 0 to 2π."""
    import torch

    dim = position.dim
    pairs = slice(0, dim, 2) if position.interleaved else slice(0, dim // 2)
    others = slice(1, dim, 2) if position.interleaved else slice(dim // 2, dim)
    x = torch.zeros(length, dim, dtype=torch.float64)
    x[:, pairs] = 1.0  # (1, 0) is turned into (cos, sin)
    turned = position.rotate(x)
    return numbers(torch.atan2(turned[:, others], turned[:, pairs]) % (2 * np.pi))


def biases(position: DistanceBias, length: int) -> Floats:
    """What is added to the scores of queries i and keys j, (H, T, T)."""
    import torch

    place = torch.arange(length)
    return numbers(position(place[None, :] - place[:, None]))


def _table_figure(table_TD: Floats, title: str) -> Figure:
    with drawing((10, 4.2)) as made:
        axes, beside = made.axes(1, 2, 1), made.axes(1, 2, 2)
        bound = float(np.abs(table_TD).max())
        _heat(made, axes, table_TD, palette.sign_scale(bound), "value")
        axes.set_title(title)
        axes.set_xlabel("feature")
        axes.set_ylabel("place")
        chosen = np.unique(np.linspace(0, table_TD.shape[1] - 1, CURVES + 1)[:-1].astype(int))
        _curves(
            beside,
            np.arange(len(table_TD)),
            table_TD[:, chosen].T,
            [f"feature {n}" for n in chosen],
        )
        beside.set_xlabel("place")
        return made.done(f"{title}, {table_TD.shape[0]} × {table_TD.shape[1]}")


def alike(table_TD: Floats) -> Floats:
    """The cosine (T, T) between the vectors of any two places."""
    length = np.linalg.norm(table_TD, axis=1, keepdims=True)
    unit = table_TD / np.where(length > 0, length, 1.0)
    return np.asarray(unit @ unit.T)


def _learned_figure(table_TD: Floats) -> Figure:
    """A learned table says little by itself: beside it, which places it holds for near."""
    with drawing((10, 4.2)) as made:
        axes, beside = made.axes(1, 2, 1), made.axes(1, 2, 2)
        bound = float(np.abs(table_TD).max())
        _heat(made, axes, table_TD, palette.sign_scale(bound), "value")
        axes.set_title("learned positions")
        axes.set_xlabel("feature")
        axes.set_ylabel("place")
        _heat(made, beside, alike(table_TD), palette.sign_scale(1.0), "cosine")
        beside.set_title("how alike places are")
        beside.set_xlabel("place")
        beside.set_ylabel("place")
        return made.done(f"learned positions, {table_TD.shape[0]} × {table_TD.shape[1]}")


def _angle_figure(angles_TP: Floats) -> Figure:
    from matplotlib.colors import Normalize

    with drawing((10, 4.2)) as made:
        axes, beside = made.axes(1, 2, 1), made.axes(1, 2, 2)
        _heat(made, axes, angles_TP, Normalize(0, 2 * np.pi), "angle (radians)", turn=True)
        axes.set_title("rotary positions")
        axes.set_xlabel("pair of features")
        axes.set_ylabel("place")
        chosen = np.unique(np.linspace(0, angles_TP.shape[1], CURVES + 1)[:-1].astype(int))
        _curves(
            beside, np.arange(len(angles_TP)), angles_TP[:, chosen].T, [f"pair {n}" for n in chosen]
        )
        beside.set_xlabel("place")
        beside.set_ylabel("angle (radians)")
        return made.done(f"rotary positions, {angles_TP.shape[0]} places")


def _bias_figure(bias_HTT: Floats, name: str, backwards: bool) -> Figure:
    """Maps of some heads, and what each distance adds; `backwards` has no keys on the right."""
    heads, length, _ = bias_HTT.shape
    chosen = np.unique(np.linspace(0, heads - 1, MOST_HEADS).astype(int))
    hidden = np.triu(np.ones((length, length), np.bool_), 1) & backwards
    with drawing((2.6 * len(chosen) + 5.2, 3.6)) as made:
        grid = made.canvas.add_gridspec(
            1, len(chosen) + 1, width_ratios=[1.0] * len(chosen) + [1.6]
        )
        bound = float(np.abs(np.where(hidden, 0.0, bias_HTT[chosen])).max())
        panels = [made.axes(grid[place]) for place in range(len(chosen))]
        for axes, head in zip(panels, chosen, strict=True):
            last = head == chosen[-1]
            shown = np.ma.masked_array(bias_HTT[head], hidden)
            _heat(made, axes, shown, palette.sign_scale(bound), "bias" if last else None)
            axes.set_title(f"{name}, head {head}" if head == chosen[0] else f"head {head}")
            axes.set_xlabel("key")
        panels[0].set_ylabel("query")
        beside = made.axes(grid[-1])
        query = length - 1 if backwards else length // 2  # one that has keys on all its sides
        keys = query + 1 if backwards else length
        few = chosen if heads > MOST_CURVES else np.arange(heads)
        apart = np.arange(keys) - query
        _curves(beside, apart, bias_HTT[few, query, :keys], [f"head {head}" for head in few])
        if name == "RelativeBias":  # buckets widen with distance: as wide as the near ones, so
            beside.set_xscale("symlog", linthresh=8)
            beside.set_xticks([n for n in FAR if apart[0] <= n <= apart[-1]])
            beside.xaxis.set_major_formatter(lambda n, _: f"{n:g}".replace("-", "−"))
        beside.set_xlabel("key − query")
        return made.done(f"{name} of {heads} heads, {length} places")


def _heat(
    made: Drawing, axes: Axes, plane: Floats, norm: Normalize, unit: str | None, turn: bool = False
) -> None:
    from matplotlib.ticker import MaxNLocator

    extent = (-0.5, plane.shape[1] - 0.5, plane.shape[0] - 0.5, -0.5)
    drawn = axes.imshow(
        pooled(np.ma.asarray(plane)), norm=norm,
        cmap=palette.turn_colours() if turn else palette.sign_colours(), extent=extent,
        aspect="auto", interpolation="nearest",
    )  # fmt: skip
    axes.tick_params(length=2)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    if unit is not None:
        put_scale(made, axes, drawn, unit)


def _curves(axes: Axes, x: NDArray[np.int64], lines: Floats, names: list[str]) -> None:
    """Told apart by colour and by mark."""
    every = max(1, len(x) // 12)
    for place, (line, name) in enumerate(zip(lines, names, strict=True)):
        axes.plot(
            x, line, color=palette.SERIES[place % len(palette.SERIES)], label=name, linewidth=1.3,
            marker=palette.MARKS[place % len(palette.MARKS)], markersize=4,
            markevery=(place * every // len(names), every),
        )  # fmt: skip
    axes.grid(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(len(names), 4))
