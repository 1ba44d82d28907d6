"""What all operations of a server share: models, the queue before them, waiting for results."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence, Sized
from functools import partial
from typing import Any, TypeVar

from fastapi import Request

from regard.corpus.memory import TranslationMemory
from regard.documents.processes import (
    DocumentSource,
    IsolatedDocument,
    ParserLimits,
    ParserPool,
    Rendering,
)
from regard.errors import error_fields
from regard.server.access.admission import Admission
from regard.server.access.budget import MemoryBudget
from regard.server.access.keys import Key
from regard.server.http.errors import CLIENT_DISCONNECTED, ApiError
from regard.server.http.log import log_event
from regard.server.http.metrics import Metrics
from regard.server.http.settings import ServerSettings
from regard.server.queue.batching import Batcher
from regard.server.queue.catalogue import Catalogue, ServedModel
from regard.server.queue.client_threads import ClientThreads
from regard.server.queue.jobs import CallJob, Job, TranslateJob
from regard.server.workers.shared import SharedState
from regard.tasks.translation.translation import TranslateOptions, Translation
from regard.tasks.translation.translator import Translator

Result = TypeVar("Result")
Group = tuple[ServedModel, Sequence[str], TranslateOptions]


LONG_SENTENCES, LONG_TOKENS = 8, 256
"""Of one batch of long work: a few seconds at most, after which another client has its turn."""
MAX_STEPS = 10_000
"""Of our own engine's search for one sentence: so many take about five seconds on one core."""
HELD_NUMBERS = 48_000_000
"""Of maps and steps that requests hold at once: 200 MB."""
PARSERS = 2
"""Processes that read documents: one client has one of them at a time."""
KEPT_MEMORY, MAX_ANSWER = 256 << 20, 64 << 20
"""Bytes of such a process before it is replaced, and of its answer."""


