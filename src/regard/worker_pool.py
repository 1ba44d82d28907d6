"""Threads that each run whole operations on one core, for training and inference.

Torch spreads each operation over the cores; on short sentences most operations are too small for
that. A worker instead runs its share of the batch through the whole model on one core (torch
releases Python's lock inside its operations).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores(requested: int = 0) -> int:
    """Return the number of cores to use: as requested, or all that this process may run on."""
    if requested:
        return requested
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool:
    """Threads with one core each; torch uses one thread per operation while the pool is open."""

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers
        self._num_threads = torch.get_num_threads()
        torch.set_num_threads(1)  # two threads of one operation would wait for cores in use
        self._executor = ThreadPoolExecutor(
            num_workers, initializer=torch.set_num_threads, initargs=(1,)
        )

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply `function` to each item; the results are in the items' order."""
        return list(self._executor.map(function, items))

    def close(self) -> None:
        """End the threads and restore torch's own number of threads."""
        self._executor.shutdown()
        torch.set_num_threads(self._num_threads)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
