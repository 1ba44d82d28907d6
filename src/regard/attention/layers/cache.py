"""Caches of decoding: keys and values of earlier positions, passed in and returned."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor


class Cache(Protocol):
    """The state of attention between decoding steps; a mechanism may have its own."""

    @property
    def length(self) -> int:
        """The number of positions read."""
        ...

    def select(self, rows: Tensor) -> Self:
        """The cache of chosen sentences of the batch, in that order (beam search reorders)."""
        ...


class KeyValue(NamedTuple):
    """Projected keys (B, G, T, D) and values (B, G, T, Dv) of T positions and G key/value heads."""

    key: Tensor
    value: Tensor

    @property
    def length(self) -> int:
        """T, the number of positions."""
        return self.key.shape[-2]

    def extended(self, key: Tensor, value: Tensor) -> KeyValue:
        """With new keys and values at the end."""
        return KeyValue(torch.cat([self.key, key], -2), torch.cat([self.value, value], -2))

    def select(self, rows: Tensor) -> KeyValue:
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))
