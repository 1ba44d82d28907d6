"""The API that shows a model's inside: tokens, links, maps; streams; attention taken hold of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from regard.server.api.requests import Asked, TextAsked
from regard.server.api.responses import REFUSALS, Detected
from regard.server.api.spec import body_of
from regard.server.api.streaming import events
from regard.server.api.v1_schema import (
    FAR_TOO_MANY,
    AlternativesAsked,
    InterveneAsked,
    LookAsked,
    ModelSeen,
    Scored,
    Seen,
    expected_weights,
    sentences_seen,
)
from regard.server.http.errors import RefusalError
from regard.server.queue.batching import Answer, Manner
from regard.server.queue.catalogue import Model
from regard.server.queue.cutting import must_fit, pieces
from regard.server.queue.intervention import touched
from regard.server.queue.service import Service
from regard.tasks.translation.translator import Wish

JSON = ("application/json",)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Events: word, done, error."}
}


def routes(service: Service) -> APIRouter:
    """The operations."""
    api = APIRouter(prefix="/v1", tags=["inside"], responses=REFUSALS)

    @api.get("/models", summary="The models that are served; the first of a direction is used.")
    async def models() -> list[ModelSeen]:
        return [
            ModelSeen(
                name=one.name,
                kind=one.translator.run.model.kind,
                source=one.source,
                target=one.target,
            )
            for one in service.catalogue.models
        ]

    @api.post(
        "/translate",
        openapi_extra=body_of(LookAsked, JSON),
        response_model_exclude_none=True,
        summary="Translate, and tell tokens, word links, confidence and chosen maps.",
    )
    async def translate(request: Request) -> Seen:
        asked = await service.admitted(request, LookAsked)
        model, detected = await model_of(service, request, asked)
        await _affordable(model, asked)
        manner = Manner(
            service.search(model, asked.alternatives),
            Wish(alignment=True, attention=bool(asked.maps)),
            asked.prefix or "",
            asked.split,
        )
        ((answer,),) = await service.translate(request, [(model, [asked.q], manner)])
        return await _seen(answer, model, detected, asked)

    @api.post(
        "/intervene",
        openapi_extra=body_of(InterveneAsked, JSON),
        response_model_exclude_none=True,
        summary="Translate a sentence with heads switched off or rows of weights overwritten.",
    )
    async def intervene(request: Request) -> Seen:
        asked = await service.admitted(request, InterveneAsked)
        model, detected = await model_of(service, request, asked)
        await _affordable(model, asked)
        search = service.search(model, asked.alternatives)
        wish = Wish(alignment=True, attention=bool(asked.maps))
        done = await service.call(
            request, lambda: touched(model.translator, asked, search, wish, most=1)
        )
        seen = await _seen(Answer(done.translation), model, detected, asked)
        return seen.model_copy(update={"unused": done.unused})

    @api.post(
        "/alternatives",
        openapi_extra=body_of(AlternativesAsked, JSON),
        summary="What else could stand at a word, and how the translation would go on.",
    )
    async def alternatives(request: Request) -> list[Scored]:
        asked = await service.admitted(request, AlternativesAsked)
        model, _ = await model_of(service, request, asked)
        await asyncio.to_thread(must_fit, model.translator, asked.q, asked.translation)
        found = await service.call(
            request,
            lambda: model.translator.alternatives(
                asked.q, asked.translation, asked.word, asked.count
            ),
        )
        return [Scored(text=text, score=share) for text, share in found]

    @api.post(
        "/stream",
        openapi_extra=body_of(LookAsked, JSON),
        responses=STREAM,
        response_class=StreamingResponse,
        summary="The most probable translation word by word, as server-sent events.",
    )
    async def stream(request: Request) -> StreamingResponse:
        asked = await service.admitted(request, LookAsked)
        model, _ = await model_of(service, request, asked)
        parts = await service.call(
            request,
            lambda: pieces(model.translator, asked.q, split=asked.split, prefix=asked.prefix or ""),
        )
        body: AsyncIterator[str] = events(service.step, model.translator, parts, asked)
        return StreamingResponse(body, media_type="text/event-stream")

    @api.post("/reload", openapi_extra=body_of(Asked, JSON), summary="Read the models anew.")
    async def reload(request: Request) -> list[ModelSeen]:
        await service.admitted(request, Asked, admin=True)
        await service.reload()
        return await models()

    return api


async def model_of(
    service: Service, request: Request, asked: TextAsked
) -> tuple[Model, Detected | None]:
    """The model that is meant, and the language if it had to be found out."""
    service.measure(request, [asked.q], asked.besides)
    known = service.catalogue
    target = known.code(asked.target)
    if asked.source != "auto":
        return known.model(known.code(asked.source), target, asked.model), None
    (found,) = await service.detected([asked.q], target)
    detected = Detected(confidence=found.confidence, language=found.language)
    return known.model(found.language, target, asked.model), detected


async def _affordable(model: Model, asked: LookAsked) -> None:
    """Refuse maps that would fill the memory before they could be counted."""
    if not asked.maps:
        return
    if await asyncio.to_thread(expected_weights, model.translator, asked.q) > FAR_TOO_MANY:
        raise RefusalError(400, "the maps would be too large; send less text.")


async def _seen(answer: Answer, model: Model, detected: Detected | None, asked: LookAsked) -> Seen:
    sentences = await asyncio.to_thread(sentences_seen, answer, asked.maps)
    return Seen(
        text=answer.translation.text,
        model=model.name,
        source=model.source,
        target=model.target,
        detectedLanguage=detected,
        alternatives=list(answer.alternatives),
        sentences=sentences,
    )
