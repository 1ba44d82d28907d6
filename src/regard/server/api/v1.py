"""The API that explains translations: tokens, links, maps; streams; changes of the attention."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from regard.server.api.requests import ModelRequest, RequestBody
from regard.server.api.responses import ERROR_RESPONSES, DetectedLanguage
from regard.server.api.spec import request_body
from regard.server.api.streaming import events
from regard.server.api.v1_schema import (
    MAX_EXPECTED_WEIGHTS,
    AlternativesRequest,
    ExplainRequest,
    ExplainResponse,
    InterveneRequest,
    ModelResponse,
    ScoredText,
    attention_edits,
    sentence_responses,
)
from regard.server.http.errors import ApiError
from regard.server.queue.catalogue import ServedModel
from regard.server.queue.routing import find_model
from regard.server.queue.service import Service

JSON = ("application/json",)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Events: word, done, error."}
}


def routes(service: Service) -> APIRouter:
    """The operations."""
    api = APIRouter(prefix="/v1", tags=["inside"], responses=ERROR_RESPONSES)

    @api.get("/models", summary="The models that are served; the first of a direction is used.")
    async def models() -> list[ModelResponse]:
        return [
            ModelResponse(
                name=model.name,
                kind=model.translator.run.model.kind,
                source=model.source,
                target=model.target,
            )
            for model in service.catalogue.models
        ]

    @api.post(
        "/translate",
        openapi_extra=request_body(ExplainRequest, JSON),
        response_model_exclude_none=True,
        summary="Translate, with tokens, word links, confidence and selected maps.",
    )
    async def translate(request: Request) -> ExplainResponse:
        body = await service.admission.admit(request, ExplainRequest)
        return await explain(request, body)

    @api.post(
        "/intervene",
        openapi_extra=request_body(InterveneRequest, JSON),
        response_model_exclude_none=True,
        summary="Translate a sentence with heads switched off or rows of weights overwritten.",
    )
    async def intervene(request: Request) -> ExplainResponse:
        body = await service.admission.admit(request, InterveneRequest)
        return await explain(request, body.model_copy(update={"split": False}), max_sentences=1)

    async def explain(
        request: Request, body: ExplainRequest, max_sentences: int | None = None
    ) -> ExplainResponse:
        model, detected = await requested_model(service, body)
        translator = model.translator
        if body.maps and (
            await asyncio.to_thread(translator.estimate_map_size, body.q) > MAX_EXPECTED_WEIGHTS
        ):
            raise ApiError(400, "the maps would be too large; send less text.")
        edits = body.edits if isinstance(body, InterveneRequest) else None
        options = translator.options(
            n_best=1 + body.alternatives,
            sample=False,
            prefix=body.prefix or "",
            split=body.split,
            attention=bool(body.maps),
            edits=attention_edits(edits or ()),
        )
        group = (model, [body.q], options)
        ((translation,),) = await service.translate(request, [group], max_sentences)
        sentences = await asyncio.to_thread(sentence_responses, translation.sentences, body.maps)
        return ExplainResponse(
            text=translation.text,
            model=model.name,
            source=model.source,
            target=model.target,
            detectedLanguage=detected,
            alternatives=[other.text for other in translation.alternatives],
            sentences=sentences,
            unused=None if edits is None else translation.unused_edits,
        )

    @api.post(
        "/alternatives",
        openapi_extra=request_body(AlternativesRequest, JSON),
        summary="Other translations from a word on, and how they continue.",
    )
    async def alternatives(request: Request) -> list[ScoredText]:
        body = await service.admission.admit(request, AlternativesRequest)
        model, _ = await requested_model(service, body)
        translator = model.translator
        await asyncio.to_thread(translator.encode_pair, body.q, body.translation)  # that it fits
        choices = await service.call(
            request,
            lambda: translator.alternatives(body.q, body.translation, body.word, body.count),
        )
        return [ScoredText(text=text, score=share) for text, share in choices]

    @api.post(
        "/stream",
        openapi_extra=request_body(ExplainRequest, JSON),
        responses=STREAM,
        response_class=StreamingResponse,
        summary="The greedy translation word by word, as server-sent events.",
    )
    async def stream(request: Request) -> StreamingResponse:
        body = await service.admission.admit(request, ExplainRequest)
        model, _ = await requested_model(service, body)
        updates = await service.call(
            request,
            lambda: model.translator.stream(body.q, split=body.split, prefix=body.prefix or ""),
        )
        content: AsyncIterator[str] = events(service, updates)
        return StreamingResponse(content, media_type="text/event-stream")

    @api.post(
        "/reload", openapi_extra=request_body(RequestBody, JSON), summary="Load the models again."
    )
    async def reload(request: Request) -> list[ModelResponse]:
        await service.admission.admit(request, RequestBody, admin=True)
        await service.reload()
        return await models()

    return api


async def requested_model(
    service: Service, body: ModelRequest
) -> tuple[ServedModel, DetectedLanguage | None]:
    """The model for a request, and the source language if it had to be detected."""
    model, detection = await find_model(
        service.catalogue.models, body.q, body.source, body.target, body.model
    )
    if detection is None:
        return model, None
    return model, DetectedLanguage(confidence=detection.confidence, language=detection.language)
