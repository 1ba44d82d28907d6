"""Smooth curves through points (Catmull and Rom 1974), and points along them at a pen's speed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FINE = 12
"""Points of a fine curve between two of those it passes."""


def smoothing(sizes: Sequence[int]) -> Array:
    """The matrix (P, C) from points to a fine curve: pieces of `sizes` points, corners between.

    Neighbouring pieces share a point. Between p₁ and p₂, with their neighbours p₀ and p₃,

        p(t) = ½ (2 p₁ + (p₂ − p₀) t + (2 p₀ − 5 p₁ + 4 p₂ − p₃) t² + (3 p₁ − p₀ − 3 p₂ + p₃) t³)

    >>> line = smoothing([2]) @ np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> bool(np.allclose(line[:, 1], 2 * line[:, 0])), line[0].tolist(), line[-1].tolist()
    (True, [0.0, 0.0], [1.0, 2.0])
    """
    number = sum(sizes) - len(sizes) + 1
    blocks: list[Array] = []
    begin = 0
    for size in sizes:
        for place in range(size - 1):
            blocks.append(_between(begin, size, place, number))
        begin += size - 1
    last = np.zeros((1, number))
    last[0, -1] = 1
    return np.vstack([*blocks, last])


def _between(begin: int, size: int, place: int, number: int) -> Array:
    """The rows (FINE, number) from one point to the next; ends go on as straight lines."""
    t = np.arange(FINE)[:, None] / FINE
    weights = 0.5 * np.hstack(
        [-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2]
    )
    rows = np.zeros((FINE, number))
    for offset in range(4):
        at, column = place + offset - 1, weights[:, offset]
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
    """Points (n, 2) along a fine curve (P, 2), `step` apart, nearer to each other where it bends.

    The pen's time is length · (1 + slowing · turning), and a point is put down at equal times.
    """
    moves = np.diff(curve, axis=0)
    lengths = np.hypot(moves[:, 0], moves[:, 1])
    time = lengths.copy()
    if slowing and len(moves) > 1:
        heading = np.arctan2(moves[:, 1], moves[:, 0])
        turning = np.abs((np.diff(heading) + np.pi) % (2 * np.pi) - np.pi)
        share = np.concatenate([turning, turning[-1:]]) + np.concatenate([turning[:1], turning])
        time += slowing * step * share / 2
    clock = np.concatenate([[0.0], np.cumsum(time)])
    number = max(2, round(clock[-1] / step) + 1)
    at = np.linspace(0.0, clock[-1], number)
    return np.stack([np.interp(at, clock, curve[:, 0]), np.interp(at, clock, curve[:, 1])], 1)
