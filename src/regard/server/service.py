"""What all operations of a server share: who may ask, and waiting for an answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from fastapi import Request

from regard.config import Decoding
from regard.errors import InputError
from regard.server.asked import Asked, Body, read
from regard.server.batching import Answer, Batcher, Call, Errand, Manner, Texts
from regard.server.catalogue import Catalogue, Model
from regard.server.detection import Found, detect_all
from regard.server.keys import Key, find_key
from regard.server.log import tell, trouble
from regard.server.metrics import Metrics
from regard.server.rates import Rates, neighbourhood
from regard.server.refusal import LEFT, RefusalError
from regard.server.settings import Serving
from regard.training.shards import cores

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
            raise RefusalError(403, "this API key is not known here.")
        if key is None and (self.settings.key_required or admin):
            raise RefusalError(403, "this needs an API key; ask who runs the server for one.")
        if admin and not (key and key.admin):
            raise RefusalError(403, "this API key may not do that.")
        if key is not None:
            request.scope["regard"]["key"] = key.name
        address = request.client.host if request.client else "unknown"
        who = f"key {key.name}" if key else f"address {neighbourhood(address)}"
        rate = self.settings.rate if key is None or key.rate is None else key.rate
        seconds = self.rates.wait(who, rate)
        if seconds:
            raise RefusalError(429, f"too many requests; {rate} a minute are allowed.", seconds)

    def measure(self, request: Request, texts: Sequence[str]) -> None:
        """Refuse what is too long, and note how long the rest is."""
        most, count = self.settings, sum(map(len, texts))
        if len(texts) > most.texts:
            raise RefusalError(400, f"{len(texts)} texts are too many; {most.texts} are allowed.")
        if count > most.characters:
            raise RefusalError(
                400, f"{count} characters are too many; {most.characters} are allowed."
            )
        request.scope["regard"]["characters"] = count

    async def detected(
        self, texts: Sequence[str], target: str, *, through: bool = False
    ) -> list[Found]:
        """The language of each text, among those that can be translated into the target's.

        `through` says whether it may be by way of a third language.
        """
        sources = self.catalogue.sources(target, through=through)
        if not sources:
            raise RefusalError(400, f"no model translates into {target}.")
        return await asyncio.to_thread(detect_all, texts, sources)

    def search(self, model: Model, alternatives: int = 0) -> Decoding:
        """The model's own search, for as many hypotheses as are wanted."""
        own = model.translator.run.decoding
        wanted = 1 + alternatives
        return replace(own, sample=False, n_best=wanted, beam=max(own.beam, wanted))

    async def translate(self, request: Request, groups: Groups) -> list[list[Answer]]:
        """The answers to each group of texts, which may be of different models."""
        errands = [
            Texts(model.translator, texts, manner) for model, texts, manner in groups
        ]  # fmt: skip
        return await self._answered(request.receive, errands)

    async def call(self, request: Request, function: Callable[[], Result]) -> Result:
        """What a function gives that the translator's thread calls."""
        return (await self._answered(request.receive, [Call(function)]))[0]

    async def step(self, function: Callable[[], Result]) -> Result:
        """The same where somebody else watches whether the client is still there."""
        return (await self._answered(None, [Call(function)]))[0]

    async def reload(self) -> None:
        """Read the models anew; requests under way keep the model they have."""
        try:
            await asyncio.to_thread(self.catalogue.reload)
        except Exception as error:
            tell("models kept: reading them anew failed", level=logging.ERROR, **trouble(error))
            raise RefusalError(503, "the models cannot be read; the old ones stay.", 60) from None
        tell("models read anew", models=[one.name for one in self.catalogue.models])

    async def _answered(
        self, receive: Callable[[], Awaitable[Any]] | None, errands: Sequence[Errand[Result]]
    ) -> list[Result]:
        """Wait for all errands, not too long, and not if the client goes away."""
        if not errands:
            return []
        self.batcher.put(*errands)
        answers = asyncio.gather(*(errand.future for errand in errands))
        answers.add_done_callback(_noted)
        awaited: set[asyncio.Future[Any]] = {answers}
        if receive is not None:
            awaited.add(asyncio.ensure_future(_gone(receive)))
        try:
            done, _ = await asyncio.wait(
                awaited, timeout=self.settings.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if answers in done:
                return answers.result()
            if done:
                raise RefusalError(LEFT, "who asked is gone.")
            raise RefusalError(503, "this took too long; ask for less, or later.", 10)
        finally:
            for one in awaited:
                one.cancel()
            self.batcher.drop(*errands)


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
