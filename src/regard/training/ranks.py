"""One run over several processes (`torchrun`): who leads, and what all must agree on.

Each process holds a part of every sentence (`regard.models.sequence_parallel`) and all weights.
Gradients are summed over the processes, so that all make the same update. Rank 0 leads: it keeps
the clock, validates, and alone writes to the folder.
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

PATIENCE = timedelta(hours=2)  # while the leader looks at the development set, others wait


@dataclass(frozen=True)
class Ranks:
    """This process among those of a run."""

    rank: int = 0
    number: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes and looks."""
        return self.rank == 0

    def summed(self, gradients: Sequence[Tensor], loss: float) -> float:
        """Add up all processes' gradients, in place, and their losses."""
        if self.number == 1:
            return loss
        flat = torch.cat([*(g.reshape(-1) for g in gradients), gradients[0].new_tensor([loss])])
        dist.all_reduce(flat)
        place = 0
        for gradient in gradients:
            gradient.copy_(flat[place : place + gradient.numel()].view_as(gradient))
            place += gradient.numel()
        return float(flat[-1])

    def agreed(self, *numbers: float) -> list[float]:
        """The leader's numbers."""
        if self.number == 1:
            return list(numbers)
        said = torch.tensor(numbers, dtype=torch.float64)
        dist.broadcast(said, 0)
        return said.tolist()

    def wait(self) -> None:
        """Until all are here."""
        if self.number > 1:
            dist.barrier()


ALONE = Ranks()


@contextmanager
def joined() -> Iterator[Ranks]:
    """Join the processes that `torchrun` started; a process by itself is alone."""
    number = int(os.environ.get("WORLD_SIZE", "1"))
    if number < 2:
        yield ALONE
        return
    dist.init_process_group("gloo", timeout=PATIENCE)
    try:
        yield Ranks(dist.get_rank(), number)
        dist.barrier()  # one that leaves early breaks the connections of those still at work
    finally:
        dist.destroy_process_group()
