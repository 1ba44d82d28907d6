"""Fully sharded training (FSDP2): of each weight, gradient and moment a process holds a part.

A parameter is cut along its first dimension. The weights of a Transformer layer are gathered while
it runs, and freed after it; its gradients are summed into their parts. What updates, averages and
saves weights works on the parts, which are plain tensors.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from regard.attention.mechanisms import AdaptiveSpan
from regard.config import Run
from regard.models.fast import for_training
from regard.models.transformer import Layer
from regard.training.processes.ranks import Ranks
from regard.training.processes.sharded_tensors import gathered, is_cut, own_part
from regard.training.task import Task, TrainBatch


class Objective(nn.Module):
    """A task's objective as a forward pass, during which the weights outside layers are whole."""

    def __init__(self, task: Task, run: Run, network: nn.Module) -> None:
        super().__init__()
        self.task, self.run, self.network = task, run, network

    def forward(self, batch: Any, scale: float) -> Tensor:
        """Return the loss summed over the batch's labels, times `scale`."""
        return self.task.objective(self.run, self.network, batch, scale)


class ShardedNetwork:
    """A network whose weights are cut; the network given stays whole with the leader, else not."""

    def __init__(self, task: Task, run: Run, network: nn.Module, ranks: Ranks) -> None:
        self.ranks = ranks
        self.network = for_training(deepcopy(network) if ranks.leads else network)
        self._objective = Objective(task, run, self.network)
        parameters = list(self.network.parameters())
        mesh = init_device_mesh(parameters[0].device.type, (ranks.number,))
        scalars = {p for p in parameters if not p.ndim}  # which cannot be cut
        for module in (*_units(self.network), self._objective):
            fully_shard(module, mesh=mesh, ignored_params=scalars)
        self.parameters = [p for p in self.network.parameters() if p.requires_grad]

    def loss(self, batch: TrainBatch, scale: float) -> Tensor:
        """Return this process' part of the loss; all call this, and `gradients`, together."""
        with warnings.catch_warnings():  # of a layer's cache, which training does not use
            warnings.filterwarnings("ignore", ".* returned a view tensor", UserWarning)
            # Torch divides the sum of the gradients by the number of processes.
            loss: Tensor = self._objective(batch, scale * self.ranks.number)
        return loss

    def gradients(self, loss: Tensor) -> tuple[float, list[Tensor]]:
        """Return the value of `loss`, and this process' parts of the summed gradients."""
        loss.backward()
        gradients: list[Tensor] = []
        for parameter in self.parameters:
            given, own = parameter.grad, own_part(parameter)
            gradients.append(torch.zeros_like(own) if given is None else own_part(given))
            parameter.grad = None
        number = self.ranks.number
        scalars = [n for n, p in enumerate(self.parameters) if not is_cut(p)]
        _, sums = self.ranks.summed([gradients[n] / number for n in scalars], 0.0)
        for index, total in zip(scalars, sums, strict=True):
            gradients[index] = total
        return float(loss.detach()) / number, gradients

    def norm(self, gradients: Iterable[Tensor]) -> float:
        """Return the norm of gradients of which this process has parts."""
        counted = [
            gradient
            for gradient, parameter in zip(gradients, self.parameters, strict=True)
            if is_cut(parameter) or self.ranks.leads  # scalars once
        ]
        square = sum(float(torch.linalg.vector_norm(g)) ** 2 for g in counted)
        return math.sqrt(self.ranks.summed([], square)[0])

    @torch.no_grad()
    def gather_into(self, network: nn.Module) -> None:
        """Copy all weights and buffers into the leader's whole network."""
        targets = [p for p in network.parameters() if p.requires_grad]
        for number, parameter in enumerate(self.parameters):
            weights = gathered(parameter.detach())
            if self.ranks.leads:
                targets[number].copy_(weights)
        if self.ranks.leads:
            for buffer, own in zip(network.buffers(), self.network.buffers(), strict=True):
                buffer.copy_(own)


def _units(network: nn.Module) -> list[nn.Module]:
    """Layers that are gathered one at a time: those whose weights are used only while they run."""
    layers = [module for module in network.modules() if isinstance(module, Layer)]
    uses = Counter(id(p) for layer in layers for p in layer.parameters())
    return [
        layer
        for layer in layers
        if all(uses[id(p)] == 1 for p in layer.parameters())  # no positions that layers share
        and not any(isinstance(module, AdaptiveSpan) for module in layer.modules())
    ]
