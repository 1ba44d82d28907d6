"""A simple recognizer of the built-in alphabet, independent of any model.

A character is a group of whole strokes, since the pen is lifted between characters. Dynamic
programming over the strokes of a line cuts it into characters, comparing each group of strokes with
every character of as many strokes, drawn in one style for the whole line: width a, slant s, height
b, baseline y₀ and slope. The style is fitted by least squares to the recognized characters, and
recognition is repeated.

Shapes: N strokes of a line, P points of each, k strokes of a character, M characters of k strokes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.tasks.handwriting.strokes.glyphs import ALPHABET, glyph

Array = NDArray[np.float64]

POINTS = 16
MAX_ROUNDS = 4
SIZES, SLANTS = (0.85, 1.0, 1.15), (0.0, 0.25)
"""Initial heights and slants of the search for the style."""
SPACE = 0.95
"""Smallest gap between characters that is a space, in x-heights."""
BASELINE_COST = 0.25
"""Factor on the cost of a character's distance from the baseline."""
CHARACTER_COST = 0.003
"""Cost per character, which prefers fewer characters."""
PRIOR_POINTS = 20.0
"""Weight of the initial style in points: short lines have few of their own."""


@dataclass(frozen=True, eq=False)
class Templates:
    """The characters of k strokes: points (M, k · P, 2) and widths (M,)."""

    characters: str
    points: Array
    widths: Array


@dataclass(frozen=True)
class StyleFit:
    """Style of a line: x = a x' + s y' + left of the character, y = b y' + y₀ + slope x."""

    width: float
    slant: float
    height: float
    base: float
    slope: float = 0.0


@dataclass(frozen=True)
class RecognizedChar:
    """A character of a line: strokes from `begin` to `end`, its x range and cost."""

    character: str
    begin: int
    end: int
    left: float
    right: float
    cost: float


def recognize(strokes: ArrayLike) -> str:
    """The text of a line, from pen movements (N, 3) in the corpus' unit.

    >>> import numpy as np
    >>> from regard.tasks.handwriting.strokes.lines import PLAIN, write
    >>> recognize(write("Read me!", PLAIN, np.random.default_rng(0)))
    'Read me!'
    """
    lines = split_strokes(np.asarray(strokes, np.float64))
    if not lines:
        return ""
    shapes = np.stack([resample(stroke) for stroke in lines])
    base = float(np.median(shapes[..., 1].min(1)))
    best: list[RecognizedChar] = []
    least = np.inf
    for size in SIZES:
        for slant in SLANTS:
            chars, cost = _search(shapes, StyleFit(size, slant * size, size, base))
            if cost < least:
                best, least = chars, cost
    return _text(best)


