"""How far the source position moves from one target word to the next.

    p(i | i', I) = c(i - i') / Σ_k c(k - i'),   k = 0 … I - 1

Vogel, Ney and Tillmann (1996), "HMM-based word alignment in statistical translation". Distances
over `REACH` share one weight. A sentence begins with a jump from -1 and ends with one to I.

Shapes: B sentences, I source positions (padded), J target positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

REACH = 10
"""The largest distance with a weight of its own."""
NUM_FAR = 40
"""The number of distances that the weight of the far ones is divided by."""
DENSE = 128
"""The most positions for which a jump is a product with a matrix."""
SMOOTHING = 1.0
"""Added to the count of every distance."""


class Jumps:
    """The weights c of distances.

    near  (2 · REACH + 1,) from -REACH to REACH
    far   of every larger distance
    """

    def __init__(self, near: NDArray[np.float64] | None = None, far: float = 1e-3) -> None:
        distance = np.arange(-REACH, REACH + 1)
        self.near = np.exp(-np.abs(distance - 1) / 2) + far if near is None else near
        self.far = far

    def weights(self, distance: NDArray[np.integer]) -> Floats:
        """The weights of distances."""
        near = self.near[np.clip(distance, -REACH, REACH) + REACH]
        return np.where(np.abs(distance) > REACH, self.far, near).astype(np.float32)

    def inverse_totals(self, num_positions: int, lengths: NDArray[np.integer]) -> Floats:
        """(B, I) 1 / Σ_k c(k - i') over a sentence's own positions k."""
        every = self.weights(np.arange(-num_positions, num_positions + 1)).astype(np.float64)
        until = np.concatenate([[0.0], np.cumsum(every)])
        position = np.arange(num_positions)
        first = until[num_positions - position]
        last = until[lengths[:, None] - position + num_positions]
        return np.asarray(1.0 / np.maximum(last - first, 1e-30), np.float32)

    def first(self, num_positions: int, lengths: NDArray[np.integer]) -> Floats:
        """(B, I) the probability of each position for the first target word."""
        position = np.arange(num_positions)
        weights = self.weights(position + 1) * (position < lengths[:, None])
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)

    def last(self, num_positions: int, lengths: NDArray[np.integer]) -> Floats:
        """(B, I) the weight of the jump from each position to the end."""
        return self.weights(lengths[:, None] - np.arange(num_positions))

    def learned(self, counts: NDArray[np.float64], num_far: float) -> Jumps:
        """The weights of expected counts of each distance, and of all far ones together."""
        total = counts.sum() + num_far + SMOOTHING * (len(counts) + 1)
        near = (counts + SMOOTHING) / total
        return Jumps(near, min(float((num_far + SMOOTHING) / total / NUM_FAR), float(near.min())))


class Spread:
    """The sum over jumps into each position, or out of it: s @ C or s @ Cᵀ.

    Up to `DENSE` positions by a product with C; beyond, by one addition for each near distance, for
    all far jumps have the same weight.
    """

    def __init__(self, jumps: Jumps, num_positions: int) -> None:
        self.jumps = jumps
        position = np.arange(num_positions)
        self.matrix: Floats | None = None
        if num_positions <= DENSE:
            self.matrix = jumps.weights(position - position[:, None])

    def into(self, values_BI: Floats) -> Floats:
        """Σ_i' values(i') c(i - i')."""
        if self.matrix is not None:
            return np.asarray(values_BI @ self.matrix)
        return self._banded(values_BI, 1)

    def out_of(self, values_BI: Floats) -> Floats:
        """Σ_i values(i) c(i - i')."""
        if self.matrix is not None:
            return np.asarray(values_BI @ self.matrix.T)
        return self._banded(values_BI, -1)

    def _banded(self, values: Floats, sign: int) -> Floats:
        result = np.empty_like(values)
        result[:] = self.jumps.far * values.sum(axis=1, keepdims=True)
        for number, weight in enumerate(self.jumps.near):
            distance = sign * (number - REACH)
            to, origin = shifted(values.shape[1], distance)
            result[:, to] += np.float32(weight - self.jumps.far) * values[:, origin]
        return result


def shifted(num_positions: int, distance: int) -> tuple[slice, slice]:
    """The positions that a jump of this distance may reach, and those that it comes from.

    >>> shifted(5, 2), shifted(5, -1)
    ((slice(2, 5, None), slice(0, 3, None)), (slice(0, 4, None), slice(1, 5, None)))
    """
    distance = max(-num_positions, min(num_positions, distance))
    first, last = max(0, distance), num_positions + min(0, distance)
    return slice(first, last), slice(first - distance, last - distance)
