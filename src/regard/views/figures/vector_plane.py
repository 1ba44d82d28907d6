"""Vectors projected onto the plane in which they differ most, with arrows between them.

Shapes: P points, D features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import Figure, new_figure
from regard.views.figures.labels import POINTS, shorten, text_width
from regard.views.maps.arrays import Floats, as_floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_POINTS = 200
SIZE = 7.0, 5.4  # inches
FONT_SIZE = 9.0
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


def project(vectors: Any) -> tuple[Floats, Floats]:
    """(P, 2): the two principal components of vectors (P, D), and their shares of the variance."""
    rows = as_floats(vectors)
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(f"vectors must have shape (P, D) with P ≥ 2, got {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("vectors must be finite.")
    centered = rows - rows.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centered, full_matrices=False)
    axes = axes[:2] * np.sign(axes[:2].sum(axis=1, keepdims=True) + 1e-12)  # one sign for all
    places = centered @ axes.T
    if places.shape[1] < 2:
        places = np.pad(places, ((0, 0), (0, 2 - places.shape[1])))
    total = float(np.square(sizes).sum()) or 1.0
    shares = np.pad(np.square(sizes[:2]) / total, (0, max(0, 2 - len(sizes))))
    return places, shares


def vector_plane(
    vectors: Any,
    labels: Sequence[str],
    arrows: Sequence[tuple[int, int]] = (),
    *,
    groups: Sequence[int] | None = None,
    names: Sequence[str] = (),
    title: str = "",
) -> Figure:
    """Draw vectors (P, D) as labeled points of a plane, the first two principal components.

    An empty label leaves a point without one. `arrows` are pairs of points; `groups` (P,) gives
    points and the arrows to them a color each, whose meanings are `names`.

    >>> vector_plane([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "c"], [(0, 2)])
    Figure(plane of 3 vectors)
    """
    places, shares = project(vectors)
    count = len(places)
    if count > MAX_POINTS:
        raise ValueError(f"a plane is readable for at most {MAX_POINTS} points, got {count}.")
    if len(labels) != count or (groups is not None and len(groups) != count):
        raise ValueError(f"labels and groups must have one entry for each of {count} vectors.")
    if any(not 0 <= end < count for arrow in arrows for end in arrow):
        raise ValueError(f"arrows must be between points 0 to {count - 1}.")
    numbers = [0] * count if groups is None else list(groups)
    colors = [palette.SERIES[number % len(palette.SERIES)] for number in numbers]
    with new_figure(SIZE, [*labels, *names, title]) as builder:
        printable = builder.fonts.printable
        axes = builder.canvas.add_subplot()
        for start, end in arrows:
            axes.annotate(
                "",
                places[end],
                places[start],
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": colors[end],
                    "lw": 1.4,
                    "alpha": 0.75,
                    "shrinkA": 4,
                    "shrinkB": 4,
                    "mutation_scale": 11,
                },
            )
        for number in dict.fromkeys(numbers):
            members = [index for index in range(count) if numbers[index] == number]
            axes.plot(
                *places[members].T,
                palette.MARKERS[number % len(palette.MARKERS)],
                linestyle="",
                color=colors[members[0]],
                markersize=5.5,
                label=shorten(printable(names[number]), 40) if number < len(names) else None,
            )
        axes.set(
            xlabel=f"first component, {shares[0]:.0%} of the variance",
            ylabel=f"second component, {shares[1]:.0%}",
            title=printable(title),
        )
        axes.grid(True)
        axes.margins(0.14, 0.12)
        axes.spines[["top", "right"]].set_visible(False)
        if names:
            builder.canvas.legend(loc="outside lower center", ncols=2)
        shown = [shorten(printable(label), 34) for label in labels]
        _write_labels(axes, places, shown, colors, arrows)
        return builder.finish(f"plane of {count} vectors")


def _write_labels(
    axes: Axes,
    places: Floats,
    labels: Sequence[str],
    colors: Sequence[str],
    arrows: Sequence[tuple[int, int]],
) -> None:
    """Write each label on the side of its point where it covers least."""
    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
    inches = (places - low) / (high - low) * np.array([SIZE[0] - 0.9, SIZE[1] - 0.9])
    room = np.array([SIZE[0] - 0.9, SIZE[1] - 0.9])
    taken = [inches, *(np.linspace(inches[a], inches[b], 60) for a, b in arrows)]
    boxes = [(x - 0.04, y - 0.04, x + 0.04, y + 0.04) for x, y in np.concatenate(taken)]
    for index, label in enumerate(labels):
        if not label:
            continue
        width, height = text_width(label) * FONT_SIZE / POINTS, 1.2 * FONT_SIZE / POINTS
        best = min(
            _SIDES, key=lambda side: _cost(_box(inches[index], side, width, height), boxes, room)
        )
        boxes.append(_box(inches[index], best, width, height))
        axes.annotate(
            label,
            places[index],
            xytext=(7 * best[0], 8 * best[1]),
            textcoords="offset points",
            ha=("center", "left", "right")[best[0]],
            va=("center", "bottom", "top")[best[1]],
            fontsize=FONT_SIZE,
            color=colors[index],
        )


Box = tuple[float, float, float, float]


def _box(place: Floats, side: tuple[int, int], width: float, height: float) -> Box:
    x, y = float(place[0]) + side[0] * 0.1, float(place[1]) + side[1] * 0.11
    left = x - width / 2 + side[0] * width / 2
    bottom = y - height / 2 + side[1] * height / 2
    return left, bottom, left + width, bottom + height


def _cost(box: Box, placed: Sequence[Box], room: Floats) -> float:
    """The area of other boxes that a box covers, and of its own outside the plot."""
    covered = sum(
        max(0.0, min(box[2], neighbor[2]) - max(box[0], neighbor[0]))
        * max(0.0, min(box[3], neighbor[3]) - max(box[1], neighbor[1]))
        for neighbor in placed
    )
    outside = max(0.0, -box[0]) + max(0.0, box[2] - room[0]) + max(0.0, -box[1])
    return float(covered + 10 * (outside + max(0.0, box[3] - room[1])))
