"""Reading written lines back: a simple recogniser that knows the alphabet and nothing of models.

A character is a few whole strokes, since the pen is lifted between characters. The line is cut into
characters by dynamic programming over its strokes, each group of strokes compared with every
character of as many, drawn in one hand for the whole line: width a, slant s, height b, baseline y₀
with its slope. That hand is fitted by least squares to what was read, and the line is read again.

Shapes: N strokes of a line, P points of each, k strokes of a character, M characters of k strokes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.corpus.strokes import ALPHABET, glyph

Array = NDArray[np.float64]

POINTS = 16
ROUNDS = 4
SIZES, SLANTS = (0.85, 1.0, 1.15), (0.0, 0.25)
"""Heights and slants that the search for the hand begins at."""
SPACE = 0.95
"""Between characters, in heights of a small x: from here on it is a space."""
OFF = 0.25
"""The share of the cost of a character's distance from the line that counts."""
PER_CHARACTER = 0.003
"""Cost of a character more, so that of two readings the shorter is taken."""
PRIOR = 20.0
"""Points that speak for a hand like the one begun with: a short line has few of its own."""


@dataclass(frozen=True, eq=False)
class Templates:
    """The characters of k strokes: points (M, k · P, 2), and each one's width."""

    characters: str
    points: Array
    widths: Array


@dataclass(frozen=True)
class Fit:
    """The hand of a line: x = a x' + s y' + where the character begins, y = b y' + y₀ + slope x."""

    width: float
    slant: float
    height: float
    base: float
    slope: float = 0.0


@dataclass(frozen=True)
class Read:
    """A character in a line: strokes from `begin` to `end`; its x; how badly it fits."""

    character: str
    begin: int
    end: int
    left: float
    right: float
    cost: float


def recognise(strokes: ArrayLike) -> str:
    """The text of a line, from pen movements (N, 3) in the corpus' unit.

    >>> import numpy as np
    >>> from regard.corpus.strokes import PLAIN, write
    >>> recognise(write("Read me!", PLAIN, np.random.default_rng(0)))
    'Read me!'
    """
    lines = split_strokes(np.asarray(strokes, np.float64))
    if not lines:
        return ""
    shapes = np.stack([along(stroke) for stroke in lines])
    base = float(np.median(shapes[..., 1].min(1)))
    best: list[Read] = []
    least = np.inf
    for size in SIZES:
        for slant in SLANTS:
            begun = Fit(size, slant * size, size, base)
            found, cost = _settled(shapes, begun)
            if cost < least:
                best, least = found, cost
    return _text(best)


def character_error(texts: Sequence[str], read: Sequence[str]) -> float:
    """Edits from what was to be written to what was read, per character to be written.

    >>> character_error(["abcd"], ["abxd"])
    0.25
    """
    edits = sum(distance(a, b) for a, b in zip(texts, read, strict=True))
    return edits / max(1, sum(map(len, texts)))


def distance(one: str, other: str) -> int:
    """Fewest insertions, deletions and substitutions (Levenshtein 1966)."""
    above = list(range(len(other) + 1))
    for number, character in enumerate(one, start=1):
        row = [number]
        for place, beside in enumerate(other):
            swap = above[place] + (character != beside)
            row.append(min(above[place + 1] + 1, row[-1] + 1, swap))
        above = row
    return above[-1]


def split_strokes(strokes: Array) -> list[Array]:
    """The strokes of a line as points (n, 2) on the page."""
    points = np.cumsum(strokes[:, :2], axis=0)
    ends = np.flatnonzero(strokes[:, 2] > 0.5) + 1
    cuts = [0, *ends.tolist(), *([len(points)] if not len(ends) or ends[-1] < len(points) else [])]
    return [points[a:b] for a, b in pairwise(cuts) if b > a]


def along(points: Array) -> Array:
    """`POINTS` points (P, 2) at equal distances along a stroke."""
    if len(points) == 1:
        return np.repeat(points, POINTS, 0)
    moves = np.diff(points, axis=0)
    clock = np.concatenate([[0.0], np.cumsum(np.hypot(moves[:, 0], moves[:, 1]) + 1e-9)])
    at = np.linspace(0, clock[-1], POINTS)
    return np.stack([np.interp(at, clock, points[:, 0]), np.interp(at, clock, points[:, 1])], 1)


@cache
def templates() -> dict[int, Templates]:
    """The built-in alphabet, by number of strokes."""
    sorted_out: dict[int, list[tuple[str, Array, float]]] = {}
    for character in ALPHABET.strip():
        shape = glyph(character)
        points = np.vstack([along(stroke.curve @ stroke.control) for stroke in shape.strokes])
        sorted_out.setdefault(len(shape.strokes), []).append((character, points, shape.width))
    return {
        number: Templates(
            "".join(c for c, _, _ in found),
            np.stack([p for _, p, _ in found]),
            np.array([w for _, _, w in found]),
        )
        for number, found in sorted_out.items()
    }


