"""Adam and AdamW, fused where torch has it so, the parameters shared out among the cores."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config import TrainingSettings
from regard.training.shards import Crew


class Optimizers:
    """One optimiser for each core, each with its own parameters."""

    def __init__(
        self, parameters: Sequence[Tensor], settings: TrainingSettings, number: int
    ) -> None:
        self._places = parts([p.numel() for p in parameters], number)
        self._parameters = parameters
        self._each = [_optimizer([parameters[n] for n in part], settings) for part in self._places]
        self._clip = settings.clip
        self._owner = {
            id(parameters[place]): optimizer
            for part, optimizer in zip(self._places, self._each, strict=True)
            for place in part
        }

    def of(self, parameter: Tensor) -> torch.optim.Optimizer:
        """The optimiser that has a parameter."""
        return self._owner[id(parameter)]

    def step(self, crew: Crew, gradients: Sequence[Tensor], rate: float) -> float:
        """One update by gradients, scaled to their largest norm; the norm they came with."""

        def norm(part: list[int]) -> float:
            norms = torch._foreach_norm([gradients[place] for place in part])
            return float(torch.linalg.vector_norm(torch.stack(norms)))

        total = math.hypot(*crew.map(norm, self._places))
        scale = self._clip / total if self._clip and total > self._clip else 1.0

        def update(numbered: tuple[int, list[int]]) -> None:
            number, part = numbered
            if scale != 1.0:
                torch._foreach_mul_([gradients[place] for place in part], scale)
            for place in part:
                self._parameters[place].grad = gradients[place]
            for group in self._each[number].param_groups:
                group["lr"] = rate
            self._each[number].step()

        crew.map(update, enumerate(self._places))
        return total


def parts(sizes: Sequence[int], number: int) -> list[list[int]]:
    """Places shared out into at most `number` parts of about equal size.

    >>> parts([5, 1, 4, 2], 2)
    [[0, 1], [2, 3]]
    """
    made: list[list[int]] = [[] for _ in range(max(1, min(number, len(sizes))))]
    totals = [0] * len(made)
    for place in sorted(range(len(sizes)), key=lambda n: (-sizes[n], n)):
        lightest = totals.index(min(totals))
        made[lightest].append(place)
        totals[lightest] += sizes[place]
    return [sorted(part) for part in made]


def _optimizer(parameters: Sequence[Tensor], settings: TrainingSettings) -> torch.optim.Optimizer:
    """Weight decay for matrices; none for biases and norms."""
    groups = [
        {
            "params": [p for p in parameters if p.ndim > 1],
            "weight_decay": settings.weight_decay,
        },
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    return kind(
        groups,
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=1e-9,
        fused=parameters[0].device.type in ("cpu", "cuda"),
    )
