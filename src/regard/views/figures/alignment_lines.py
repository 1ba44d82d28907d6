"""Two rows of words joined by lines of attention weight or alignment links.

Lengths are in inches; long sentences are drawn as two columns instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import MAX_INCHES, Figure, FigureBuilder, new_figure
from regard.views.figures.labels import POINTS, shorten, text_width
from regard.views.maps.arrays import as_floats, check_links

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_WIDTH = 15.0  # of two rows; wider sentences become columns
MIN_WIDTH = 3.2  # of the legend
GAP, PAD, MARGIN = 0.1, 0.07, 0.25  # between words, inside a word's box, around the figure
FONT_SIZE = 11.0  # points
PITCH, MIN_PITCH = 0.27, 0.105  # from word to word in a column
COLUMN_GAP = 2.6
MAX_WORDS = int((MAX_INCHES - 1.4) / MIN_PITCH)
MIN_WEIGHT = 0.02  # fainter lines would be invisible
LINK: dict[str, Any] = {"color": palette.SECOND, "linewidth": 1.936, "alpha": 1.0}


class WordBox(NamedTuple):
    """The center and the size of a word's box."""

    x: float
    y: float
    width: float
    height: float


def alignment_lines(
    source_words: Sequence[str],
    target_words: Sequence[str],
    weights: Any = None,
    *,
    links: Iterable[tuple[int, int]] | None = None,
    title: str = "",
    threshold: float = MIN_WEIGHT,
) -> Figure:
    """Draw lines between words: `weights` (target words, source words) or `links` (source, target).

    The larger a weight, the wider and darker its line; weights below `threshold` have none. With
    both, links are drawn in orange above the weights.
    """
    shape = len(target_words), len(source_words)
    if min(shape) == 0:
        raise ValueError("source_words and target_words must have at least one word each.")
    if max(shape) > MAX_WORDS:
        raise ValueError(
            f"lines are readable for at most {MAX_WORDS} words, got {max(shape)}; draw a heatmap."
        )
    matrix = None if weights is None else _check_weights(weights, shape)
    pairs = list(links or ())
    check_links(pairs, shape[1], shape[0])
    with new_figure((4, 3), [*source_words, *target_words, title], layout=None) as builder:
        printable = builder.fonts.printable
        source, target = (
            [shorten(printable(word)) for word in words] for words in (source_words, target_words)
        )
        size, boxes, in_columns = _lay_out([source, target])
        axes = _full_axes(builder, size, printable(title))
        if matrix is not None:
            cells = np.argwhere(matrix >= max(threshold, 1e-9)).tolist()
            for t, s in sorted(cells, key=lambda cell: float(matrix[tuple(cell)])):  # strong on top
                style = _weight_style(float(matrix[t, s]))
                _draw_line(axes, boxes[0][s], boxes[1][t], style, in_columns)
        style = LINK if matrix is not None else {**LINK, "color": palette.ACCENT}
        for s, t in pairs:
            _draw_line(axes, boxes[0][s], boxes[1][t], style, in_columns)
        for word, box in zip([*source, *target], [*boxes[0], *boxes[1]], strict=True):
            _draw_word(axes, word, box)
        if matrix is not None:
            _draw_legend(axes, has_links=links is not None)
        return builder.finish(f"alignment of {shape[1]} and {shape[0]} words")


def _check_weights(weights: Any, shape: tuple[int, int]) -> Any:
    matrix = as_floats(weights)
    if matrix.shape != shape:
        raise ValueError(
            f"weights must have shape {shape}, target words by source words, got {matrix.shape}."
        )
    if not np.isfinite(matrix).all() or matrix.min() < 0 or matrix.max() > 1 + 1e-4:
        raise ValueError("weights must be from 0 to 1.")
    return matrix


