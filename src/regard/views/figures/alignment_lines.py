"""Two rows of words joined by lines: which word of the one was made from which of the other.

Lengths are in inches; a long sentence stands in two columns instead, as on the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import LARGEST, Drawing, Figure, drawing
from regard.views.figures.labels import POINTS, shortened, text_width
from regard.views.maps.layers import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 15.0  # beyond which words stand in columns
LEAST_WIDTH = 3.2  # the legend's
GAP, PAD, EDGE = 0.1, 0.07, 0.25  # between words, inside a word's box, at the figure's edge
SIZE = 11.0  # points
PITCH, LEAST_PITCH = 0.27, 0.105  # from word to word in a column
MOST_WORDS = int((LARGEST - 1.4) / LEAST_PITCH)
LEAST = 0.02  # a fainter line would not be seen


class Link(NamedTuple):
    """A line between two words, as strong as its weight from 0 to 1."""

    source: int
    target: int
    weight: float


class Box(NamedTuple):
    """A word's place: its middle and its size."""

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
    threshold: float = LEAST,
) -> Figure:
    """Lines between words: `weights` (target words, source words), or `links` (source, target).

    A line is as wide and as dark as its weight is large; weights below `threshold` have none. With
    both, links are drawn in orange above the weights.
    """
    shape = len(target_words), len(source_words)
    if min(shape) == 0:
        raise ValueError("source_words and target_words must hold at least one word each.")
    if max(shape) > MOST_WORDS:
        raise ValueError(
            f"lines between {max(shape)} words cannot be told apart (at most {MOST_WORDS}); draw "
            "them as a heatmap."
        )
    weighted, linked = _weighted(weights, shape, threshold), _linked(links, shape)
    texts = [*source_words, *target_words, title]
    with drawing((4, 3), texts, layout=None) as made:
        spell = made.letters.spell
        sides = [[shortened(spell(w)) for w in words] for words in (source_words, target_words)]
        size, boxes, upright = _placed(sides)
        axes = _page(made, size, spell(title))
        for link in sorted(weighted, key=lambda link: link.weight):  # the strong ones on top
            _line(axes, boxes, link, palette.ACCENT, upright)
        for link in linked:
            colour = palette.ACCENT if weights is None else palette.SECOND
            _line(axes, boxes, link._replace(weight=0.35), colour, upright, alpha=1.0)
        for words, places in zip(sides, boxes, strict=True):
            for word, box in zip(words, places, strict=True):
                _word(axes, word, box)
        if weights is not None:
            _legend(axes, linked=links is not None)
        return made.done(f"alignment of {shape[1]} and {shape[0]} words")


def _weighted(weights: Any, shape: tuple[int, int], threshold: float) -> list[Link]:
    if weights is None:
        return []
    plane = numbers(weights)
    if plane.shape != shape:
        raise ValueError(
            f"weights must be of shape {shape}, target words by source words, "
            f"but {plane.shape} came."
        )
    if not np.isfinite(plane).all() or plane.min() < 0 or plane.max() > 1 + 1e-4:
        raise ValueError("weights must be from 0 to 1.")
    least = max(threshold, 1e-9)
    return [Link(int(s), int(t), float(plane[t, s])) for t, s in np.argwhere(plane >= least)]


def _linked(links: Iterable[tuple[int, int]] | None, shape: tuple[int, int]) -> list[Link]:
    found = [Link(source, target, 1.0) for source, target in links or ()]
    for source, target, _ in found:
        if not (0 <= source < shape[1] and 0 <= target < shape[0]):
            raise ValueError(
                f"the link ({source}, {target}) leaves {shape[1]} source and {shape[0]} "
                "target words."
            )
    return found