def _settled(shapes: Array, fit: Fit) -> tuple[list[Read], float]:
    """The line read again and again, each time in the hand that fits the last reading."""
    begun = fit
    found, cost = _decoded(shapes, fit)
    for _ in range(ROUNDS):
        fit = _fitted(shapes, found, begun)
        again, cost = _decoded(shapes, fit)
        if [(r.character, r.begin) for r in again] == [(r.character, r.begin) for r in found]:
            return again, cost
        found = again
    return found, cost


def _decoded(shapes: Array, fit: Fit) -> tuple[list[Read], float]:
    """The cheapest reading of all strokes in this hand."""
    number = len(shapes)
    tables = {k: _matched(shapes, t, fit) for k, t in templates().items() if k <= number}
    best: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # cost, strokes of the last, its template
    for end in range(1, number + 1):
        ways = [
            (best[end - k][0] + float(table[end - k].min()), k, int(table[end - k].argmin()))
            for k, table in tables.items()
            if k <= end
        ]
        best.append(min(ways))
    reading: list[Read] = []
    end = number
    while end:
        _, k, which = best[end]
        reading.append(_read(shapes, fit, end - k, k, which, float(tables[k][end - k, which])))
        end -= k
    return reading[::-1], best[-1][0]


def _matched(shapes: Array, known: Templates, fit: Fit) -> Array:
    """(N − k + 1, M): how badly each group of strokes fits each character, on the page."""
    k = known.points.shape[1] // POINTS
    groups = np.stack([shapes[n : n + k].reshape(-1, 2) for n in range(len(shapes) - k + 1)])
    drawn = _drawn(known.points, fit)
    flat = groups[..., 1] - fit.slope * groups[..., 0] - fit.base
    across = groups[..., 0] - groups[..., 0].mean(1, keepdims=True)
    dx = across[:, None] - (drawn[..., 0] - drawn[..., 0].mean(1, keepdims=True))
    dy = flat[:, None] - drawn[..., 1]
    off = dy.mean(-1)  # a character may stand a little off the line
    return np.asarray(k * ((dx**2 + dy**2).mean(-1) - (1 - OFF) * off**2) + PER_CHARACTER)


def _drawn(points: Array, fit: Fit) -> Array:
    """Templates (M, n, 2) in a hand, on a level baseline."""
    x, y = points[..., 0], points[..., 1]
    return np.stack([fit.width * x + fit.slant * y, fit.height * y], -1)


def _read(shapes: Array, fit: Fit, begin: int, k: int, which: int, cost: float) -> Read:
    known = templates()[k]
    drawn = _drawn(known.points[which], fit)
    left = float(shapes[begin : begin + k, :, 0].mean() - drawn[:, 0].mean())
    right = left + fit.width * float(known.widths[which])
    return Read(known.characters[which], begin, begin + k, left, right, cost)


def _fitted(shapes: Array, found: Sequence[Read], prior: Fit) -> Fit:
    """The hand in which what was read is nearest to what is written, by least squares."""
    page, drawn, centred = [], [], []
    for read in found:
        k = read.end - read.begin
        known = templates()[k]
        shape = known.points[known.characters.index(read.character)]
        seen = shapes[read.begin : read.end].reshape(-1, 2)
        page.append(seen)
        drawn.append(shape)
        centred.append((shape - shape.mean(0), seen[:, 0] - seen[:, 0].mean()))
    points, shape = np.vstack(page), np.vstack(drawn)
    ones = np.ones(len(points))
    up = np.stack([shape[:, 1], ones, points[:, 0]], 1)
    height, base, slope = _least_squares(
        up, points[:, 1], np.array([prior.height, prior.base, 0.0]), np.array([1.0, 0.1, 30.0])
    )
    width, slant = _least_squares(
        np.vstack([c for c, _ in centred]),
        np.concatenate([x for _, x in centred]),
        np.array([prior.width, prior.slant]),
        np.array([0.3, 0.1]),
    )
    return Fit(float(width), float(slant), float(height), float(base), float(slope))


def _least_squares(matrix: Array, wanted: Array, prior: Array, trust: Array) -> Array:
    """argmin |matrix p − wanted|² + Σ trust · PRIOR (p − prior)²."""
    ridge = np.diag(PRIOR * trust)
    solved = np.linalg.solve(matrix.T @ matrix + ridge, matrix.T @ wanted + ridge @ prior)
    return np.asarray(solved, np.float64)


def _text(found: Sequence[Read]) -> str:
    text = found[0].character
    for before, read in pairwise(found):
        text += " " * (read.left - before.right >= SPACE) + read.character
    return text
