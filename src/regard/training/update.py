"""One update: batches in shards over threads and processes, their summed gradients, Adam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from regard.dropout import dropout_stream
from regard.training.checkpoint import RunState
from regard.training.optimizer import Optimizers
from regard.training.precision import autocast, choose_device, choose_precision
from regard.training.ranks import Ranks
from regard.training.task import Task, TrainBatch, TrainData
from regard.worker_pool import WorkerPool, cores

AnyBatch = TypeVar("AnyBatch", bound=TrainBatch)


def shards(batch: AnyBatch, number: int) -> list[AnyBatch]:
    """Cut a batch into at most `number` shards of about equal cost, each with its own padding.

    Rows are ordered by length first, so that long sentences pad only each other.
    """
    lengths = batch.sizes
    number = max(1, min(number, len(lengths)))
    order = torch.argsort(lengths, stable=True)
    total = lengths[order].cumsum(0)
    ends = torch.searchsorted(total, total[-1] * torch.arange(1, number) / number).tolist()
    return [batch.rows(rows) for rows in torch.tensor_split(order, ends) if len(rows)]


def summed_gradients(
    pool: WorkerPool,
    pieces: Sequence[AnyBatch],
    loss_of: Callable[[int, AnyBatch], Tensor],
    parameters: Sequence[Tensor],
) -> tuple[float, list[Tensor]]:
    """Return the summed loss of all shards and its gradients, summed in the shards' order."""

    def backward(numbered: tuple[int, AnyBatch]) -> tuple[Tensor, Sequence[Tensor | None]]:
        loss = loss_of(*numbered)
        return loss.detach(), torch.autograd.grad(loss, parameters, allow_unused=True)

    results = pool.map(backward, enumerate(pieces))

    def total(index: int) -> Tensor:
        parts = [g for g in (gradients[index] for _, gradients in results) if g is not None]
        if not parts:
            return torch.zeros_like(parameters[index])
        for part in parts[1:]:
            parts[0].add_(part)
        return parts[0]

    count = len(parameters)
    if len(results) == 1:
        gradients = list(map(total, range(count)))
    else:  # as many jobs as there are threads: a job for each tensor would cost more
        number = pool.num_workers
        strides = [range(start, count, number) for start in range(number)]
        sums = pool.map(lambda stride: [total(index) for index in stride], strides)
        gradients = [sums[n % number][n // number] for n in range(count)]
    return sum(float(loss) for loss, _ in results), gradients


class Updater:
    """Makes updates of a network's weights, on the device and in the precision of the settings."""

    def __init__(self, task: Task, network: nn.Module, data: TrainData, ranks: Ranks) -> None:
        self.task, self.data, self.ranks = task, data, ranks
        self.settings = settings = data.run.training
        self.device = choose_device(settings.device)
        self.precision = choose_precision(settings.precision, self.device)
        alone = ranks.number == 1 and self.device.type == "cpu"
        self.num_threads = cores(settings.threads) if alone else 1
        self.network = network.to(self.device)
        self.parameters: list[Tensor] = [p for p in network.parameters() if p.requires_grad]
        self.optimizers = Optimizers(self.parameters, settings, self.num_threads)

    def update(self, pool: WorkerPool, state: RunState, rate: float) -> tuple[float, float, int]:
        """Make one update; return the mean loss, the gradient's norm and the number of labels."""
        batches: list[TrainBatch] = []
        for _ in range(self.settings.accumulate):
            batch, state.cursor = self.data.train.take(state.cursor)
            batches.append(batch)
        count = sum(batch.answers for batch in batches)
        total, gradients = 0.0, list[Tensor]()
        for number, batch in enumerate(batches):
            loss, parts = self._gradients(pool, batch, (state.step, number), 1 / count)
            total += self.ranks.summed(parts, loss)
            if gradients:
                torch._foreach_add_(gradients, parts)
            else:
                gradients = parts
        norm = self.optimizers.step(pool, gradients, rate)
        state.step += 1
        return total, norm, count

    def _gradients(
        self, pool: WorkerPool, batch: TrainBatch, number: tuple[int, int], scale: float
    ) -> tuple[float, list[Tensor]]:
        """Return the loss of a batch and its gradients; dropout depends on `number` and seed."""
        seed = self.settings.seed
        if self.device.type != "cpu":
            torch.manual_seed(hash((seed, *number)))

        def loss_of(shard: int, piece: TrainBatch) -> Tensor:
            stream = dropout_stream(seed, *number, shard + self.ranks.rank)
            with stream, autocast(self.precision, self.device):
                return self.task.objective(self.data.run, self.network, piece, scale)

        single = self.num_threads == 1
        pieces = [batch.to(self.device)] if single else shards(batch, self.num_threads)
        return summed_gradients(pool, pieces, loss_of, self.parameters)
