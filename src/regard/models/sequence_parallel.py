"""Sequence parallelism: every process holds an equal, consecutive shard of a sentence's tokens.

Used only while a model with ring attention is trained by several processes (`torchrun`); inference
is not sharded.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch import distributed as dist
from torch.nn import functional as F

from regard.attention.mechanisms.ring import Ring, gathered
from regard.text import PAD


@dataclass(frozen=True)
class SequenceShard:
    """The shard of process `rank` of `num_ranks`."""

    rank: int = 0
    num_ranks: int = 1

    def size(self, length: int) -> int:
        """Tokens per process of a sentence of `length`, padding included."""
        return -(-length // self.num_ranks)

    def offset(self, length: int) -> int:
        """Position of this process's first token."""
        return self.rank * self.size(length)

    def local(self, tokens: Tensor) -> Tensor:
        """Return this process's part of tokens (B, T), padded so that all parts are equal.

        >>> import torch
        >>> SequenceShard(1, 2).local(torch.tensor([[5, 6, 7]]))
        tensor([[7, 0]])
        """
        if self.num_ranks == 1:
            return tokens
        size = self.size(tokens.shape[1])
        tokens = F.pad(tokens, (0, size * self.num_ranks - tokens.shape[1]), value=PAD)
        return tokens[:, self.rank * size : (self.rank + 1) * size]


def shard_of(model: nn.Module) -> SequenceShard:
    """Return the current shard: the whole sentence, except in distributed training with rings."""
    distributed = model.training and dist.is_available() and dist.is_initialized()
    if distributed and any(isinstance(module, Ring) for module in model.modules()):
        return SequenceShard(dist.get_rank(), dist.get_world_size())
    return SequenceShard()


def gather_sequence(x: Tensor, shard: SequenceShard, length: int) -> Tensor:
    """Gather all processes' parts x (B, t, D) as (B, length, D), differentiably."""
    if shard.num_ranks == 1:
        return x
    sequence: Tensor = gathered(x, 1)
    return sequence[:, :length]


def local_labels(model: nn.Module, labels: Tensor) -> Tensor:
    """Return this process's part of the labels (B, T)."""
    return shard_of(model).local(labels)
