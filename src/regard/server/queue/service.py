"""What all operations of a server share: who may ask, and waiting for an answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from fastapi import Request

from regard.config import SearchOptions
from regard.errors import InputError
from regard.server.access.keys import Key, find_key
from regard.server.access.rates import Rates, neighbourhood
from regard.server.api.detection import Found, detect_all
from regard.server.api.requests import Asked, Body, read
from regard.server.http.errors import LEFT, RefusalError
from regard.server.http.log import tell, trouble
from regard.server.http.metrics import Metrics
from regard.server.http.settings import Serving
from regard.server.queue.background import Aside
from regard.server.queue.batching import Answer, Batcher, Call, Errand, Manner, Texts
from regard.server.queue.catalogue import Catalogue, Model
from regard.worker_pool import cores

Result = TypeVar("Result")
Groups = Sequence[tuple[Model, Sequence[str], Manner]]


class Service:
    """The models, the queue before them, and the rules."""

    def __init__(self, catalogue: Catalogue, settings: Serving, keys: tuple[Key, ...] = ()) -> None:
        if settings.key_required and not keys:
            raise InputError("a key is required, but there is none; make one with --make-key.")
        self.catalogue = catalogue
        self.settings = settings
        self.keys = keys
        self.rates = Rates()
        self.metrics = Metrics()
        self.batcher = Batcher(
            waiting=settings.waiting,
            together=settings.together,
            linger=settings.linger,
            threads=catalogue.threads or spare_cores(),
            on_batch=self.metrics.batch,
        )
        self.aside = Aside(settings.waiting)
        self.metrics.watch(self.batcher.__len__)

    async def admitted(self, request: Request, form: type[Body], *, admin: bool = False) -> Body:
        """What is asked, once it is known who asks and that they may."""
        asked = await read(request, form)
        self.admit(request, asked, admin=admin)
        return asked

    def admit(self, request: Request, asked: Asked, *, admin: bool = False) -> None:
        """Refuse who may not ask, or not now."""
        key = find_key(asked.api_key, self.keys) if asked.api_key and self.keys else None
        if self.keys and asked.api_key and key is None:
            raise RefusalError(403, "Invalid API key")
        if key is None and (self.settings.key_required or admin):
            raise RefusalError(403, "Please contact the server operator to get an API key")
        if admin and not (key and key.admin):
            raise RefusalError(403, "this API key may not do that.")
        request.state.until = time.monotonic() + self.settings.timeout
        if key is not None:
            request.scope["regard"]["key"] = key.name
        address = request.client.host if request.client else "unknown"
        who = f"key {key.name}" if key else f"address {neighbourhood(address)}"
        rate = self.settings.rate if key is None or key.rate is None else key.rate
        seconds = self.rates.wait(who, rate)
        if seconds:
            raise RefusalError(429, f"Slowdown: {rate} per 1 minute", seconds)

    def measure(self, request: Request, texts: Sequence[str], besides: str = "") -> None:
        """Refuse what is too long, and note how long the rest is.

        `besides` is what is no text to translate, but counts as well.
        """
        most, count = self.settings, sum(map(len, texts)) + len(besides)
        for given, limit, what in (
            (len(texts), most.texts, "texts"),
            (count, most.characters, "characters"),
        ):
            if given > limit:
                raise RefusalError(
                    400,
                    f"Invalid request: request ({given}) exceeds text limit ({limit}); "
                    f"`regard serve --max-{what}` sets how many {what} are allowed",
                )
        request.scope["regard"]["characters"] = count

    async def detected(
        self, texts: Sequence[str], target: str, *, anyhow: bool = False
    ) -> list[Found]:
        """The language of each text, among those that a model translates into the target's.

        `anyhow` says that it may be by way of a third language too, or the target's already.
        """
        sources = self.catalogue.sources(target, through=anyhow)
        if not sources:
            raise RefusalError(400, f"no model translates into {target}.")
        known = list(dict.fromkeys((*sources, target))) if anyhow else sources
        return await asyncio.to_thread(detect_all, texts, known)

    def search(self, model: Model, alternatives: int = 0) -> SearchOptions:
        """The model's own search, for as many hypotheses as are wanted."""
        own = model.translator.run.decoding
        wanted = 1 + alternatives
        return replace(own, sample=False, n_best=wanted, beam=max(own.beam, wanted))

    async def translate(self, request: Request, groups: Groups) -> list[list[Answer]]:
        """The answers to each group of texts, which may be of different models."""
        errands = [
            Texts(model.translator, texts, manner) for model, texts, manner in groups
        ]  # fmt: skip
        return await self._answered(errands, request)

    async def call(self, request: Request, function: Callable[[], Result]) -> Result:
        """What a function gives that the translator's thread calls."""
        return (await self._answered([Call(function)], request))[0]

    async def step(self, function: Callable[[], Result]) -> Result:
        """The same where somebody else watches whether the client is still there."""
        return (await self._answered([Call(function)], None))[0]

    async def beside(self, request: Request, function: Callable[[], Result]) -> Result:
        """What a function gives that takes time, but no model."""
        return await self._waited(self.aside.begin(function), request)

    async def reload(self) -> None:
        """Read the models anew; requests under way keep the model they have."""
        try:
            await asyncio.to_thread(self.catalogue.reload)
        except Exception as error:
            tell("models kept: reading them anew failed", level=logging.ERROR, **trouble(error))
            raise RefusalError(503, "the models cannot be read; the old ones stay.", 60) from None
        tell("models read anew", models=[one.name for one in self.catalogue.models])

    async def _answered(
        self, errands: Sequence[Errand[Result]], request: Request | None
    ) -> list[Result]:
        """The results of all errands, whose places are free afterwards."""
        if not errands:
            return []
        self.batcher.put(*errands)
        answers = asyncio.gather(*(errand.future for errand in errands))
        try:
            return await self._waited(answers, request)
        finally:
            self.batcher.drop(*errands)

    async def _waited(self, result: asyncio.Future[Result], request: Request | None) -> Result:
        """Wait until the request's time is over, and not if the client goes away.

        Without a request, somebody else watches the client, and each step has its own time.
        """
        result.add_done_callback(_noted)
        awaited: set[asyncio.Future[Any]] = {result}
        seconds = self.settings.timeout
        if request is not None:
            awaited.add(asyncio.ensure_future(_gone(request.receive)))
            seconds = max(0.0, request.state.until - time.monotonic())
        try:
            done, _ = await asyncio.wait(
                awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if result in done:
                return result.result()
            if done:
                raise RefusalError(LEFT, "who asked is gone.")
            raise RefusalError(503, "this took too long; ask for less, or later.", 10)
        finally:
            for one in awaited:
                one.cancel()


def _noted(future: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody waits for any more, or asyncio would log it."""
    if not future.cancelled():
        future.exception()


def spare_cores() -> int:
    """Cores for the translator: all but one, which the HTTP side needs.

    Torch's threads wait for each other in every operation: one that has to share its core holds
    up all.
    """
    return max(1, cores() - 1)


async def _gone(receive: Callable[[], Awaitable[Any]]) -> None:
    """Return when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
