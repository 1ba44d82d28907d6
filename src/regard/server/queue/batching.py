"""Batches of the sentences of different requests, translated by one thread.

    requests (asyncio) ── put ──▶ waiting jobs ──▶ one thread ── translator.translate_segments(…)
          ▲                                            │
          └──────────────── future ◀───────────────────┘

The thread takes sentences in turn from all jobs with the same model and options, so that a long
text does not delay short ones and is abandoned when its client disconnects. The number of jobs
that wait or run is limited.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch

from regard.server.http.errors import ApiError
from regard.server.queue.jobs import CallJob, Job, TranslateJob
from regard.text.segments import Segment


class Batcher:
    """The waiting jobs and the thread that runs them.

    max_jobs       jobs that may wait or run
    max_sentences  sentences that are translated together
    linger         seconds that an idle thread waits for more jobs before it starts
    threads        cores for one operation of torch
    on_batch       receives the number of sentences of each batch and its seconds
    """

    def __init__(
        self,
        *,
        max_jobs: int,
        max_sentences: int,
        linger: float = 0.0,
        threads: int = 1,
        on_batch: Callable[[int, float], None] = lambda sentences, seconds: None,
    ) -> None:
        self.max_jobs = max_jobs
        self.max_sentences = max_sentences
        self.linger = linger
        self.threads = threads
        self.on_batch = on_batch
        self._waiting: deque[Job[Any]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._seconds_per_job = 0.01  # a moving average
        self._thread = threading.Thread(target=self._work, name="translator", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, *jobs: Job[Any]) -> None:
        """Queue the jobs, all or none; an empty queue takes any number."""
        with self._changed:
            if self._closed:
                raise ApiError(503, "the server is shutting down.", 5)
            if self._waiting and len(self._waiting) + len(jobs) > self.max_jobs:
                wait = min(60.0, self._seconds_per_job * len(self._waiting))
                raise ApiError(503, "the server is busy; try again later.", wait)
            self._waiting.extend(jobs)
            self._changed.notify()

    def drop(self, *jobs: Job[Any]) -> None:
        """Remove jobs that nothing waits for."""
        with self._changed:
            for job in jobs:
                job.dropped = True
                with suppress(ValueError):  # already done
                    self._waiting.remove(job)

    def close(self) -> None:
        """Finish the waiting jobs and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        torch.set_num_threads(self.threads)  # OpenMP's setting is per thread
        while self._wait_for_jobs():
            with self._changed:
                chosen = [job for job in self._waiting if job.key == self._waiting[0].key]
            start = time.perf_counter()
            if not chosen:  # dropped meanwhile
                continue
            try:
                finished, started = self._run(chosen)
            except Exception as error:  # a bug: report it to all, and continue
                finished, started = chosen, []
                for job in chosen:
                    job.set_error(error)
            self._release(finished, started, time.perf_counter() - start)

    def _wait_for_jobs(self) -> bool:
        """Wait until there is a job; False when the batcher is closed and none is left."""
        with self._changed:
            idle = not self._waiting
            while not self._waiting and not self._closed:
                self._changed.wait()
            if not self._waiting:
                return False
            closing = self._closed
        if idle and self.linger and not closing:
            time.sleep(self.linger)  # other requests may be about to arrive
        return True

    def _run(self, chosen: list[Job[Any]]) -> tuple[list[Job[Any]], list[Job[Any]]]:
        """Run a call, or translate one batch; the finished jobs, and those that have started."""
        first = chosen[0]
        if isinstance(first, CallJob):
            try:
                first.set_result(first.function())
            except Exception as error:
                first.set_error(error)
            return chosen, []
        jobs = [job for job in chosen if isinstance(job, TranslateJob)]
        finished = {job for job in jobs if not _segment(job)}
        going = [job for job in jobs if job not in finished]
        batch = _take_in_turn(going, self.max_sentences)
        start = time.perf_counter()
        finished |= set(_translate(batch))
        if batch:
            self.on_batch(len(batch), time.perf_counter() - start)
        for job in going:
            if job not in finished and job.complete:
                job.set_result(job.translations())
                finished.add(job)
        started = {job for job, _, _ in batch} - finished
        return list(finished), list(started)

    def _release(self, finished: list[Job[Any]], started: list[Job[Any]], seconds: float) -> None:
        """Remove the finished jobs; those that have started move to the end of the queue."""
        last, done = set(started), set(finished)
        with self._changed:
            others = [job for job in self._waiting if job not in last and job not in done]
            rest = [job for job in self._waiting if job in last]  # without dropped ones
            self._waiting = deque((*others, *rest))
            self._seconds_per_job += 0.1 * (seconds / max(1, len(finished)) - self._seconds_per_job)
        for job in finished:  # after its place is free: the client may send the next at once
            job.deliver()


def _segment(job: TranslateJob) -> bool:
    """Segment a job's texts; False if that failed."""
    try:
        job.segment()
    except Exception as error:
        job.set_error(error)
        return False
    return True


Batch = list[tuple[TranslateJob, int, Segment]]


def _take_in_turn(jobs: Sequence[TranslateJob], max_sentences: int) -> Batch:
    """At most `max_sentences` segments: one of each job, then a second of each, and so on."""
    batch: Batch = []
    going = [job for job in jobs if job.pending and not job.dropped]
    while going:
        for job in going:
            if len(batch) == max_sentences:
                return batch
            batch.append((job, *job.pending.popleft()))
        going = [job for job in going if job.pending]
    return batch


def _translate(batch: Batch) -> list[TranslateJob]:
    """Translate a batch; the jobs that failed.

    If a batch fails, each job is tried by itself, so that no other job is affected.
    """
    if not batch:
        return []
    first = batch[0][0]
    segments = [segment for _, _, segment in batch]
    try:
        sentences = first.translator.translate_segments(segments, first.options)
    except Exception as error:
        jobs = list(dict.fromkeys(job for job, _, _ in batch))
        if len(jobs) == 1:
            first.set_error(error)
            return [first]
        alone = [[item for item in batch if item[0] is job] for job in jobs]
        return [failed for items in alone for failed in _translate(items)]
    for (job, number, _), sentence in zip(batch, sentences, strict=True):
        job.sentences[number] = sentence
    return []
