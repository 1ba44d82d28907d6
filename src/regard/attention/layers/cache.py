"""The keys and values of what was read before, passed in and handed back."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor


class Cache(Protocol):
    """What attention keeps between words; a mechanism may have its own."""

    @property
    def length(self) -> int:
        """How many positions have been read."""
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
        """T: how many positions are held."""
        return self.key.shape[-2]

    def extended(self, key: Tensor, value: Tensor) -> KeyValue:
        """These and, after them, those."""
        return KeyValue(torch.cat([self.key, key], -2), torch.cat([self.value, value], -2))

    def select(self, rows: Tensor) -> KeyValue:
        """The cache of chosen sentences of the batch, in that order (beam search reorders)."""
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))