class Service:
    """The models, the queues before them, and the limits.

    batcher       what CTranslate2 searches, or our own engine without constraints
    long_batcher  all that takes more for a sentence: constrained searches, maps, edits, steps of a
                  stream. It has a thread of its own, so that the rest does not wait for it
    background    a thread for work that takes time but no model. It is a single one, as Python runs
                  one at a time anyway: many such requests delay each other, and no other request
    parsers       processes that read and write documents and pages, which are foreign, and
                  parser_threads, which wait for them
    shared        what it shares with other workers
    number        of this worker
    """

    def __init__(
        self,
        catalogue: Catalogue,
        settings: ServerSettings,
        keys: tuple[Key, ...] = (),
        memory: TranslationMemory | None = None,
        keys_file: str | None = None,
        shared: SharedState | None = None,
        number: int = 0,
    ) -> None:
        self.catalogue = catalogue
        self._memory = memory
        first = next(iter(catalogue.models), None)  # the documentation's server has no models
        self._memory_direction = (first.source, first.target) if first is not None else None
        self.settings = settings
        self.shared = shared
        rates = (shared.rates, shared.wrong_keys) if shared is not None else ()
        self.admission = Admission(settings, keys, keys_file, *rates)
        self.reload_others: Callable[[], None] = lambda: None  # other workers, where there are any
        self.memory_budget = MemoryBudget(HELD_NUMBERS)
        self.metrics = Metrics(shared, number)
        self.batcher = Batcher(
            max_jobs=settings.waiting,
            max_sentences=settings.together,
            linger=settings.linger,
            threads=catalogue.threads or spare_cores(catalogue),
            on_batch=self.metrics.batch,
        )
        self.long_batcher = Batcher(
            max_jobs=settings.waiting,
            max_sentences=LONG_SENTENCES,
            max_tokens=LONG_TOKENS,
            max_begun=1,
            on_batch=self.metrics.batch,
        )
        self.background = ClientThreads("background", 1, settings.waiting)
        self.parsers = ParserPool(PARSERS, parser_limits(settings))  # started by the application
        self.parser_threads = ClientThreads("documents", PARSERS, settings.waiting)
        self._queues: tuple[Sized, ...] = (self.batcher, self.long_batcher, self.parser_threads)

    def count_waiting(self) -> None:
        """Note for the metrics how many requests wait."""
        self.metrics.waiting.set(sum(map(len, self._queues)))

    def metrics_text(self) -> bytes:
        """The metrics of all workers, as Prometheus reads them."""
        self.count_waiting()
        return self.metrics.text()

    def memory_of(self, model: ServedModel) -> TranslationMemory | None:
        """The translation memory, for models of its direction: that of the first model."""
        return self._memory if (model.source, model.target) == self._memory_direction else None

    async def translate(
        self, request: Request, groups: Sequence[Group], max_sentences: int | None = None
    ) -> list[list[Translation]]:
        """The translations of each group of texts, which may be of different models."""
        jobs = [
            TranslateJob(
                model.translator,
                texts,
                options,
                max_sentences,
                client_of(request),
                MAX_STEPS if takes_long(model.translator, options) else None,
            )
            for model, texts, options in groups
        ]
        return await self._run(jobs, request)

    async def call(
        self, request: Request, function: Callable[[], Result], *, watch: bool = True
    ) -> Result:
        """The result of a function that the thread for long work calls.

        Without `watch`, another task watches whether the client is connected, and each call has
        the whole time.
        """
        jobs = [CallJob(function, client_of(request))]
        return (await self._run(jobs, request if watch else None))[0]

    async def run_in_background(self, request: Request, function: Callable[[], Result]) -> Result:
        """The result of a function that takes time, but no model."""
        return await self._wait(self.background.submit(function, client_of(request)), request)

    async def read_documents(
        self, request: Request, sources: Sequence[DocumentSource], max_characters: int | None = None
    ) -> list[IsolatedDocument]:
        """Documents, read together by another process; see `ParserPool.read`."""
        read = partial(self.parsers.read, sources, max_characters)
        return await self._wait(self.parser_threads.submit(read, client_of(request)), request)

    async def render_documents(
        self, request: Request, renderings: Sequence[Rendering]
    ) -> list[bytes]:
        """Documents that were read together with translations, written by another process."""
        render = partial(self.parsers.render, renderings)
        return await self._wait(self.parser_threads.submit(render, client_of(request)), request)

    async def reload(self) -> None:
        """Read the keys and load the models again; running requests keep the model they have."""
        keys_error = await self.admission.reload_keys()
        try:
            await asyncio.to_thread(self.catalogue.reload)
        except Exception as error:
            event = "models kept: loading them again failed"
            log_event(event, level=logging.ERROR, **error_fields(error))
            raise ApiError(503, "the models cannot be read; the old ones stay.", 60) from None
        log_event("models loaded", models=[model.name for model in self.catalogue.models])
        if keys_error is not None:
            raise keys_error

    async def _run(self, jobs: Sequence[Job[Result]], request: Request | None) -> list[Result]:
        """The results of all jobs, which leave the queue in any case."""
        if not jobs:
            return []
        queues = [
            (batcher, own)
            for batcher, is_long in ((self.batcher, False), (self.long_batcher, True))
            if (own := [job for job in jobs if is_long_work(job) is is_long])
        ]
        try:
            for batcher, own in queues:
                batcher.put(*own)
            self.count_waiting()  # also for other workers, which may be asked for the metrics
            results = asyncio.gather(*(job.future for job in jobs))
            return await self._wait(results, request)
        finally:
            for batcher, own in queues:
                batcher.drop(*own)
            self.count_waiting()

    def close(self) -> None:
        """Finish what waits, and end the threads."""
        self.background.close()
        self.parser_threads.close()
        self.parsers.close()
        self.batcher.close()
        self.long_batcher.close()

    async def _wait(self, result: asyncio.Future[Result], request: Request | None) -> Result:
        """Wait until the request's deadline, unless the client disconnects.

        Without a request, each step has the whole time.
        """
        result.add_done_callback(_retrieve_error)
        awaited: set[asyncio.Future[Any]] = {result}
        seconds = self.settings.timeout
        if request is not None:
            awaited.add(asyncio.ensure_future(_disconnected(request.receive)))
            seconds = max(0.0, request.state.deadline - time.monotonic())
        try:
            done, _ = await asyncio.wait(
                awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if result in done:
                return result.result()
            if done:
                raise ApiError(CLIENT_DISCONNECTED, "client disconnected.")
            raise ApiError(503, "this took too long; send less, or try again later.", 10)
        finally:
            for future in awaited:
                future.cancel()


def is_long_work(job: Job[Any]) -> bool:
    """Whether a job is for the thread of long work."""
    return not isinstance(job, TranslateJob) or takes_long(job.translator, job.options)


def takes_long(translator: Translator, options: TranslateOptions) -> bool:
    """Whether a translation takes long: our own engine's, with constraints, edits or maps."""
    if options.prefix or options.forbid or options.glossary or options.attention or options.edits:
        return True
    return not translator.searches_fast(options.settings)


def client_of(request: Request) -> str:
    """Whose request it is, as its admission found."""
    return str(request.state.client)


def parser_limits(settings: ServerSettings) -> ParserLimits:
    """What a document of a request may take."""
    return ParserLimits(
        seconds=settings.parse_seconds,
        seconds_per_megabyte=settings.parse_seconds / 10,
        memory=settings.parse_memory,
        answer=MAX_ANSWER + settings.body_bytes,
        replacement_memory=KEPT_MEMORY,
    )


def spare_cores(catalogue: Catalogue) -> int:
    """Cores for the translator: all but one, which the HTTP side needs.

    Torch's threads wait for each other in every operation: one that shares its core delays all.
    """
    return max(1, catalogue.models[0].translator.threads - 1)


def _retrieve_error(future: asyncio.Future[Any]) -> None:
    """Retrieve an error that nothing waits for any more, or asyncio would log it."""
    if not future.cancelled():
        future.exception()


async def _disconnected(receive: Callable[[], Awaitable[Any]]) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
