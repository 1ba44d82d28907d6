"""One run over several processes (`torchrun`).

Each process holds a part of every sentence (`regard.models.sequence_parallel`) and all weights.
Gradients are summed over the processes, so that all make the same update. Rank 0 is the leader: it
keeps the clock, validates, and alone writes to the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor
from torch import distributed as dist

TIMEOUT = timedelta(hours=2)  # the others wait while the leader validates


@dataclass(frozen=True)
class Ranks:
    """This process among those of a run."""

    rank: int = 0
    number: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that validates and writes."""
        return self.rank == 0

    def summed(self, gradients: Sequence[Tensor], loss: float) -> float:
        """Sum all processes' gradients in place, and return the sum of their losses."""
        if self.number == 1:
            return loss
        flat = torch.cat([*(g.reshape(-1) for g in gradients), gradients[0].new_tensor([loss])])
        dist.all_reduce(flat)
        start = 0
        for gradient in gradients:
            gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
            start += gradient.numel()
        return float(flat[-1])

    def agreed(self, *numbers: float) -> list[float]:
        """Return the leader's numbers."""
        if self.number == 1:
            return list(numbers)
        shared = torch.tensor(numbers, dtype=torch.float64)
        dist.broadcast(shared, 0)
        return shared.tolist()

    def wait(self) -> None:
        """Wait for all processes."""
        if self.number > 1:
            dist.barrier()


ALONE = Ranks()


@contextmanager
def joined() -> Iterator[Ranks]:
    """Join the processes that `torchrun` started, if there are several."""
    number = int(os.environ.get("WORLD_SIZE", "1"))
    if number < 2:
        yield ALONE
        return
    dist.init_process_group("gloo", timeout=TIMEOUT)
    try:
        yield Ranks(dist.get_rank(), number)
        dist.barrier()  # one that leaves early breaks the connections of those still at work
    finally:
        dist.destroy_process_group()
