"""Adam, AdamW and Muon, the parameters shared out among the cores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from regard.attention.layers.position import Learned
from regard.config import TrainingSettings
from regard.training.optimizers.adam import Adam, AdamW
from regard.training.optimizers.muon import Muon, suits
from regard.training.optimizers.optimizer import Optimizer
from regard.training.processes.sharded_tensors import own_part
from regard.worker_pool import WorkerPool


class Optimizers:
    """The optimizers of a network's trained parameters; each core has its own parameters.

    If the network is cut over processes, they update the parts of this one; `norm` is then that of
    the gradients of all.
    """

    def __init__(
        self,
        network: nn.Module,
        settings: TrainingSettings,
        number: int,
        norm: Callable[[Sequence[Tensor]], float] | None = None,
    ) -> None:
        self._norm = norm
        parameters = [p for p in network.parameters() if p.requires_grad]
        self._parameters = [own_part(p) for p in parameters]
        own = dict(zip(map(id, parameters), self._parameters, strict=True))
        matrices = _matrices(network) if settings.optimizer == "muon" else set()
        self._parts = parts([_cost(p, matrices, settings) for p in parameters], number)
        self._each = [
            _optimizers([parameters[n] for n in part], own, matrices, settings)
            for part in self._parts
        ]
        self._clip = settings.clip
        owner = {
            id(part): optimizer
            for optimizers in self._each
            for optimizer in optimizers
            for group in optimizer.param_groups
            for part in group["params"]
        }
        self._owner = {name: (owner[id(part)], part) for name, part in own.items()}

    def of(self, parameter: Tensor) -> Optimizer:
        """Return the optimizer of a parameter of the network."""
        return self._owner[id(parameter)][0]

    def state(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return the moments of a parameter, or of this process' part of it."""
        optimizer, part = self._owner[id(parameter)]
        return optimizer.state.get(part, {})

    def set_state(self, parameter: Tensor, moments: dict[str, Tensor]) -> None:
        """Replace the moments of a parameter."""
        optimizer, part = self._owner[id(parameter)]
        optimizer.state[part] = moments

    def initial_state(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return the moments of a parameter before its first update."""
        optimizer, part = self._owner[id(parameter)]
        return optimizer.initial_state(part)

    def step(self, pool: WorkerPool, gradients: Sequence[Tensor], rate: float) -> float:
        """Clip the gradients and update the parameters; return the norm before clipping.

        If that is not finite, nothing is updated.
        """

        def norm(part: list[int]) -> float:
            norms = torch._foreach_norm([gradients[index] for index in part])
            return float(torch.linalg.vector_norm(torch.stack(norms)))

        total = self._norm(gradients) if self._norm else math.hypot(*pool.map(norm, self._parts))
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


def _cost(parameter: Tensor, matrices: set[int], settings: TrainingSettings) -> int:
    """Time of a parameter's update, about: 1 for each element that Adam updates."""
    count = parameter.numel()
    if id(parameter) not in matrices:
        return count
    return count * (1 + min(parameter.shape[-2:]) // (4 * settings.muon_period))


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
    parameters: Sequence[Tensor],
    own: Mapping[int, Tensor],
    matrices: set[int],
    settings: TrainingSettings,
) -> list[Optimizer]:
    """Muon for the matrices, Adam for the rest; no weight decay for biases and norms.

    They update the `own` parts of the parameters, which are by the parameters' identities.
    """
    rate, decay = settings.learning_rate, settings.weight_decay
    orthogonal = [p for p in parameters if id(p) in matrices]
    others = [p for p in parameters if id(p) not in matrices]
    optimizers: list[Optimizer] = []
    if orthogonal:
        factor, period = settings.muon_factor, settings.muon_period
        orthogonal.sort(key=lambda p: (p.numel(), p.shape))  # each turn has about as much work
        optimizers.append(
            Muon(
                [own[id(p)] for p in orthogonal],
                rate,
                decay,
                factor=factor,
                period=period,
                wholes=orthogonal,
            )
        )
    if others:
        groups = [
            {"params": [own[id(p)] for p in others if p.ndim > 1], "weight_decay": decay},
            {"params": [own[id(p)] for p in others if p.ndim <= 1], "weight_decay": 0.0},
        ]
        kind = Adam if settings.optimizer == "adam" else AdamW
        optimizers.append(kind(groups, rate, (settings.beta1, settings.beta2), eps=1e-9))
    return optimizers
