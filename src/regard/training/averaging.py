"""Averages of weights: a running mean, or the mean of the last checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.config import TrainingSettings
from regard.training.checkpoint import read_weights

EVERY = 4  # updates between two steps of the running mean: nearly the same, a quarter of the work


class RunningMean:
    """m ← d·m + (1 − d)·w with d = min(decay, (1 + n) / (10 + n)) at update n."""

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self.decay = decay
        self.mean = [w.detach().clone() for w in weights]

    def update(self, weights: Sequence[Tensor], step: int) -> None:
        """Add the weights after update number `step`, counted from 1."""
        if step % EVERY and step >= EVERY:
            return
        decay = min(self.decay, (1 + step) / (10 + step)) ** (EVERY if step >= EVERY else 1)
        torch._foreach_lerp_(self.mean, [w.detach() for w in weights], 1 - decay)


def mean_weights(files: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of several sets of weights of one model."""
    return {
        name: (sum((f[name].double() for f in files[1:]), files[0][name].double()) / len(files)).to(
            files[0][name].dtype
        )
        for name in files[0]
    }


class Averaging:
    """The average of a network's weights that `training.average` names."""

    def __init__(
        self,
        network: nn.Module,
        parameters: list[Tensor],
        settings: TrainingSettings,
        folder: Path | None,
    ) -> None:
        self.network, self.parameters = network, parameters
        ema = settings.average == "ema"
        self.running = RunningMean(parameters, settings.ema_decay) if ema else None
        self.num_checkpoints = settings.average_last if settings.average == "checkpoints" else 0
        self._folder = folder

    @property
    def mean(self) -> list[Tensor] | None:
        """The running mean, for checkpoints."""
        return self.running.mean if self.running else None

    def update(self, step: int) -> None:
        """Add the weights after an update."""
        if self.running:
            self.running.update(self.parameters, step)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Give the network its averaged weights inside the context."""
        original = [p.detach().clone() for p in self.parameters]
        self.apply()
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, original)

    @torch.no_grad()
    def apply(self) -> None:
        """Replace the network's weights by their average."""
        if self.running:
            torch._foreach_copy_(self.parameters, self.running.mean)
        elif self.num_checkpoints and self._folder:
            files = read_weights(self._folder, self.num_checkpoints)
            mean = mean_weights(files) if files else {}
            for name, parameter in self.network.named_parameters():
                if name in mean:
                    parameter.copy_(mean[name])
