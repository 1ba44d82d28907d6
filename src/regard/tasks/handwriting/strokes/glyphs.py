"""The alphabet: every character as pen strokes, drawn for this corpus.

A glyph is a list of control points `x,y` of a smooth curve (Catmull and Rom 1974); `/` is a corner
(one curve ends and the next begins), `|` lifts the pen. On the grid the baseline is 0, x-height 6,
capitals and digits reach 9, ascenders 10 and descenders −4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

GRID = 6.0
"""Grid units per unit of the corpus, which is the x-height."""

STROKES = {
    "a": "5,5 3,6 1,5.2 0,3 0.8,0.8 2.4,0 4,1 5,3 / 5,6 / 5,1.4 6.2,0.2",
    "b": "0,10 0,0 / 0,3 1.2,5.4 3,6 5,4.6 5,1.4 3,0 1.2,0.4 0,1.8",
    "c": "5,4.8 4,5.8 2.5,6 0.8,5 0,3 0.8,1 2.5,0 4,0.3 5,1.2",
    "d": "5,4.4 3.6,5.9 1.5,5.6 0,3 1.4,0.4 3.4,0.2 5,2 / 5,10 / 5,0",
    "e": "0.2,3 5,3.2 / 4.5,5 3,6 1,5.2 0,3 1,0.8 3,0 5,1",
    "f": "4.6,9 3.6,10 2.2,9 2,7 2,0 | 0,6 4,6",
    "g": "5,5 3,6 1,5.3 0,3 1,0.8 3,0.2 5,2 / 5,6 / 5,-2 3.6,-4 1.6,-4 0,-3",
    "h": "0,10 0,0 / 0,3 1.5,5.6 3.2,6 4.7,4.5 5,2.5 5,0",
    "i": "0,6 0,1.4 0.6,0.2 1.6,0.4 | 0,8.3 0.3,8.6",
    "j": "2,6 2,-2.2 1,-4 -0.8,-3.4 | 2,8.3 2.3,8.6",
    "k": "0,10 0,0 | 4.4,6 0.3,2.7 / 5,0",
    "l": "0,10 0,1.4 0.7,0.2 1.9,0.5",
    "m": "0,6 0,0 / 0,4 1.2,5.9 2.6,5.8 3.2,4 3.2,0 / 3.2,4 4.4,5.9 5.8,5.8 6.4,4 6.4,0",
    "n": "0,6 0,0 / 0,3.6 1.5,5.7 3.2,6 4.6,4.6 4.8,2.5 4.8,0",
    "o": "3,6 1,5.2 0,3 0.9,0.8 2.8,0 4.8,0.8 5.6,3 4.8,5.2 2.8,6",
    "p": "0,6 0,-4 / 0,3 1.2,5.4 3,6 5,4.6 5,1.4 3,0 1.2,0.4 0,1.8",
    "q": "5,5 3,6 1,5.3 0,3 1,0.8 3,0.2 5,2 / 5,6 / 5,-4 / 6.4,-2.4",
    "r": "0,6 0,0 / 0,3.5 1.2,5.5 3.6,5.8",
    "s": "4.4,5.1 2.6,6 0.7,5.2 0.9,3.7 3.6,2.6 4.5,1.2 2.6,0 0,0.9",
    "t": "1.8,9 1.8,1.4 2.7,0.1 4.2,0.7 | 0,6 4,6",
    "u": "0,6 0,2 1.2,0.3 3,0.2 4.8,2 / 4.8,6 / 4.8,0",
    "v": "0,6 2.4,0 / 4.8,6",
    "w": "0,6 1.7,0 / 3.4,5 / 5.1,0 / 6.8,6",
    "x": "0,6 4.6,0 | 4.6,6 0,0",
    "y": "0,6 2.5,0.3 | 5,6 1,-4",
    "z": "0,6 4.6,6 / 0,0 / 4.8,0",
    "A": "0,0 3,9 / 6,0 | 1,3.2 5,3.2",
    "B": "0,9 0,0 | 0,9 3,8.7 4.3,7 3.1,5.1 0,4.8 / 3.6,4.5 5.1,2.5 3.8,0.4 0,0",
    "C": "6,7.4 4.4,9 2,8.5 0.2,5.8 0.2,3.2 2,0.5 4.4,0 6,1.6",
    "D": "0,9 0,0 | 0,9 3,8.6 5.8,6 5.8,3 3,0.4 0,0",
    "E": "5,9 0,9 / 0,0 / 5,0 | 0,4.7 4,4.7",
    "F": "5,9 0,9 / 0,0 | 0,4.7 4,4.7",
    "G": "6,7.4 4.4,9 2,8.5 0.2,5.8 0.2,3.2 2,0.5 4.4,0.1 6,1.8 / 6,4 / 3.6,4",
    "H": "0,9 0,0 | 5.5,9 5.5,0 | 0,4.6 5.5,4.6",
    "I": "0,9 3.4,9 | 1.7,9 1.7,0 | 0,0 3.4,0",
    "J": "4.4,9 4.4,2.4 3,0.2 1.2,0.3 0,2",
    "K": "0,9 0,0 | 5,9 0.2,3.8 / 5.4,0",
    "L": "0,9 0,0 / 4.8,0",
    "M": "0,0 0.6,9 / 3.8,2.5 / 7,9 / 7.6,0",
    "N": "0,0 0,9 / 5.5,0 / 5.5,9",
    "O": "3.5,9 1.2,7.8 0,4.5 1.2,1.2 3.5,0 5.8,1.2 7,4.5 5.8,7.8 3.3,9",
    "P": "0,0 0,9 / 3.2,8.7 4.8,6.7 3.4,4.6 0,4.3",
    "Q": "3.5,9 1.2,7.8 0,4.5 1.2,1.2 3.5,0 5.8,1.2 7,4.5 5.8,7.8 3.3,9 | 4,2.6 7,-1",
    "R": "0,0 0,9 / 3.2,8.7 4.8,6.8 3.4,4.9 0.2,4.6 / 5.2,0",
    "S": "5,7.6 3,9 0.9,8 0.9,5.9 3.2,4.6 5.1,2.9 4.2,0.6 2.1,0 0,1.4",
    "T": "0,9 6,9 | 3,9 3,0",
    "U": "0,9 0,3 1.2,0.7 2.8,0 4.4,0.7 5.6,3 5.6,9",
    "V": "0,9 2.8,0 / 5.6,9",
    "W": "0,9 2,0 / 4,7 / 6,0 / 8,9",
    "X": "0,9 5.4,0 | 5.4,9 0,0",
    "Y": "0,9 2.7,4.5 / 5.4,9 | 2.7,4.5 2.7,0",
    "Z": "0,9 5.4,9 / 0,0 / 5.6,0",
    "0": "2.5,9 0.7,7.6 0,4.5 0.7,1.4 2.5,0 4.3,1.4 5,4.5 4.3,7.6 2.4,9 | 0.9,1.8 4.1,7.2",
    "1": "0,6.8 2,9 / 2,0",
    "2": "0.2,7 1.5,8.8 3.5,8.8 4.5,7 3.5,4.8 0,0 / 5,0",
    "3": "0.3,8 2,9 4.1,8.2 4.1,6 1.8,4.8 / 4.3,4 4.7,1.8 2.8,0 0,1",
    "4": "3.2,9 0,3 / 5.2,3 | 3.8,5 3.8,0",
    "5": "4.6,9 0.8,9 / 0.5,5.2 / 2.8,5.6 4.7,4 4.3,1.3 2.2,0 0,0.8",
    "6": "4.2,9 1.6,6.8 0.2,3.4 0.8,0.9 2.6,0 4.6,1.4 4.4,3.8 2.6,4.7 0.6,3.2",
    "7": "0,9 5,9 / 1.6,0 | 1.2,4.6 4.8,4.6",
    "8": "4.3,7.6 2.5,9 0.7,7.6 1.2,5.8 3.6,3.9 4.7,1.8 2.5,0 0.3,1.8 1.4,3.9 3.8,5.8 4.4,7.4",
    "9": "4.6,6.8 3.2,9 1.1,8.5 0.2,6.6 1.2,4.8 3.2,4.9 4.6,6.8 / 4.4,0",
    ".": "0,0 0.4,0.3",
    ",": "0.6,0.6 0,-1.8",
    "!": "0,9 0,3 | 0,0 0.3,0.3",
    "?": "0,7.4 1.4,9 3.5,8.6 4.2,6.8 2.3,4.6 2,2.8 | 2,0 2.3,0.3",
    "'": "0.5,9.8 0,7.4",
    "-": "0,3.2 3,3.2",
}
"""Strokes of every character but the space."""

SPACE_WIDTH = 0.75
"""Width of a space in x-heights."""
ALPHABET = "".join(STROKES) + " "
"""All characters of the corpus."""


@dataclass(frozen=True, eq=False)
class Stroke:
    """A stroke: control points (C, 2), and the matrix (P, C) from them to a curve."""

    control: Array
    curve: Array


@dataclass(frozen=True, eq=False)
class Glyph:
    """A character: strokes in writing order, and their largest x."""

    strokes: tuple[Stroke, ...]
    width: float


@cache
def glyph(character: str) -> Glyph:
    """The strokes of a character.

    >>> len(glyph("i").strokes), round(glyph("v").width, 3)
    (2, 0.8)
    """
    if character == " ":
        return Glyph((), SPACE_WIDTH)
    strokes = tuple(_stroke(part) for part in STROKES[character].split("|"))
    return Glyph(strokes, float(max(stroke.control[:, 0].max() for stroke in strokes)))


def _stroke(notation: str) -> Stroke:
    pieces = [
        np.array([[float(number) for number in point.split(",")] for point in piece.split()])
        for piece in notation.split("/")
    ]
    for number in range(1, len(pieces)):  # a piece begins at the end of the last
        pieces[number] = np.vstack([pieces[number - 1][-1:], pieces[number]])
    return Stroke(_joined(pieces) / GRID, smoothing([len(piece) for piece in pieces]))


def _joined(pieces: list[Array]) -> Array:
    """All points, without repeating those that two pieces share."""
    return np.vstack([pieces[0], *[piece[1:] for piece in pieces[1:]]])


Array = NDArray[np.float64]

FINE = 12
"""Points of the curve per pair of neighboring control points."""


def smoothing(sizes: Sequence[int]) -> Array:
    """The matrix (P, C) from control points to a curve: pieces of `sizes` points, corners between.

    Neighboring pieces share a point. Between p₁ and p₂, with their neighbors p₀ and p₃,

        p(t) = ½ (2 p₁ + (p₂ − p₀) t + (2 p₀ − 5 p₁ + 4 p₂ − p₃) t² + (3 p₁ − p₀ − 3 p₂ + p₃) t³)

    >>> line = smoothing([2]) @ np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> bool(np.allclose(line[:, 1], 2 * line[:, 0])), line[0].tolist(), line[-1].tolist()
    (True, [0.0, 0.0], [1.0, 2.0])
    """
    number = sum(sizes) - len(sizes) + 1
    blocks: list[Array] = []
    begin = 0
    for size in sizes:
        for index in range(size - 1):
            blocks.append(_segment(begin, size, index, number))
        begin += size - 1
    last = np.zeros((1, number))
    last[0, -1] = 1
    return np.vstack([*blocks, last])


def _segment(begin: int, size: int, index: int, number: int) -> Array:
    """The rows (FINE, number) from one point to the next; ends are extended as straight lines."""
    t = np.arange(FINE)[:, None] / FINE
    weights = 0.5 * np.hstack(
        [-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2]
    )
    rows = np.zeros((FINE, number))
    for offset in range(4):
        at, column = index + offset - 1, weights[:, offset]
        if at < 0:  # the point before the first: 2 p₁ − p₂
            rows[:, begin] += 2 * column
            rows[:, begin + 1] -= column
        elif at >= size:
            rows[:, begin + size - 1] += 2 * column
            rows[:, begin + size - 2] -= column
        else:
            rows[:, begin + at] += column
    return rows


def resampled(curve: Array, step: float, slowing: float = 0.0) -> Array:
    """Points (n, 2) along a curve (P, 2), `step` apart, denser where it bends.

    Points are equally spaced in time, which is length · (1 + slowing · turning).
    """
    moves = np.diff(curve, axis=0)
    lengths = np.hypot(moves[:, 0], moves[:, 1])
    time = lengths.copy()
    if slowing and len(moves) > 1:
        heading = np.arctan2(moves[:, 1], moves[:, 0])
        turning = np.abs((np.diff(heading) + np.pi) % (2 * np.pi) - np.pi)
        total = np.concatenate([turning, turning[-1:]]) + np.concatenate([turning[:1], turning])
        time += slowing * step * total / 2
    clock = np.concatenate([[0.0], np.cumsum(time)])
    number = max(2, round(clock[-1] / step) + 1)
    at = np.linspace(0.0, clock[-1], number)
    return np.stack([np.interp(at, clock, curve[:, 0]), np.interp(at, clock, curve[:, 1])], 1)
