"""A tile: a block of rows and columns of the (…, Q, K) scores, for masks and biases.

Shapes: r rows of the tile (queries), c columns (keys); `batch` the leading dimensions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

Index = slice | Tensor  # rows or columns of a tile: a range or given indices


@dataclass(frozen=True)
class Tile:
    """Rows and columns of a score matrix of `num_queries` × `num_keys`."""

    rows: Index
    cols: Index
    num_queries: int
    num_keys: int
    batch: tuple[int, ...]
    device: torch.device

    @classmethod
    def whole(
        cls, num_queries: int, num_keys: int, batch: tuple[int, ...], device: torch.device
    ) -> Tile:
        """The whole matrix as one tile."""
        return cls(slice(0, num_queries), slice(0, num_keys), num_queries, num_keys, batch, device)

    @property
    def query_index(self) -> Tensor:
        """Positions of the rows, (r, 1)."""
        return _positions(self.rows, self.num_queries, self.device)[:, None]

    @property
    def key_index(self) -> Tensor:
        """Positions of the columns, (1, c)."""
        return _positions(self.cols, self.num_keys, self.device)[None, :]

    def per_batch(self, x: Tensor, name: str) -> Tensor:
        """One number per sentence, (B,), shaped to broadcast with (B, …, r, c); a scalar stays."""
        if x.ndim == 0:
            return x
        self._check_first(x, name)
        return x.reshape(x.shape[0], *[1] * (len(self.batch) + 1))

    def per_query(self, x: Tensor, name: str) -> Tensor:
        """One number per row, (r,) or (B, r), shaped to broadcast with (B, …, r, c)."""
        return self._along(x, name)[..., None]

    def per_key(self, x: Tensor, name: str) -> Tensor:
        """One number per column, (c,) or (B, c), shaped to broadcast with (B, …, r, c)."""
        return self._along(x, name)[..., None, :]

    def check_length(self, x: Tensor, name: str, expected: int, things: str) -> None:
        """Check that the last dimension of `x` has one entry for each of the queries or keys."""
        if x.shape[-1] not in (1, expected):
            raise ValueError(
                f"{name} must have one number for each of the {expected} {things}, "
                f"got shape {tuple(x.shape)}."
            )

    def check_broadcast(self, x: Tensor, name: str) -> None:
        """Check that `x` broadcasts to (*batch, Q, K)."""
        target = (*self.batch, self.num_queries, self.num_keys)
        fits = x.ndim <= len(target) and all(
            n in (1, m) for n, m in zip(reversed(x.shape), reversed(target), strict=False)
        )
        if not fits:
            raise ValueError(
                f"{name} must broadcast to the scores' shape {target}, got shape {tuple(x.shape)}."
            )

    def _along(self, x: Tensor, name: str) -> Tensor:
        if x.ndim == 1:
            return x
        self._check_first(x, name)
        return x.reshape(x.shape[0], *[1] * (len(self.batch) - 1), x.shape[1])

    def _check_first(self, x: Tensor, name: str) -> None:
        if not self.batch:
            raise ValueError(
                f"{name} must have no batch dimension, as the input has none, got {tuple(x.shape)}."
            )
        if x.shape[0] not in (1, self.batch[0]):
            raise ValueError(
                f"{name} must have one row for each of the {self.batch[0]} sentences of the batch, "
                f"got shape {tuple(x.shape)}."
            )


def take(x: Tensor, index: Index, dim: int) -> Tensor:
    """The entries of `x` at `index` along `dim`; a dimension of 1 is left to broadcast."""
    if x.shape[dim] == 1:
        return x
    if isinstance(index, Tensor):
        return x.index_select(dim, index)
    return x.narrow(dim, index.start, index.stop - index.start)


def as_BHQ(x: Tensor) -> Tensor:
    """(…, Q, D) as (B, H, Q, D): three dimensions mean one head, two also one sentence."""
    if x.ndim == 2:
        return x[None, None]
    if x.ndim == 3:
        return x[:, None]
    return x if x.ndim == 4 else x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])


def _positions(index: Index, length: int, device: torch.device) -> Tensor:
    if isinstance(index, Tensor):
        return index
    return torch.arange(index.start, index.stop, device=device)
