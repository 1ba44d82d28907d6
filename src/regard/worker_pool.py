"""Threads and processes that each run whole operations on one core, for training and inference.

Torch spreads each operation over the cores; on short sentences most operations are too small for
that. A worker instead runs its share of the batch through the whole model on one core. Torch
releases Python's lock inside its operations, but when these are short, threads wait for it, and
processes do not.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import torch

from regard.cancellation import cancellable, cancellation, check_cancelled
from regard.cores import threaded_libraries

Item = TypeVar("Item")
Result = TypeVar("Result")

BYTES = 4  # of a number in a pipe
MAX_RANGES = 4096  # in a pipe, which holds 64 KiB at least


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
        """Apply `function` to each item; the results are in the items' order.

        Where the calling thread's work is cancelled, so is theirs.
        """
        is_cancelled = cancellation()

        def apply(item: Item) -> Result:
            with cancellable(is_cancelled):
                check_cancelled()
                return function(item)

        return list(self._executor.map(apply, items))

    def close(self) -> None:
        """End the threads and restore torch's own number of threads."""
        self._executor.shutdown()
        torch.set_num_threads(self._num_threads)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def can_fork() -> bool:
    """Whether a forked process can run torch: on Linux, without an accelerator or CTranslate2.

    Threads, which both have, do not exist in a forked process; one beside CTranslate2 has crashed.
    """
    return (
        sys.platform == "linux"
        and not threaded_libraries()
        and not torch.accelerator.is_available()
        and not current_process().daemon
    )


def parallel_map(
    function: Callable[[Item], Result], items: Sequence[Item], num_workers: int, *, fork: bool
) -> list[Result]:
    """Apply `function` to each item on several cores: with `fork` in processes if possible.

    Only the main thread forks: others belong to programs with locks of their own.
    """
    if len(items) < 2 or num_workers < 2:
        return list(map(function, items))
    if fork and can_fork() and threading.current_thread() is threading.main_thread():
        return fork_map(function, items, num_workers)
    with WorkerPool(num_workers) as pool:
        return pool.map(function, items)


def fork_map(
    function: Callable[[Item], Result], items: Sequence[Item], num_workers: int
) -> list[Result]:
    """Apply `function` to each item in forked processes and in this one; results in order.

    A process takes the next items whenever it has none. Results are pickled. What a process did
    not return, because of an error or because it was killed, is computed here.
    """
    numbers = _queue(len(items))

    def compute() -> Iterator[tuple[int, Result]]:
        while taken := os.read(numbers, 2 * BYTES):
            first, last = (int.from_bytes(taken[at : at + BYTES]) for at in (0, BYTES))
            yield from ((number, function(items[number])) for number in range(first, last))

    def serve(pipe: Connection) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        done: list[tuple[int, Any]] = []
        with suppress(Exception):  # the error is raised where the item is computed again
            done.extend(compute())
        with suppress(OSError):
            pipe.send_bytes(pickle.dumps(done))

    context = get_context("fork")
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    processes = []
    try:
        for _ in range(min(num_workers, len(items)) - 1):
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=serve, args=(there,), daemon=True)
            process.start()
            there.close()
            processes.append((process, here))
        results = dict(compute())
        for _, pipe in processes:
            with suppress(EOFError, OSError):
                results |= pickle.loads(pipe.recv_bytes())
    finally:
        os.close(numbers)
        for process, pipe in processes:
            pipe.close()
            process.kill()  # at once, if there was an error
            process.join()
        torch.set_num_threads(num_threads)
    for number, item in enumerate(items):
        if number not in results:
            results[number] = function(item)
    return [results[number] for number in range(len(items))]


def _queue(size: int) -> int:
    """A pipe to read ranges of numbers below `size` from, which several processes may do."""
    reader, writer = os.pipe()
    step = -(-size // MAX_RANGES)
    for first in range(0, size, step):
        bounds = first, min(first + step, size)
        os.write(writer, b"".join(number.to_bytes(BYTES) for number in bounds))
    os.close(writer)
    return reader
