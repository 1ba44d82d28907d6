"""One update: batches in shards over threads and processes, their summed gradients, Adam."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn

from regard.allocator import keep_freed_memory
from regard.config.processes import has_ring
from regard.cores import cores
from regard.dropout import dropout_stream
from regard.models.fast import for_training
from regard.models.fast.lookups import Lookup, collected_lookups, gradients_of
from regard.models.sequence_parallel import SequenceParallel, SequenceShard
from regard.training.checkpoint import DataCursor, RunState
from regard.training.gradient_processes import GradientProcesses, ShardGradients
from regard.training.optimizers.optimizers import Optimizers
from regard.training.precision import autocast, choose_device, choose_precision
from regard.training.processes.ranks import Ranks
from regard.training.processes.sharded_tensors import own_part
from regard.training.task import Task, TrainBatch, TrainData
from regard.worker_pool import WorkerPool, can_fork

if TYPE_CHECKING:
    from regard.training.processes.sharded_network import ShardedNetwork

AnyBatch = TypeVar("AnyBatch", bound=TrainBatch)


def shards(batch: AnyBatch, number: int) -> list[AnyBatch]:
    """Cut a batch into at most `number` shards of about equal cost, each with its own padding.

    Rows are ordered by length first, so that long sentences pad only each other.
    """
    costs = batch.costs
    number = max(1, min(number, len(costs)))
    order = torch.argsort(costs, stable=True)
    total = costs[order].cumsum(0)
    even = total[-1] * torch.arange(1, number) / number
    after = torch.searchsorted(total, even).clamp_(max=len(total) - 1)
    before = torch.where(after > 0, total[after - 1], 0)
    nearer = total[after] - even <= even - before  # the first shards get the row in the middle
    ends = (after + nearer).tolist()
    return [batch.rows(rows) for rows in torch.tensor_split(order, ends) if len(rows)]


def shard_gradients(
    loss: Tensor, parameters: Sequence[Tensor], lookups: Sequence[Lookup] = ()
) -> ShardGradients:
    """Return a shard's loss and its gradients."""
    return ShardGradients(float(loss.detach()), gradients_of(loss, parameters, lookups))