def character_error(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Edits from references to hypotheses per character of the references.

    >>> character_error(["abcd"], ["abxd"])
    0.25
    """
    edits = sum(edit_distance(a, b) for a, b in zip(references, hypotheses, strict=True))
    return edits / max(1, sum(map(len, references)))


def edit_distance(a: str, b: str) -> int:
    """Fewest insertions, deletions and substitutions (Levenshtein 1966)."""
    above = list(range(len(b) + 1))
    for number, character in enumerate(a, start=1):
        row = [number]
        for column, other in enumerate(b):
            substitution = above[column] + (character != other)
            row.append(min(above[column + 1] + 1, row[-1] + 1, substitution))
        above = row
    return above[-1]


def split_strokes(strokes: Array) -> list[Array]:
    """The strokes of a line as points (n, 2) on the page."""
    points = np.cumsum(strokes[:, :2], axis=0)
    ends = np.flatnonzero(strokes[:, 2] > 0.5) + 1
    cuts = [0, *ends.tolist(), *([len(points)] if not len(ends) or ends[-1] < len(points) else [])]
    return [points[a:b] for a, b in pairwise(cuts) if b > a]


def resample(points: Array) -> Array:
    """`POINTS` points (P, 2) at equal distances along a stroke."""
    if len(points) == 1:
        return np.repeat(points, POINTS, 0)
    moves = np.diff(points, axis=0)
    length = np.concatenate([[0.0], np.cumsum(np.hypot(moves[:, 0], moves[:, 1]) + 1e-9)])
    at = np.linspace(0, length[-1], POINTS)
    return np.stack([np.interp(at, length, points[:, 0]), np.interp(at, length, points[:, 1])], 1)


@cache
def templates() -> dict[int, Templates]:
    """The built-in alphabet, by number of strokes."""
    groups: dict[int, list[tuple[str, Array, float]]] = {}
    for character in ALPHABET.strip():
        shape = glyph(character)
        points = np.vstack([resample(stroke.curve @ stroke.control) for stroke in shape.strokes])
        groups.setdefault(len(shape.strokes), []).append((character, points, shape.width))
    return {
        number: Templates(
            "".join(character for character, _, _ in group),
            np.stack([points for _, points, _ in group]),
            np.array([width for _, _, width in group]),
        )
        for number, group in groups.items()
    }


def _search(shapes: Array, initial: StyleFit) -> tuple[list[RecognizedChar], float]:
    """Alternate recognition and style fitting until the characters stay the same."""
    chars, cost = _decode(shapes, initial)
    for _ in range(MAX_ROUNDS):
        before = chars
        chars, cost = _decode(shapes, _fit_style(shapes, before, initial))
        if [(c.character, c.begin) for c in chars] == [(c.character, c.begin) for c in before]:
            break
    return chars, cost


def _decode(shapes: Array, style: StyleFit) -> tuple[list[RecognizedChar], float]:
    """The characters of least total cost in this style."""
    number = len(shapes)
    tables = {k: _costs(shapes, t, style) for k, t in templates().items() if k <= number}
    best: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # cost, strokes of the last, its template
    for end in range(1, number + 1):
        options = [
            (best[end - k][0] + float(table[end - k].min()), k, int(table[end - k].argmin()))
            for k, table in tables.items()
            if k <= end
        ]
        best.append(min(options))
    chars: list[RecognizedChar] = []
    end = number
    while end:
        _, k, index = best[end]
        cost = float(tables[k][end - k, index])
        chars.append(_recognized(shapes, style, end - k, k, index, cost))
        end -= k
    return chars[::-1], best[-1][0]


def _costs(shapes: Array, known: Templates, style: StyleFit) -> Array:
    """(N − k + 1, M): cost of each group of k strokes as each character."""
    k = known.points.shape[1] // POINTS
    groups = np.stack([shapes[n : n + k].reshape(-1, 2) for n in range(len(shapes) - k + 1)])
    drawn = _draw(known.points, style)
    y = groups[..., 1] - style.slope * groups[..., 0] - style.base
    x = groups[..., 0] - groups[..., 0].mean(1, keepdims=True)
    dx = x[:, None] - (drawn[..., 0] - drawn[..., 0].mean(1, keepdims=True))
    dy = y[:, None] - drawn[..., 1]
    offset = dy.mean(-1)  # a character may be slightly off the baseline
    squares = (dx**2 + dy**2).mean(-1)
    return np.asarray(k * (squares - (1 - BASELINE_COST) * offset**2) + CHARACTER_COST)


def _draw(points: Array, style: StyleFit) -> Array:
    """Templates (M, n, 2) in a style, on a level baseline."""
    x, y = points[..., 0], points[..., 1]
    return np.stack([style.width * x + style.slant * y, style.height * y], -1)


def _recognized(
    shapes: Array, style: StyleFit, begin: int, k: int, index: int, cost: float
) -> RecognizedChar:
    known = templates()[k]
    drawn = _draw(known.points[index], style)
    left = float(shapes[begin : begin + k, :, 0].mean() - drawn[:, 0].mean())
    right = left + style.width * float(known.widths[index])
    return RecognizedChar(known.characters[index], begin, begin + k, left, right, cost)


def _fit_style(shapes: Array, chars: Sequence[RecognizedChar], prior: StyleFit) -> StyleFit:
    """The style whose characters are nearest to the strokes, by least squares."""
    page, drawn, centered = [], [], []
    for char in chars:
        known = templates()[char.end - char.begin]
        shape = known.points[known.characters.index(char.character)]
        points = shapes[char.begin : char.end].reshape(-1, 2)
        page.append(points)
        drawn.append(shape)
        centered.append((shape - shape.mean(0), points[:, 0] - points[:, 0].mean()))
    points, shape = np.vstack(page), np.vstack(drawn)
    design = np.stack([shape[:, 1], np.ones(len(points)), points[:, 0]], 1)
    height, base, slope = _least_squares(
        design, points[:, 1], np.array([prior.height, prior.base, 0.0]), np.array([1.0, 0.1, 30.0])
    )
    width, slant = _least_squares(
        np.vstack([shape for shape, _ in centered]),
        np.concatenate([x for _, x in centered]),
        np.array([prior.width, prior.slant]),
        np.array([0.3, 0.1]),
    )
    return StyleFit(float(width), float(slant), float(height), float(base), float(slope))


def _least_squares(matrix: Array, target: Array, prior: Array, weights: Array) -> Array:
    """argmin |matrix p − target|² + Σ weights · PRIOR_POINTS (p − prior)²."""
    ridge = np.diag(PRIOR_POINTS * weights)
    solved = np.linalg.solve(matrix.T @ matrix + ridge, matrix.T @ target + ridge @ prior)
    return np.asarray(solved, np.float64)


def _text(chars: Sequence[RecognizedChar]) -> str:
    text = chars[0].character
    for before, char in pairwise(chars):
        text += " " * (char.left - before.right >= SPACE) + char.character
    return text
