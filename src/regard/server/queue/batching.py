"""Batches of the sentences of different requests, translated by one thread.

    requests (asyncio) ── put ──▶ waiting jobs ──▶ one thread ── translator.begin_segments(…)
          ▲                                          │    ▲
          └──────────────── future ◀─────────────────┘    └── batches that the engine searches

While the engine searches some batches, the thread collects and tokenizes the next and answers
those that are done. It takes sentences in turn from all jobs with the same model and options, so
that a long text does not delay short ones and is abandoned when its client disconnects. The number
of jobs that wait or run is limited.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import torch

from regard.server.http.errors import ApiError
from regard.server.queue.jobs import CallJob, Job, TranslateJob
from regard.tasks.translation.translation import Sentence
from regard.text.segments import Segment

MAX_BEGUN = 3  # batches: one for each core of the engine, and one that is answered

Items = list[tuple[TranslateJob, int, Segment]]
"""Sentences of jobs: the job, the sentence's number in it, and the sentence."""


class BegunBatch(NamedTuple):
    """Sentences whose search has begun, at a time; `finish` returns their translations."""

    items: Items
    finish: Callable[[], list[Sentence]]
    start: float


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
        self._waiting: deque[Job[Any]] = deque()  # or running
        self._changed = threading.Condition()
        self._closed = False
        self._begun: deque[BegunBatch] = deque()  # the oldest first
        self._seconds_per_job = 0.01  # a moving average
        self._released = time.perf_counter()  # when jobs were last released
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
        while self._begun or self._wait_for_jobs():
            jobs = self._ready_jobs()
            if jobs:
                with self._reporting(jobs):
                    self._begin(jobs)
            if self._begun and (not jobs or len(self._begun) == MAX_BEGUN):
                batch = self._begun.popleft()
                with self._reporting([job for job, _, _ in batch.items]):
                    self._finish(batch)

    @contextmanager
    def _reporting(self, jobs: Sequence[Job[Any]]) -> Iterator[None]:
        """Answer jobs with the error of a bug: this thread must go on for all others."""
        try:
            yield
        except Exception as error:
            for job in jobs:
                job.set_error(error)
            self._release(jobs)

    def _wait_for_jobs(self) -> bool:
        """Wait until there is a job; False when the batcher is closed and none is left."""
        with self._changed:
            idle = not self._waiting
            while not self._waiting and not self._closed:
                self._changed.wait()
            if not self._waiting:
                return False
            if idle:
                self._released = time.perf_counter()
            closing = self._closed
        if idle and self.linger and not closing:
            time.sleep(self.linger)  # other requests may be about to arrive
        return True

    def _ready_jobs(self) -> list[Job[Any]]:
        """The jobs that may share the next batch, or one call."""
        with self._changed:
            ready = [job for job in self._waiting if job.ready]
        return [job for job in ready if job.key == ready[0].key]

    def _begin(self, jobs: Sequence[Job[Any]]) -> None:
        """Run a call, or begin to search one batch."""
        first = jobs[0]
        if isinstance(first, CallJob):
            with self._reporting([first]):
                first.set_result(first.function())
                self._release([first])
            return
        start = time.perf_counter()
        going = [job for job in jobs if isinstance(job, TranslateJob)]
        failed = {job for job in going if not _segment(job)}
        items = _take_in_turn([job for job in going if job not in failed], self.max_sentences)
        self._complete(going, failed)  # those without a sentence
        self._move_to_end({job for job, _, _ in items})
        if items:
            self._begun.append(BegunBatch(items, begin_search(items), start))

    def _finish(self, batch: BegunBatch) -> None:
        """Wait for the translations of a batch, and answer the jobs that are complete."""
        failed = translate(batch.items, batch.finish)
        self.on_batch(len(batch.items), time.perf_counter() - batch.start)
        self._complete(list(dict.fromkeys(job for job, _, _ in batch.items)), failed)

    def _complete(self, jobs: Sequence[TranslateJob], failed: set[TranslateJob]) -> None:
        """Answer the jobs that failed, and of the others those that are complete."""
        done = [job for job in jobs if job in failed or job.complete]
        for job in done:
            if job not in failed:
                try:
                    job.set_result(job.translations())
                except Exception as error:  # of this job only
                    job.set_error(error)
        self._release(done)

    def _move_to_end(self, started: set[TranslateJob]) -> None:
        """Have the jobs that have begun wait behind the others."""
        with self._changed:
            others = [job for job in self._waiting if job not in started]
            rest = [job for job in self._waiting if job in started]  # without dropped ones
            self._waiting = deque((*others, *rest))

    def _release(self, jobs: Sequence[Job[Any]]) -> None:
        """Remove jobs that are done, then deliver what they have."""
        done, now = set(jobs), time.perf_counter()
        if not done:
            return
        with self._changed:
            self._waiting = deque(job for job in self._waiting if job not in done)
            seconds = (now - self._released) / len(done)
            self._released = now
            self._seconds_per_job += 0.1 * (seconds - self._seconds_per_job)
        for job in jobs:  # after its place is free: the client may send the next at once
            job.deliver()


def _segment(job: TranslateJob) -> bool:
    """Segment a job's texts; False if that failed."""
    try:
        job.segment()
    except Exception as error:
        job.set_error(error)
        return False
    return True


def _take_in_turn(jobs: Iterable[TranslateJob], max_sentences: int) -> Items:
    """At most `max_sentences` segments: one of each job, then a second of each, and so on.

    An engine that searches in the background gets no more than it searches at once, so that the
    first of many sentences are answered while the last are searched.
    """
    items: Items = []
    tokens = 0
    going = [job for job in jobs if job.pending and not job.dropped]
    room = going[0].translator.tokens_at_once(going[0].options.settings) if going else None
    while going:
        for job in going:
            tokens += len(job.pending[0][1].ids)
            if len(items) == max_sentences or (room and items and tokens > room):
                return items
            items.append((job, *job.pending.popleft()))
        going = [job for job in going if job.pending]
    return items


def begin_search(items: Items) -> Callable[[], list[Sentence]]:
    """Begin to search some sentences; what waits for the translations, or raises the error."""
    translator, options = items[0][0].translator, items[0][0].options
    try:
        return translator.begin_segments([segment for _, _, segment in items], options)
    except Exception as error:
        return partial(_raise, error)


def translate(items: Items, finish: Callable[[], list[Sentence]]) -> set[TranslateJob]:
    """Give the jobs their translations; the jobs that failed.

    If a batch fails, each job is tried by itself, so that no other job is affected.
    """
    jobs = {job for job, _, _ in items}
    try:
        sentences = finish()
    except Exception as error:
        if len(jobs) == 1:
            items[0][0].set_error(error)
            return jobs
        alone = [[item for item in items if item[0] is job] for job in jobs]
        return {failed for own in alone for failed in translate(own, begin_search(own))}
    for (job, number, _), sentence in zip(items, sentences, strict=True):
        job.sentences[number] = sentence
    return set()


def _raise(error: Exception) -> list[Sentence]:
    raise error
