"""Averages of weights: a running one, or that of several checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

EVERY = 4  # updates between two steps of the running mean: nearly the same, a quarter of the work


class RunningMean:
    """m ← d·m + (1 − d)·w, d shorter in the beginning: min(decay, (1 + n) / (10 + n))."""

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self.decay = decay
        self.mean = [w.detach().clone() for w in weights]

    def update(self, weights: Sequence[Tensor], step: int) -> None:
        """Take in the weights after update number `step`, from 1."""
        if step % EVERY and step >= EVERY:
            return
        decay = min(self.decay, (1 + step) / (10 + step)) ** (EVERY if step >= EVERY else 1)
        torch._foreach_lerp_(self.mean, [w.detach() for w in weights], 1 - decay)


def mean_weights(files: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several sets of weights of one model."""
    return {
        name: (sum((f[name].double() for f in files[1:]), files[0][name].double()) / len(files)).to(
            files[0][name].dtype
        )
        for name in files[0]
    }