def summed_gradients(
    pool: WorkerPool, results: Sequence[ShardGradients], parameters: Sequence[Tensor]
) -> tuple[float, list[Tensor]]:
    """Return the summed loss of all shards and its gradients, summed in the shards' order.

    The first shard's gradients are changed in place.
    """

    def total(index: int) -> Tensor:
        first, *others = (shard.gradients[index] for shard in results)
        parts = [part for part in others if part is not None]
        result = torch.zeros_like(parameters[index]) if first is None else first
        for part in parts:
            result.add_(part)
        return result

    count = len(parameters)
    if len(results) == 1:
        gradients = list(map(total, range(count)))
    else:  # as many jobs as there are threads: a job for each tensor would cost more
        number = pool.num_workers
        strides = [range(start, count, number) for start in range(number)]
        sums = pool.map(lambda stride: [total(index) for index in stride], strides)
        gradients = [sums[n % number][n // number] for n in range(count)]
    return sum(shard.loss for shard in results), gradients


class Updater:
    """Makes updates of a network's weights, on the device and in the precision of the settings."""

    def __init__(self, task: Task, network: nn.Module, data: TrainData, ranks: Ranks) -> None:
        self.task, self.data, self.ranks = task, data, ranks
        self.settings = settings = data.run.training
        self.device = choose_device(settings.device)
        self.precision = _agreed_precision(ranks, settings.precision, self.device)
        self.splits_rows = ranks.number > 1 and not has_ring(data.run.model)
        alone = ranks.number == 1 and self.device.type == "cpu"
        self.num_threads = cores(settings.threads) if alone else 1
        self.network = network.to(self.device)
        self._objective_network = self._for_training(self.network)
        ranks.copy_leader([*network.parameters(), *network.buffers()])
        self.sharded: ShardedNetwork | None = None
        if self.splits_rows and settings.shard == "fsdp":
            from regard.training.processes.sharded_network import (
                ShardedNetwork,  # which takes long to import
            )

            self.sharded = ShardedNetwork(task, data.run, self.network, ranks)
        trained = (p for p in self.trained_network.parameters() if p.requires_grad)
        self.parameters: list[Tensor] = [own_part(p) for p in trained]
        num_parts = max(self.num_threads, ranks.number)  # Muon's turns are those of as many threads
        norm = self.sharded.norm if self.sharded else None
        self.optimizers = Optimizers(self.trained_network, settings, num_parts, norm)
        self._processes: GradientProcesses | None = None

    def _for_training(self, network: nn.Module) -> nn.Module:
        """Return what the objective runs: the network made faster, or its shard of sentences."""
        fast = for_training(network)
        if self.ranks.number == 1 or self.splits_rows:
            return fast
        shard = SequenceShard(self.ranks.rank, self.ranks.number)
        return SequenceParallel(fast, shard)

    @property
    def trained_network(self) -> nn.Module:
        """The network that is updated; it is not `network` if that is cut over the processes."""
        return self.sharded.network if self.sharded else self.network

    @contextmanager
    def workers(self, cursor: DataCursor) -> Iterator[WorkerPool]:
        """Open the threads and processes that `update` needs, from the batch at a cursor on."""
        keep_freed_memory()
        with ExitStack() as stack:
            pool = stack.enter_context(WorkerPool(self.num_threads))
            if self.num_threads > 1 and can_fork():
                self.data.train.take(cursor)  # else each process would cut the epoch into batches
                self._processes = stack.enter_context(
                    GradientProcesses(self.num_threads - 1, self.parameters, self._shard_of_batch)
                )
                stack.callback(setattr, self, "_processes", None)
            yield pool

    def update(self, pool: WorkerPool, state: RunState, rate: float) -> tuple[float, float, int]:
        """Make one update; return the mean loss, the gradient's norm and the number of labels.

        If loss or norm is not finite, weights and moments stay as they are.
        """
        batches: list[tuple[DataCursor, TrainBatch]] = []
        for _ in range(self.settings.accumulate):
            cursor = state.cursor
            batch, state.cursor = self.data.train.take(cursor)
            batches.append((cursor, batch))
        count = sum(batch.answers for _, batch in batches)
        total, gradients = 0.0, list[Tensor]()
        for number, (cursor, batch) in enumerate(batches):
            loss, parts = self._gradients(pool, cursor, batch, (state.step, number), 1 / count)
            total += loss
            if gradients:
                torch._foreach_add_(gradients, parts)
            else:
                gradients = parts
        if self.sharded:  # its gradients are summed
            total, _ = self.ranks.summed([], total)
        else:
            total, gradients = self.ranks.summed(gradients, total)
        norm = self.optimizers.step(pool, gradients, rate) if math.isfinite(total) else math.nan
        state.step += 1
        return total, norm, count

    def _gradients(
        self,
        pool: WorkerPool,
        cursor: DataCursor,
        batch: TrainBatch,
        number: tuple[int, int],
        scale: float,
    ) -> tuple[float, list[Tensor]]:
        """Return the loss of the batch at a cursor and its gradients."""
        if self.device.type != "cpu":
            torch.manual_seed(hash((self.settings.seed, *number, self.ranks.rank)))
        if self._processes is not None:
            self._processes.request(cursor, number, scale)
            results = [self._shard(0, shards(batch, self.num_threads)[0], number, scale)]
            results += self._processes.results()
        elif self.num_threads == 1:
            results = [self._own_shard(batch, number, scale)]
        else:
            pieces = enumerate(shards(batch, self.num_threads))
            results = pool.map(lambda piece: self._shard(*piece, number, scale), pieces)
        return summed_gradients(pool, results, self.parameters)

    def _own_shard(
        self, batch: TrainBatch, number: tuple[int, int], scale: float
    ) -> ShardGradients:
        """Return the gradients of this process' part of the batch; of all of it, if alone."""
        rank = self.ranks.rank
        pieces = shards(batch, self.ranks.number) if self.splits_rows else [batch] * (rank + 1)
        if rank >= len(pieces):  # there are fewer rows than processes
            if self.sharded is None:
                return ShardGradients(0.0, [None] * len(self.parameters))
            pieces, scale = [pieces[0]] * (rank + 1), 0.0  # all gather the weights, or none
        return self._shard(rank, pieces[rank].to(self.device), number, scale)

    def _shard(
        self, shard: int, piece: TrainBatch, number: tuple[int, int], scale: float
    ) -> ShardGradients:
        """Return the gradients of a shard; its dropout depends on `number`, shard and seed."""
        stream = dropout_stream(self.settings.seed, *number, shard)
        with stream, autocast(self.precision, self.device):
            if self.sharded:
                sharded_loss = self.sharded.loss(piece, scale)
            else:
                with collected_lookups() as lookups:
                    loss = self.task.objective(self.data.run, self._objective_network, piece, scale)
        if self.sharded:
            return ShardGradients(*self.sharded.gradients(sharded_loss))
        return shard_gradients(loss, self.parameters, lookups)

    def _shard_of_batch(
        self, shard: int, cursor: DataCursor, number: tuple[int, int], scale: float
    ) -> ShardGradients:
        """Return the gradients of a shard of the batch at a cursor, in a process of its own."""
        pieces = shards(self.data.train.take(cursor)[0], self.num_threads)
        if shard >= len(pieces):
            return ShardGradients(0.0, [None] * len(self.parameters))
        return self._shard(shard, pieces[shard], number, scale)


def _agreed_precision(ranks: Ranks, requested: str, device: torch.device) -> str:
    """Return the leader's choice: each process would measure, and may find another."""
    bf16 = ranks.leads and choose_precision(requested, device) == "bf16"
    return "bf16" if ranks.agreed(bf16)[0] else "fp32"
