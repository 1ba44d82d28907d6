"""A written line as a picture: the strokes, and where the window was while they were drawn.

Above, the line as the pen drew it, every stroke in the colour of the character that the window was
on; below, a band for each character over the pen's time, as high as the window was on it. Takes the
text, strokes (N, 3) and weights (N, S); y of the strokes goes up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

COLOURS = ("#2f6fed", "#e0701a", "#0f9d6b", "#d6336c", "#7a4fe0", "#0b93b0")
"""Of the characters, in turn."""
MARGIN, BAND, GAP = 36.0, 17.0, 34.0
NARROWEST, WIDEST, LETTER = 640.0, 1600.0, 52.0
"""Of the picture, and of a small letter's height where there is room, in pixels."""
STYLE = """
.paper{fill:#fffdf8}.ink{fill:none;stroke-width:3;stroke-linecap:round;stroke-linejoin:round}
.rule{stroke:#d9d4c7}.name{font:13px system-ui,"Noto Sans","Noto Sans CJK SC",sans-serif}
.note{font:11px system-ui,"Noto Sans",sans-serif;fill:#8a8577}.band{fill-opacity:.8}
@media (prefers-color-scheme:dark){.paper{fill:#17181c}.rule{stroke:#3a3c44}.note{fill:#8d909a}}
"""


def line_svg(text: str, strokes: ArrayLike, weights: ArrayLike) -> str:
    """The picture of a line, as SVG."""
    pen, seen = np.asarray(strokes, np.float64), np.asarray(weights, np.float64)
    points = np.cumsum(pen[:, :2], axis=0) * [1, -1]
    least, most = points.min(0), points.max(0)
    span = np.maximum(most - least, 1e-9)
    scale = min(LETTER, (WIDEST - 2 * MARGIN) / span[0], 400.0 / span[1])
    width = max(NARROWEST, span[0] * scale + 2 * MARGIN)
    left = (width - span[0] * scale) / 2
    page = (points - least) * scale + [left, MARGIN]
    below = MARGIN + span[1] * scale + GAP
    chosen = seen.argmax(1)
    height = below + GAP + BAND * (len(text) + 1) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{_plain(text)}">',
        f"<title>{_plain(text)}</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" rx="10"/>',
        *_ink(page, pen[:, 2] > 0.5, chosen),
        *_names(text, page, chosen, below),
        *_bands(text, seen, width, below + GAP),
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
        for share in np.linspace(0, 1, 2 + int(np.abs(after - start).max() * scale * 2)):
            x, y = ((start + share * (after - start) - least) * scale).round().astype(int)
            x, y = min(x, 2 * cells.shape[1] - 1), min(y, 4 * rows - 1)
            cells[y // 4, x // 2] |= dots[y % 4, x % 2]
    return "\n".join("".join(chr(0x2800 + int(c)) for c in row).rstrip("\u2800") for row in cells)


def _ink(page: Array, lifted: NDArray[np.bool_], chosen: NDArray[np.int64]) -> Iterator[str]:
    """Every stroke as a smooth path, in pieces of one colour."""
    ends = [*np.flatnonzero(lifted).tolist(), len(page) - 1]
    begin = 0
    for end in ends:
        if end < begin:
            continue
        stroke, colours = page[begin : end + 1], chosen[begin : end + 1]
        begin = end + 1
        if len(stroke) == 1:
            stroke, colours = np.repeat(stroke, 2, 0), np.repeat(colours, 2)
        for colour, run in groupby(range(1, len(stroke)), key=lambda n, c=colours: int(c[n])):  # type: ignore[misc]  # bound now
            places = list(run)
            pieces = " ".join(_bend(stroke, n) for n in places)
            x, y = stroke[places[0] - 1]
            path = f"M{x:.1f},{y:.1f} {pieces}"
            yield f'<path class="ink" stroke="{COLOURS[colour % len(COLOURS)]}" d="{path}"/>'


def _bend(stroke: Array, n: int) -> str:
    """From point n − 1 to point n of a stroke, in the direction of their neighbours."""
    before, a, b, after = stroke[[max(n - 2, 0), n - 1, n, min(n + 1, len(stroke) - 1)]]
    one, two = a + (b - before) / 6, b - (after - a) / 6
    return f"C{one[0]:.1f},{one[1]:.1f} {two[0]:.1f},{two[1]:.1f} {b[0]:.1f},{b[1]:.1f}"


def _names(text: str, page: Array, chosen: NDArray[np.int64], y: float) -> Iterator[str]:
    """The characters under their strokes."""
    for place, character in enumerate(text):
        mine = page[chosen == place]
        if len(mine) and character != " ":
            x = (mine[:, 0].min() + mine[:, 0].max()) / 2
            yield _name(character, x, y, place, "middle")


def _bands(text: str, seen: Array, width: float, top: float) -> Iterator[str]:
    """For each character the window's weight on it over the pen's time."""
    left, right = MARGIN + 20, width - MARGIN
    time = left + (right - left) * np.arange(len(seen)) / max(1, len(seen) - 1)
    highest = max(float(np.quantile(seen.max(1), 0.95)), 1e-9)  # a moment's peak is cut off
    for place, character in enumerate(text):
        floor = top + BAND * (place + 1)
        yield f'<line class="rule" x1="{left}" x2="{right:.0f}" y1="{floor:.1f}" y2="{floor:.1f}"/>'
        yield _name("␣" if character == " " else character, MARGIN, floor - 2, place, "start")
        there = np.flatnonzero(seen[:, place] > 0.01 * highest)
        if len(there):
            first, last = max(there[0] - 1, 0), min(there[-1] + 2, len(seen))
            heights = floor - 1.6 * BAND * np.minimum(seen[first:last, place] / highest, 1.1)
            curve = " ".join(
                f"L{x:.1f},{y:.1f}" for x, y in zip(time[first:last], heights, strict=True)
            )
            path = f"M{time[first]:.1f},{floor:.1f} {curve} L{time[last - 1]:.1f},{floor:.1f}Z"
            yield f'<path class="band" fill="{COLOURS[place % len(COLOURS)]}" d="{path}"/>'
    note = f"where the window was, over the {len(seen)} points of the pen →"
    yield f'<text class="note" x="{left}" y="{top + BAND * (len(text) + 1) + 8:.1f}">{note}</text>'


def _name(character: str, x: float, y: float, place: int, anchor: str) -> str:
    colour = COLOURS[place % len(COLOURS)]
    return (
        f'<text class="name" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">'
        f"{_plain(character)}</text>"
    )


def _plain(text: str | Sequence[str]) -> str:
    return escape("".join(text), quote=True)
