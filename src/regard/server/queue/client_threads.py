"""Threads for work that takes time but no model; clients take turns."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from regard.cancellation import cancellable
from regard.server.http.errors import ApiError
from regard.server.queue.batching import evictable
from regard.server.queue.jobs import CallJob

Result = TypeVar("Result")


class ClientThreads:
    """Threads that call functions, in turn of each client.

    name         of the threads
    num_threads  of several threads one client has all but one, so that the others find one
    max_jobs     functions that wait or are called; where that is full, the client with the most
                 gives up its last one for a client that has fewer
    """

    def __init__(self, name: str, num_threads: int, max_jobs: int) -> None:
        self.max_jobs = max_jobs
        self.max_running = max(1, num_threads - 1)  # of one client
        self._waiting: list[CallJob[Any]] = []
        self._running: list[CallJob[Any]] = []
        self._turns: dict[str, int] = {}  # of the waiting clients: the last turn that each had
        self._turn = 0
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(num_threads, thread_name_prefix=name)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running)

    def submit(self, function: Callable[[], Result], client: str = "") -> asyncio.Future[Result]:
        """The function's result.

        If it is cancelled before its turn, the function is not called; afterwards it can learn of
        that by `cancellation.check_cancelled`.
        """
        job = CallJob(function, client)
        busy = ApiError(503, "the server is busy; try again later.", 1)
        with self._lock:
            excess = len(self) + 1 - self.max_jobs
            evicted = evictable(self._waiting, client, 1, excess)
            if evicted is None:
                raise busy
            self._waiting = [other for other in self._waiting if other not in evicted] + [job]
        for other in evicted:
            other.set_error(busy)
            other.deliver()
        job.future.add_done_callback(lambda future: self._drop(job) if future.cancelled() else None)
        self._threads.submit(self._work)
        return job.future

    def close(self) -> None:
        """Start nothing more, and end the threads when they are done."""
        with self._lock:
            self._waiting.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _drop(self, job: CallJob[Any]) -> None:
        job.dropped = True
        with self._lock, suppress(ValueError):  # begun
            self._waiting.remove(job)

    def _work(self) -> None:
        """Call the functions of waiting jobs, until there is none that this thread may call."""
        while (job := self._take()) is not None:
            _call(job)
            with self._lock:
                self._running.remove(job)
            job.deliver()

    def _take(self) -> CallJob[Any] | None:
        with self._lock:
            running = Counter(job.client for job in self._running)
            self._turns = {job.client: self._turns.get(job.client, 0) for job in self._waiting}
            ready = [job for job in self._waiting if running[job.client] < self.max_running]
            if not ready:
                return None
            job = min(ready, key=lambda job: self._turns[job.client])  # the oldest of equal ones
            self._turn += 1
            self._turns[job.client] = self._turn
            self._waiting.remove(job)
            self._running.append(job)
            return job


def _call(job: CallJob[Any]) -> None:
    try:
        with cancellable(lambda: job.dropped):
            job.set_result(job.function())
    except BaseException as error:
        job.set_error(error)
