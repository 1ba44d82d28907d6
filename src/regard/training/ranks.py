"""One run over several processes (`torchrun`), of which each makes the same updates.

Each process has a part of every batch: its own rows (data parallelism) or, with ring attention, its
own tokens of every sentence (`regard.models.sequence_parallel`). Gradients are summed over the
processes. Rank 0 is the leader: it keeps the clock, decides, validates, and writes to the folder.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from regard.cores import note_threads
from regard.errors import InputError

POLL_SECONDS = 0.02
TIMEOUT = timedelta(hours=2)  # the others wait while the leader prepares the corpus and validates


@dataclass(frozen=True)
class Ranks:
    """This process among those of a run."""

    rank: int = 0
    number: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that decides, validates and writes."""
        return self.rank == 0

    def summed(self, gradients: Sequence[Tensor], loss: float) -> tuple[float, list[Tensor]]:
        """Return the sums over all processes of the loss and of the gradients.

        All are summed in one call: many small ones would each wait for the slowest process.
        """
        if self.number == 1:
            return loss, list(gradients)
        flat = torch.cat([*(g.reshape(-1) for g in gradients), gradients[0].new_tensor([loss])])
        dist.all_reduce(flat)
        *sums, total = flat.split([*(g.numel() for g in gradients), 1])
        return float(total), [s.view_as(g) for s, g in zip(sums, gradients, strict=True)]

    def agreed(self, *numbers: float) -> list[float]:
        """Return the leader's numbers."""
        if self.number == 1:
            return list(numbers)
        shared = torch.tensor(numbers, dtype=torch.float64)
        dist.broadcast(shared, 0)
        return shared.tolist()

    def any(self, *conditions: bool) -> list[bool]:
        """Return whether each condition is true on at least one process."""
        if self.number == 1:
            return list(conditions)
        numbers = torch.tensor(conditions, dtype=torch.int32)
        dist.all_reduce(numbers)
        return [bool(number) for number in numbers.tolist()]

    def copy_leader(self, tensors: Iterable[Tensor]) -> None:
        """Copy the leader's values into the tensors of the others."""
        if self.number > 1:
            for tensor in tensors:
                dist.broadcast(tensor.detach(), 0)

    def sent(
        self, tensors: Mapping[str, Tensor] | None, rest: Any = None
    ) -> tuple[dict[str, Tensor], Any] | None:
        """Return the leader's tensors and plain values, or None if it has none."""
        if self.number == 1:
            return None if tensors is None else (dict(tensors), rest)
        shapes = {name: (t.shape, t.dtype) for name, t in (tensors or {}).items()}
        announced = [None if tensors is None else (shapes, rest)]
        dist.broadcast_object_list(announced, 0)
        if announced[0] is None:
            return None
        shapes, rest = announced[0]
        received = dict(tensors or {})
        for name, (shape, dtype) in shapes.items():
            if not self.leads:
                received[name] = torch.empty(shape, dtype=dtype)
            dist.broadcast(received[name], 0)
        return received, rest

    @contextmanager
    def together(self) -> Iterator[None]:
        """End all processes if the block, in which they do not communicate, fails on one."""
        error: Exception | None = None
        try:
            yield
        except Exception as raised:
            error = raised
        (failed,) = self.any(error is not None)
        if error is not None:
            raise error
        if failed:
            raise SystemExit(2)  # the other process tells why


ALONE = Ranks()


@contextmanager
def joined() -> Iterator[Ranks]:
    """Join the processes that `torchrun` started, if there are several."""
    number = int(os.environ.get("WORLD_SIZE", "1"))
    if number < 2:
        yield ALONE
        return
    backend = "gloo"
    if torch.cuda.is_available():  # numbers of the CPU go by gloo there, too
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        backend = "cpu:gloo,cuda:nccl"
    store, rank, number = next(dist.rendezvous("env://", timeout=TIMEOUT))
    store = dist.PrefixStore(meeting(store, rank, number), store)
    dist.init_process_group(backend, timeout=TIMEOUT, store=store, rank=rank, world_size=number)
    note_threads("torch.distributed")
    try:
        yield Ranks(rank, number)
        dist.barrier()  # one that leaves early breaks the connections of those still at work
    except RuntimeError as error:
        if not _lost(error):
            raise
        raise InputError(
            "the connection to another process of this run is lost: it was ended, or its own "
            "message says why; continue with --resume, or let torchrun do so with --max-restarts."
        ) from error
    finally:
        dist.destroy_process_group()


def meeting(store: dist.Store, rank: int, number: int) -> str:
    """Return a name that the processes of this attempt share, and those of no earlier one.

    After a restart torchrun may give the store of the attempt before, in which the addresses of
    processes that have ended still stand. So every process says hello under a new name, until the
    leader, whom it may precede, has answered it.
    """
    own = uuid.uuid4().hex
    if rank:
        store.set(f"hello/{rank}", own)
        name = store.get(f"welcome/{own}").decode()
        store.set(f"{name}/met/{rank}", "1")
        return name
    missing = set(range(1, number))
    while missing:
        for other in list(missing):
            if store.check([f"hello/{other}"]):
                store.set(f"welcome/{store.get(f'hello/{other}').decode()}", own)
            if store.check([f"{own}/met/{other}"]):
                missing.remove(other)
        time.sleep(POLL_SECONDS)
    return own


def _lost(error: RuntimeError) -> bool:
    """Whether an error is that of a connection between the processes."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)
