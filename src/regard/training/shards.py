"""One batch shared by several cores: each takes rows of it, and their gradients are summed.

Torch spreads each operation over the cores; on a batch of short sentences most operations are too
small for that. Here each core runs its rows through the whole model by itself, as in data-parallel
training, on threads of one process (torch releases Python's lock in its operations).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from regard.training.objective import Lesson

Item = TypeVar("Item")
Result = TypeVar("Result")
Taught = TypeVar("Taught", bound=Lesson)
Gradients = tuple[Tensor, Sequence[Tensor | None]]


def cores(asked: int = 0) -> int:
    """How many cores to use: as asked, or all that this process may run on."""
    if asked:
        return asked
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shards(batch: Taught, number: int) -> list[Taught]:
    """The batch in at most `number` pieces of about equal tokens, each without needless padding.

    Rows are ordered by length first, so that long sentences pad only each other.
    """
    lengths = batch.sizes
    number = max(1, min(number, len(lengths)))
    order = torch.argsort(lengths, stable=True)
    total = lengths[order].cumsum(0)
    ends = torch.searchsorted(total, total[-1] * torch.arange(1, number) / number).tolist()
    return [batch.rows(rows) for rows in torch.tensor_split(order, ends) if len(rows)]


class Crew:
    """Threads that each work on a shard, on one core each."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._before = torch.get_num_threads()
        torch.set_num_threads(1)  # two threads of one operation would wait for cores in use
        self._threads = ThreadPoolExecutor(number, initializer=torch.set_num_threads, initargs=(1,))

    def gradients(
        self,
        pieces: Sequence[Taught],
        work: Callable[[int, Taught], Tensor],
        parameters: Sequence[Tensor],
    ) -> tuple[float, list[Tensor]]:
        """The summed loss of all pieces and its gradients, summed in the pieces' order."""

        def one(numbered: tuple[int, Taught]) -> Gradients:
            loss = work(*numbered)
            return loss.detach(), torch.autograd.grad(loss, parameters, allow_unused=True)

        done = self.map(one, enumerate(pieces))

        def total(place: int) -> Tensor:
            found = [g for g in (gradients[place] for _, gradients in done) if g is not None]
            if not found:
                return torch.zeros_like(parameters[place])
            for more in found[1:]:
                found[0].add_(more)
            return found[0]

        if len(done) == 1:
            gradients = list(map(total, range(len(parameters))))
        else:  # in as many parts as there are threads: an errand for each tensor would cost more
            places = [range(n, len(parameters), self.number) for n in range(self.number)]
            sums = self.map(lambda part: [total(place) for place in part], places)
            gradients = [sums[n % self.number][n // self.number] for n in range(len(parameters))]
        return sum(float(loss) for loss, _ in done), gradients

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """What `work` makes of each item, in the items' order."""
        return list(self._threads.map(work, items))

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown()
        torch.set_num_threads(self._before)  # part of the setting is the whole process's

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
