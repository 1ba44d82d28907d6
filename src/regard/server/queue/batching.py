"""Batches of the sentences of different requests, translated by a thread.

    requests (asyncio) ── put ──▶ waiting jobs ──▶ one thread ── translator.begin_segments(…)
          ▲                                          │    ▲
          └──────────────── future ◀─────────────────┘    └── batches that the engine searches

While the engine searches some batches, the thread collects and tokenizes the next and answers
those that are done. It takes sentences in turn from all clients, and from all jobs of each, with
the same model and options, so that neither a long text nor many requests of one client delay
others. A job that nobody waits for any more is abandoned, also in the middle of a search by our own
engine.

The number of jobs that wait or run is limited. Where a queue is full, the client with the most jobs
gives up its last one for a client that has fewer.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

import torch

from regard.cancellation import CancelledWorkError, cancellable
from regard.server.http.errors import ApiError
from regard.server.queue.jobs import CallJob, Job, TranslateJob
from regard.tasks.translation.translation import Sentence
from regard.text.segments import Segment

MAX_BEGUN = 3  # batches: one for each core of the engine, and one that is answered
SEGMENTED_CHARACTERS = 2_000
"""Of new texts after which no other is segmented for a batch."""
SHARED_SENTENCES = 16
"""Of a batch for which several clients wait."""

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
    max_tokens     of sentences that our own engine translates together; None: any number
    max_begun      batches that are searched at once
    threads        cores for one operation of torch
    on_batch       receives the number of sentences of each batch and its seconds
    """

    def __init__(
        self,
        *,
        max_jobs: int,
        max_sentences: int,
        linger: float = 0.0,
        max_tokens: int | None = None,
        max_begun: int = MAX_BEGUN,
        threads: int = 1,
        on_batch: Callable[[int, float], None] = lambda sentences, seconds: None,
    ) -> None:
        self.max_jobs = max_jobs
        self.max_sentences = max_sentences
        self.linger = linger
        self.max_tokens, self.max_begun = max_tokens, max_begun
        self.threads = threads
        self.on_batch = on_batch
        self._waiting: deque[Job[Any]] = deque()  # or running
        self._changed = threading.Condition()
        self._closed = False
        self._begun: deque[BegunBatch] = deque()  # the oldest first
        self._seconds_per_job = 0.01  # a moving average
        self._released = time.perf_counter()  # when jobs were last released
        self._turns: dict[str, int] = {}  # of the waiting clients: the last turn that each had
        self._turn = 0
        self._thread = threading.Thread(target=self._work, name="translator", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, *jobs: Job[Any]) -> None:
        """Queue the jobs of a client, all or none; an empty queue takes any number."""
        with self._changed:
            if self._closed:
                raise ApiError(503, "the server is shutting down.", 5)
            busy = ApiError(
                503,
                "the server is busy; try again later.",
                min(60.0, self._seconds_per_job * len(self._waiting)),
            )
            excess = len(self._waiting) + len(jobs) - self.max_jobs if self._waiting else 0
            evicted = evictable(self._waiting, jobs[0].client, len(jobs), excess)
            if evicted is None:
                raise busy
            for job in evicted:
                self._waiting.remove(job)
                job.set_error(busy)
            self._waiting.extend(jobs)
            self._changed.notify()
        for job in evicted:
            job.deliver()

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
            if self._begun and (not jobs or len(self._begun) >= self.max_begun):
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
            clients = {job.client for job in self._waiting}
        if not ready:
            return []
        self._turns = {client: self._turns.get(client, 0) for client in clients}
        first = min(ready, key=lambda job: self._turns[job.client])  # the oldest of equal ones
        together = [job for job in ready if job.key == first.key]
        return sorted(together, key=lambda job: self._turns[job.client])

    def _take_turns(self, clients: Iterable[str]) -> None:
        """Have the clients that were served now wait behind the others."""
        self._turn += 1
        self._turns.update(dict.fromkeys(clients, self._turn))

    def _begin(self, jobs: Sequence[Job[Any]]) -> None:
        """Run a call, or begin to search one batch."""
        first = jobs[0]
        if isinstance(first, CallJob):
            self._take_turns([first.client])
            with self._reporting([first]), cancellable(lambda: first.dropped):
                first.set_result(first.function())
                self._release([first])
            return
        start = time.perf_counter()
        going = [job for job in jobs if isinstance(job, TranslateJob)]
        segmented, failed = segment_in_turn(going, self.max_sentences)
        items = take_in_turn(segmented, self.max_sentences, self.max_tokens)
        self._complete([*segmented, *failed], failed)  # those without a sentence
        self._move_to_end({job for job, _, _ in items})
        self._take_turns(job.client for job, _, _ in items)
        if items:
            self._begun.append(BegunBatch(items, begin_search(items), start))

    def _finish(self, batch: BegunBatch) -> None:
        """Wait for the translations of a batch, and answer the jobs that are complete."""
        jobs = {job for job, _, _ in batch.items}
        with cancellable(lambda: all(job.dropped for job in jobs)):
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


