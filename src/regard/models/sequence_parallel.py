"""A sentence split over processes: each holds an equal, consecutive part of its tokens.

Only while a model with ring attention is trained under several processes (`torchrun`). Reading and
writing with a trained model is whole in every process.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch import distributed as dist
from torch.nn import functional as F

from regard.attention.mechanisms.ring import Ring, gathered
from regard.models.batch import PAD


@dataclass(frozen=True)
class Split:
    """The part of process `rank` of `ranks`."""

    rank: int = 0
    ranks: int = 1

    def size(self, length: int) -> int:
        """Tokens of a sentence of `length` that each process holds, padding included."""
        return -(-length // self.ranks)

    def offset(self, length: int) -> int:
        """Where this process's part begins."""
        return self.rank * self.size(length)

    def own(self, tokens: Tensor) -> Tensor:
        """The part of tokens (B, T), padded so that all parts are equal.

        >>> import torch
        >>> Split(1, 2).own(torch.tensor([[5, 6, 7]]))
        tensor([[7, 0]])
        """
        if self.ranks == 1:
            return tokens
        size = self.size(tokens.shape[1])
        padded = F.pad(tokens, (0, size * self.ranks - tokens.shape[1]), value=PAD)
        return padded[:, self.rank * size : (self.rank + 1) * size]


WHOLE = Split()


def split_of(model: nn.Module) -> Split:
    """How the model's sentences are split now: not at all, but for rings in training."""
    if not model.training or not dist.is_available() or not dist.is_initialized():
        return WHOLE
    if not any(isinstance(part, Ring) for part in model.modules()):
        return WHOLE
    return Split(dist.get_rank(), dist.get_world_size())


def whole(x: Tensor, split: Split, length: int) -> Tensor:
    """All processes' parts x (B, t, D) together, (B, length, D), where gradients flow back."""
    if split.ranks == 1:
        return x
    together: Tensor = gathered(x, 1)
    return together[:, :length]


def own_labels(model: nn.Module, labels: Tensor) -> Tensor:
    """The labels (B, T) that this process is asked for."""
    return split_of(model).own(labels)