def _placed(
    sides: Sequence[Sequence[str]],
) -> tuple[tuple[float, float], list[list[Box]], bool]:
    """The figure's size, every word's box, and whether words stand in columns."""
    widths = [[text_width(w) * SIZE / POINTS + 2 * PAD for w in words] for words in sides]
    totals = [sum(line) + GAP * (len(line) - 1) for line in widths]
    width = max(*totals, LEAST_WIDTH) + 2 * EDGE
    if width <= WIDEST:
        rows = []
        for line, total, y in zip(widths, totals, (2.15, 0.65), strict=True):
            left = (width - total) / 2 + np.cumsum([0.0, *(w + GAP for w in line[:-1])])
            rows.append([Box(x + w / 2, y, w, 0.3) for x, w in zip(left, line, strict=True)])
        return (width, 2.8), rows, False
    number = max(map(len, sides))
    pitch = min(PITCH, max(LEAST_PITCH, (LARGEST - 1.4) / number))
    shrunk = min(1.0, pitch / PITCH * 1.15)
    height = number * pitch + 1.4
    longest = [max(line) * shrunk for line in widths]
    columns = []
    for side, line in enumerate(widths):
        step = number * pitch / len(line)  # the shorter side is spread over the same height
        tops = [height - 0.8 - (place + 0.5) * step for place in range(len(line))]
        x = EDGE + longest[0] if side == 0 else EDGE + longest[0] + 2.6
        columns.append(
            [
                Box(x - w * shrunk / 2 if side == 0 else x + w * shrunk / 2, y, w * shrunk,
                    min(0.24, pitch * 0.86))
                for w, y in zip(line, tops, strict=True)
            ]
        )  # fmt: skip
    return (longest[0] + longest[1] + 2.6 + 2 * EDGE, height), columns, True


def _page(made: Drawing, size: tuple[float, float], title: str) -> Axes:
    """Axes that measure the whole canvas in inches."""
    made.canvas.set_size_inches(*size)
    axes = made.canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, size[0])
    axes.set_ylim(0, size[1])
    axes.set_axis_off()
    axes.text(EDGE, size[1] - 0.1, title, fontsize=11, va="top")
    return axes


def _line(
    axes: Axes,
    boxes: list[list[Box]],
    link: Link,
    colour: str,
    upright: bool,
    alpha: float | None = None,
) -> None:
    """A curve that leaves and reaches the words' boxes straight."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    a, b = boxes[0][link.source], boxes[1][link.target]
    if upright:
        begin, end = (a.x + a.width / 2, a.y), (b.x - b.width / 2, b.y)
        middle = (begin[0] + end[0]) / 2
        bends = [(middle, begin[1]), (middle, end[1])]
    else:
        begin, end = (a.x, a.y - a.height / 2), (b.x, b.y + b.height / 2)
        middle = (begin[1] + end[1]) / 2
        bends = [(begin[0], middle), (end[0], middle)]
    curve = Path([begin, *bends, end], [Path.MOVETO, *[Path.CURVE4] * 3])
    strength = link.weight**palette.STRENGTH
    axes.add_patch(
        PathPatch(
            curve, fill=False, edgecolor=colour, linewidth=0.4 + 3.2 * strength,
            alpha=0.1 + 0.85 * strength if alpha is None else alpha, capstyle="butt",
        )
    )  # fmt: skip


def _word(axes: Axes, word: str, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = box.x - box.width / 2, box.y - box.height / 2
    rounding = min(0.06, box.height / 4)
    axes.add_patch(
        FancyBboxPatch(
            corner, box.width, box.height, boxstyle=f"round,pad=0,rounding_size={rounding}",
            facecolor=palette.PAPER, edgecolor=palette.LINE, linewidth=0.8,
        )
    )  # fmt: skip
    size = min(SIZE, box.height * POINTS * 0.62)
    axes.text(box.x, box.y - 0.005, word, ha="center", va="center", fontsize=size)


def _legend(axes: Axes, *, linked: bool) -> None:
    """How wide a line of which weight is."""
    x, y = EDGE, 0.2
    for weight in (0.1, 0.5, 1.0):
        strength = weight**palette.STRENGTH
        axes.plot(
            [x, x + 0.3], [y, y], color=palette.ACCENT, linewidth=0.4 + 3.2 * strength,
            alpha=0.1 + 0.85 * strength,
        )  # fmt: skip
        axes.text(x + 0.36, y, f"{weight:.0%}", fontsize=8, va="center", color=palette.MUTED)
        x += 0.85
    if linked:
        axes.plot([x, x + 0.3], [y, y], color=palette.SECOND, linewidth=1.9)
        axes.text(x + 0.36, y, "link", fontsize=8, va="center", color=palette.MUTED)
