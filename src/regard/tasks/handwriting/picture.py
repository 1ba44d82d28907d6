"""Pictures of a handwritten line: its strokes, and the window's weights over time.

At the top, the line with every stroke in the color of the character with the largest weight; below,
a band per character with its weight at every point of the pen. Takes the text, strokes (N, 3) with
y up, and weights (N, S).
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

COLORS = ("#2f6fed", "#e0701a", "#0f9d6b", "#d6336c", "#7a4fe0", "#0b93b0")
"""Colors of the characters, in turn."""
MARGIN, BAND, GAP = 36.0, 17.0, 34.0
MIN_WIDTH, MAX_WIDTH, X_HEIGHT = 640.0, 1600.0, 52.0
"""Width of the picture, and the x-height where it fits, in pixels."""
STYLE = """
.paper{fill:#fffdf8}.ink{fill:none;stroke-width:3;stroke-linecap:round;stroke-linejoin:round}
.rule{stroke:#d9d4c7}.name{font:13px system-ui,"Noto Sans","Noto Sans CJK SC",sans-serif}
.note{font:11px system-ui,"Noto Sans",sans-serif;fill:#8a8577}.band{fill-opacity:.8}
@media (prefers-color-scheme:dark){.paper{fill:#17181c}.rule{stroke:#3a3c44}.note{fill:#8d909a}}
"""


def line_svg(text: str, strokes: ArrayLike, weights: ArrayLike) -> str:
    """The picture of a line, as SVG."""
    pen, weights_NS = np.asarray(strokes, np.float64), np.asarray(weights, np.float64)
    points = np.cumsum(pen[:, :2], axis=0) * [1, -1]
    least, most = points.min(0), points.max(0)
    span = np.maximum(most - least, 1e-9)
    scale = min(X_HEIGHT, (MAX_WIDTH - 2 * MARGIN) / span[0], 400.0 / span[1])
    width = max(MIN_WIDTH, span[0] * scale + 2 * MARGIN)
    left = (width - span[0] * scale) / 2
    page = (points - least) * scale + [left, MARGIN]
    below = MARGIN + span[1] * scale + GAP
    chars = weights_NS.argmax(1)
    height = below + GAP + BAND * (len(text) + 1) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(text)}">',
        f"<title>{escape(text)}</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" rx="10"/>',
        *_ink(page, pen[:, 2] > 0.5, chars),
        *_names(text, page, chars, below),
        *_bands(text, weights_NS, width, below + GAP),
        "</svg>\n",
    ]
    return "\n".join(parts)


def terminal_line(strokes: ArrayLike, columns: int = 78) -> str:
    """The strokes in Braille dots, for a terminal."""
    pen = np.asarray(strokes, np.float64)
    points = np.cumsum(pen[:, :2], axis=0) * [1, -1]
    least, span = points.min(0), np.maximum(np.ptp(points, axis=0), 1e-9)
    scale = min(2 * columns - 1, 11.0 * span[0]) / span[0]
    rows = int(span[1] * scale) // 4 + 1
    cells = np.zeros((rows, int(span[0] * scale) // 2 + 1), np.int64)
    dots = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
    begins = np.concatenate([[True], pen[:-1, 2] > 0.5])
    for before, after, new in zip(np.roll(points, 1, 0), points, begins, strict=True):
        start = after if new else before
        for fraction in np.linspace(0, 1, 2 + int(np.abs(after - start).max() * scale * 2)):
            x, y = ((start + fraction * (after - start) - least) * scale).round().astype(int)
            x, y = min(x, 2 * cells.shape[1] - 1), min(y, 4 * rows - 1)
            cells[y // 4, x // 2] |= dots[y % 4, x % 2]
    return "\n".join("".join(chr(0x2800 + int(c)) for c in row).rstrip("\u2800") for row in cells)


def _ink(page: Array, lifted: NDArray[np.bool_], chars: NDArray[np.int64]) -> Iterator[str]:
    """Every stroke as smooth paths, one per run of equal characters."""
    begin = 0
    for end in [*np.flatnonzero(lifted).tolist(), len(page) - 1]:
        if end < begin:
            continue
        stroke, stroke_chars = page[begin : end + 1], chars[begin : end + 1]
        begin = end + 1
        if len(stroke) == 1:
            stroke, stroke_chars = np.repeat(stroke, 2, 0), np.repeat(stroke_chars, 2)
        for char, run in groupby(range(1, len(stroke)), key=lambda n, c=stroke_chars: int(c[n])):  # type: ignore[misc]  # bound now
            indices = list(run)
            pieces = " ".join(_curve(stroke, n) for n in indices)
            x, y = stroke[indices[0] - 1]
            yield f'<path class="ink" stroke="{_color(char)}" d="M{x:.1f},{y:.1f} {pieces}"/>'


def _curve(stroke: Array, n: int) -> str:
    """Bézier curve from point n − 1 to point n of a stroke, with tangents along its neighbors."""
    before, a, b, after = stroke[[max(n - 2, 0), n - 1, n, min(n + 1, len(stroke) - 1)]]
    start, stop = a + (b - before) / 6, b - (after - a) / 6
    return f"C{start[0]:.1f},{start[1]:.1f} {stop[0]:.1f},{stop[1]:.1f} {b[0]:.1f},{b[1]:.1f}"


def _names(text: str, page: Array, chars: NDArray[np.int64], y: float) -> Iterator[str]:
    """The characters under their strokes."""
    for index, character in enumerate(text):
        points = page[chars == index]
        if len(points) and character != " ":
            x = (points[:, 0].min() + points[:, 0].max()) / 2
            yield _name(character, x, y, index, "middle")


def _bands(text: str, weights: Array, width: float, top: float) -> Iterator[str]:
    """The weights (N, S) of each character at every point."""
    left, right = MARGIN + 20, width - MARGIN
    time = left + (right - left) * np.arange(len(weights)) / max(1, len(weights) - 1)
    highest = max(float(np.quantile(weights.max(1), 0.95)), 1e-9)  # short peaks are cut off
    for index, character in enumerate(text):
        floor = top + BAND * (index + 1)
        yield f'<line class="rule" x1="{left}" x2="{right:.0f}" y1="{floor:.1f}" y2="{floor:.1f}"/>'
        yield _name("␣" if character == " " else character, MARGIN, floor - 2, index, "start")
        visible = np.flatnonzero(weights[:, index] > 0.01 * highest)
        if len(visible):
            first, last = max(visible[0] - 1, 0), min(visible[-1] + 2, len(weights))
            heights = floor - 1.6 * BAND * np.minimum(weights[first:last, index] / highest, 1.1)
            curve = " ".join(
                f"L{x:.1f},{y:.1f}" for x, y in zip(time[first:last], heights, strict=True)
            )
            path = f"M{time[first]:.1f},{floor:.1f} {curve} L{time[last - 1]:.1f},{floor:.1f}Z"
            yield f'<path class="band" fill="{_color(index)}" d="{path}"/>'
    note = f"where the window was, over the {len(weights)} points of the pen →"
    yield f'<text class="note" x="{left}" y="{top + BAND * (len(text) + 1) + 8:.1f}">{note}</text>'


def _name(character: str, x: float, y: float, index: int, anchor: str) -> str:
    return (
        f'<text class="name" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill="{_color(index)}">{escape(character)}</text>'
    )


def _color(index: int) -> str:
    return COLORS[index % len(COLORS)]