def _lay_out(
    sides: Sequence[Sequence[str]],
) -> tuple[tuple[float, float], list[list[WordBox]], bool]:
    """The figure's size, every word's box, and whether the words are in columns."""
    widths = [[text_width(word) * FONT_SIZE / POINTS + 2 * PAD for word in side] for side in sides]
    totals = [sum(side) + GAP * (len(side) - 1) for side in widths]
    width = max(*totals, MIN_WIDTH) + 2 * MARGIN
    if width <= MAX_WIDTH:
        rows = []
        for side, total, y in zip(widths, totals, (2.15, 0.65), strict=True):
            starts = (width - total) / 2 + np.cumsum([0.0, *(w + GAP for w in side[:-1])])
            rows.append([WordBox(x + w / 2, y, w, 0.3) for x, w in zip(starts, side, strict=True)])
        return (width, 2.8), rows, False
    count = max(map(len, sides))
    pitch = min(PITCH, max(MIN_PITCH, (MAX_INCHES - 1.4) / count))
    shrink = min(1.0, pitch / PITCH * 1.15)
    left, right = ([w * shrink for w in side] for side in widths)
    height = count * pitch + 1.4
    ends = MARGIN + max(left), MARGIN + max(left) + COLUMN_GAP  # of the left and right column
    columns = []
    for side, end, sign in ((left, ends[0], -1), (right, ends[1], 1)):
        step = count * pitch / len(side)  # the shorter side is spread over the same height
        columns.append(
            [
                WordBox(
                    end + sign * w / 2, height - 0.8 - (n + 0.5) * step, w, min(0.24, pitch * 0.86)
                )
                for n, w in enumerate(side)
            ]
        )
    return (ends[1] + max(right) + MARGIN, height), columns, True


def _full_axes(builder: FigureBuilder, size: tuple[float, float], title: str) -> Axes:
    """Axes that cover the whole canvas, in inches."""
    builder.canvas.set_size_inches(*size)
    axes = builder.canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, size[0]), ylim=(0, size[1]))
    axes.set_axis_off()
    axes.text(MARGIN, size[1] - 0.1, title, fontsize=11, va="top")
    return axes


def _weight_style(weight: float) -> dict[str, Any]:
    strength = weight**palette.GAMMA
    width, opacity = 0.4 + 3.2 * strength, 0.1 + 0.85 * strength
    return {"color": palette.ACCENT, "linewidth": width, "alpha": opacity}


def _draw_line(
    axes: Axes, source: WordBox, target: WordBox, style: dict[str, Any], in_columns: bool
) -> None:
    """Draw a curve that meets the words' boxes at right angles."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if in_columns:
        start = source.x + source.width / 2, source.y
        end = target.x - target.width / 2, target.y
        middle = (start[0] + end[0]) / 2
        controls = [(middle, start[1]), (middle, end[1])]
    else:
        start = source.x, source.y - source.height / 2
        end = target.x, target.y + target.height / 2
        middle = (start[1] + end[1]) / 2
        controls = [(start[0], middle), (end[0], middle)]
    curve = Path([start, *controls, end], [Path.MOVETO, *[Path.CURVE4] * 3])
    axes.add_patch(PathPatch(curve, fill=False, capstyle="butt", **style))


def _draw_word(axes: Axes, word: str, box: WordBox) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = box.x - box.width / 2, box.y - box.height / 2
    rounding = min(0.06, box.height / 4)
    axes.add_patch(
        FancyBboxPatch(
            corner,
            box.width,
            box.height,
            boxstyle=f"round,pad=0,rounding_size={rounding}",
            facecolor=palette.PAPER,
            edgecolor=palette.LINE,
            linewidth=0.8,
        )
    )
    size = min(FONT_SIZE, box.height * POINTS * 0.62)
    axes.text(box.x, box.y - 0.005, word, ha="center", va="center", fontsize=size)


def _draw_legend(axes: Axes, *, has_links: bool) -> None:
    """Draw sample lines of some weights, and of a link."""
    samples = {f"{weight:.0%}": _weight_style(weight) for weight in (0.1, 0.5, 1.0)}
    if has_links:
        samples["link"] = LINK
    for number, (label, style) in enumerate(samples.items()):
        x, y = MARGIN + 0.85 * number, 0.2
        axes.plot([x, x + 0.3], [y, y], **style)
        axes.text(x + 0.36, y, label, fontsize=8, va="center", color=palette.MUTED)
