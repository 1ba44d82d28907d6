"""Smooth curves through points (Catmull and Rom 1974), resampled at the speed of a pen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
