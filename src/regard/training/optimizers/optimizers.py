"""Adam, AdamW and Muon, the parameters shared out among the cores."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.attention.layers.position import Learned
from regard.config import TrainingSettings
from regard.training.optimizers.muon import Muon, suits
from regard.worker_pool import WorkerPool


class Optimizers:
    """The optimizers of a network's trained parameters; each core has its own parameters."""

    def __init__(self, network: nn.Module, settings: TrainingSettings, number: int) -> None:
        self._parameters = parameters = [p for p in network.parameters() if p.requires_grad]
        self._parts = parts([p.numel() for p in parameters], number)
        matrices = _matrices(network) if settings.optimizer == "muon" else set()
        self._each = [
            _optimizers([parameters[n] for n in part], matrices, settings) for part in self._parts
        ]
        self._clip = settings.clip
        self._owner = {
            id(parameter): optimizer
            for optimizers in self._each
            for optimizer in optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }

    def of(self, parameter: Tensor) -> torch.optim.Optimizer:
        """Return the optimizer of a parameter."""
        return self._owner[id(parameter)]

    def step(self, pool: WorkerPool, gradients: Sequence[Tensor], rate: float) -> float:
        """Clip the gradients and update the parameters; return the norm before clipping.

        If that is not finite, nothing is updated.
        """

        def norm(part: list[int]) -> float:
            norms = torch._foreach_norm([gradients[index] for index in part])
            return float(torch.linalg.vector_norm(torch.stack(norms)))

        total = math.hypot(*pool.map(norm, self._parts))
        if not math.isfinite(total):
            return total
        scale = self._clip / total if self._clip and total > self._clip else 1.0

        def update(numbered: tuple[int, list[int]]) -> None:
            number, part = numbered
            if scale != 1.0:
                torch._foreach_mul_([gradients[index] for index in part], scale)
            for index in part:
                self._parameters[index].grad = gradients[index]
            for optimizer in self._each[number]:
                for group in optimizer.param_groups:
                    group["lr"] = rate
                optimizer.step()

        pool.map(update, enumerate(self._parts))
        return total


def parts(sizes: Sequence[int], number: int) -> list[list[int]]:
    """Distribute indices over at most `number` parts of about equal size.

    >>> parts([5, 1, 4, 2], 2)
    [[0, 1], [2, 3]]
    """
    made: list[list[int]] = [[] for _ in range(max(1, min(number, len(sizes))))]
    totals = [0] * len(made)
    for index in sorted(range(len(sizes)), key=lambda n: (-sizes[n], n)):
        lightest = totals.index(min(totals))
        made[lightest].append(index)
        totals[lightest] += sizes[index]
    return [sorted(part) for part in made]


def _matrices(network: nn.Module) -> set[int]:
    """Identities of the parameters that Muon updates: matrices, but no table of vectors."""
    output = getattr(network, "output", None)
    tables = [
        module
        for module in network.modules()
        if module is output or isinstance(module, nn.Embedding | Learned)
    ]
    excluded = {id(p) for table in tables for p in table.parameters()}
    return {id(p) for p in network.parameters() if suits(p)} - excluded


def _optimizers(
    parameters: Sequence[Tensor], matrices: set[int], settings: TrainingSettings
) -> list[torch.optim.Optimizer]:
    """Muon for the matrices, Adam for the rest; no weight decay for biases and norms."""
    rate, decay = settings.learning_rate, settings.weight_decay
    orthogonal = [p for p in parameters if id(p) in matrices]
    others = [p for p in parameters if id(p) not in matrices]
    optimizers: list[torch.optim.Optimizer] = []
    if orthogonal:
        factor, period = settings.muon_factor, settings.muon_period
        orthogonal.sort(key=lambda p: (p.numel(), p.shape))  # each turn has about as much work
        optimizers.append(Muon(orthogonal, rate, decay, factor=factor, period=period))
    if others:
        groups = [
            {"params": [p for p in others if p.ndim > 1], "weight_decay": decay},
            {"params": [p for p in others if p.ndim <= 1], "weight_decay": 0.0},
        ]
        kind = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.AdamW
        optimizers.append(
            kind(
                groups,
                lr=rate,
                betas=(settings.beta1, settings.beta2),
                eps=1e-9,
                fused=parameters[0].device.type in ("cpu", "cuda"),
            )
        )
    return optimizers