def segment_in_turn(
    jobs: Sequence[TranslateJob], num_sentences: int
) -> tuple[list[TranslateJob], set[TranslateJob]]:
    """The jobs that are segmented now, one of each client and then in turn, and those that failed.

    With so many sentences, or after so long a text, it is enough: a long text takes a twentieth of
    a second to segment, and hundreds of them may wait. The others have their turn in a next batch.
    """
    clients: dict[str, list[TranslateJob]] = {}
    for job in jobs:
        if not job.dropped:
            clients.setdefault(job.client, []).append(job)
    rounds = zip_longest(*clients.values())
    in_turn = [job for of_each in rounds for job in of_each if job is not None]
    segmented: list[TranslateJob] = []
    failed: set[TranslateJob] = set()
    found = characters = 0
    for number, job in enumerate(in_turn):
        if (number >= len(clients) and found >= num_sentences) or characters > SEGMENTED_CHARACTERS:
            break
        is_new = not job.begun
        if _segment(job):
            segmented.append(job)
            characters += sum(map(len, job.texts)) if is_new else 0
            found += len(job.pending)
        else:
            failed.add(job)
    return segmented, failed


def _segment(job: TranslateJob) -> bool:
    """Segment a job's texts; False if that failed."""
    try:
        job.segment()
    except Exception as error:
        job.set_error(error)
        return False
    return True


def evictable(
    waiting: Iterable[Job[Any]], client: str, num_jobs: int, excess: int
) -> list[Job[Any]] | None:
    """The last jobs of the clients with the most, which make room for new jobs of a client.

    None if there are not as many as `excess`: a client keeps as many jobs as the new one has with
    the new jobs, and whatever has begun.
    """
    queues: dict[str, list[Job[Any]]] = {}
    counts = Counter({client: num_jobs})
    for job in waiting:
        counts[job.client] += 1
        if not job.begun:
            queues.setdefault(job.client, []).append(job)
    evicted: list[Job[Any]] = []
    while len(evicted) < excess:
        largest = max(queues, key=lambda other: counts[other], default=client)
        if counts[largest] <= counts[client]:
            return None
        evicted.append(queues[largest].pop())
        counts[largest] -= 1
        if not queues[largest]:
            del queues[largest]
    return evicted


def take_in_turn(
    jobs: Sequence[TranslateJob], max_sentences: int, max_tokens: int | None = None
) -> Items:
    """At most `max_sentences` segments: one of each client, then a second of each, and so on.

    Of the jobs of a client, one of each in the same way. An engine that searches in the background
    gets no more than it searches at once, so that the first of many sentences are answered while
    the last are searched; our own engine gets `max_tokens`. Where several clients wait, a batch has
    no more than `SHARED_SENTENCES`, or one of each: the next batch is not far.
    """
    items: Items = []
    tokens = 0
    going: dict[str, deque[TranslateJob]] = {}
    for job in jobs:
        if job.pending and not job.dropped:
            going.setdefault(job.client, deque()).append(job)
    room = max_tokens
    if len(going) > 1:
        max_sentences = min(max_sentences, max(len(going), SHARED_SENTENCES))
    if going:
        settings = jobs[0].options.settings
        room = jobs[0].translator.tokens_at_once(settings) or max_tokens
    while going:
        for client, own in list(going.items()):
            job = own.popleft()
            tokens += len(job.pending[0][1].ids)
            if len(items) == max_sentences or (room and items and tokens > room):
                return items
            items.append((job, *job.pending.popleft()))
            if job.pending:
                own.append(job)
            if not own:
                del going[client]
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

    If a batch fails, each job is tried by itself, so that no other job is affected. Where nobody
    waits for any of them, none is.
    """
    jobs = {job for job, _, _ in items}
    if all(job.dropped for job in jobs):
        return jobs
    try:
        sentences = finish()
    except CancelledWorkError:
        return jobs
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
