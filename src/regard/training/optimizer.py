"""Adam, AdamW and Muon, the parameters shared out among the cores; the learning rate's schedule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.layers.position import Learned
from regard.config import TrainingSettings
from regard.training.muon import Muon, suits
from regard.worker_pool import WorkerPool

CYCLES = 4  # a cycle after the schedule's end is this part of the schedule


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
        """Clip the gradients and update the parameters; return the norm before clipping."""

        def norm(part: list[int]) -> float:
            norms = torch._foreach_norm([gradients[index] for index in part])
            return float(torch.linalg.vector_norm(torch.stack(norms)))

        total = math.hypot(*pool.map(norm, self._parts))
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


class ScheduleProgress(NamedTuple):
    """Position in the schedule: updates made, and the share of it (0 to 1) that is over."""

    step: int
    share: float


def learning_rate(settings: TrainingSettings, progress: ScheduleProgress) -> float:
    """Return the rate of the update after `progress`.

    It rises linearly over the warm-up (in updates, or below 1 a share of the run), then falls by
    1/√step, along a half cosine or linearly to zero, or is constant. A run that continues after
    `schedule_steps` has shorter cycles, each falling linearly from `restart_rate` to zero.

    >>> run = TrainingSettings(steps=100, learning_rate=1.0, warmup=10, schedule="linear")
    >>> [round(learning_rate(run, ScheduleProgress(n, n / 100)), 2) for n in (0, 9, 55, 99)]
    [0.1, 1.0, 0.5, 0.01]
    """
    planned = settings.schedule_steps
    if planned and settings.restart_rate and progress.step >= planned:
        cycle = max(1, planned // CYCLES)
        left = 1 - (progress.step - planned) % cycle / cycle
        return settings.learning_rate * settings.restart_rate * left
    by_share = settings.warmup < 1
    begun = progress.share / settings.warmup if by_share and settings.warmup else 1.0
    if not by_share:
        begun = (progress.step + 1) / settings.warmup
    if begun < 1:  # never exactly zero, or the first update by share would do nothing
        return settings.learning_rate * max(begun, 1e-3)
    return settings.learning_rate * _after(settings, progress, begun, by_share)


def _after(
    settings: TrainingSettings, progress: ScheduleProgress, begun: float, by_share: bool
) -> float:
    """Return the factor of the rate after the warm-up; `begun` is in units of the warm-up."""
    if settings.schedule == "constant":
        return 1.0
    if settings.schedule == "inverse_sqrt":
        return 1 / math.sqrt(begun)
    start = settings.warmup if by_share else _share_of_warmup(settings, progress)
    left = 1 - min(1.0, max(0.0, (progress.share - start) / max(1e-9, 1 - start)))
    return left if settings.schedule == "linear" else (1 - math.cos(math.pi * left)) / 2


def _share_of_warmup(settings: TrainingSettings, progress: ScheduleProgress) -> float:
    """Estimate the share of the run that a warm-up in updates takes."""
    return min(1.0, progress.share * settings.warmup / (progress.step + 1))
