"""The API that explains translations: tokens, links, maps; streams; changes of the attention."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from regard.config import SearchOptions
from regard.config.schema import HttpField, options_of
from regard.errors import InputError
from regard.server.api.requests import PrefixRequest, RequestBody
from regard.server.api.responses import ERROR_RESPONSES, as_json
from regard.server.api.spec import request_body
from regard.server.api.v1_schema import (
    MAX_WEIGHTS,
    AlternativesRequest,
    EditRequest,
    ExplainRequest,
    ExplainResponse,
    InterveneRequest,
    ModelResponse,
    ScoredText,
    ViewRequest,
    ViewResponse,
    attention_edits,
    selected_share,
    sentence_responses,
)
from regard.server.api.view import payloads
from regard.server.http.errors import ApiError
from regard.server.queue.catalogue import ServedModel
from regard.server.queue.routing import find_model
from regard.server.queue.service import Service, client_of
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translator import StreamedText

MAX_EXPECTED_WEIGHTS = 12_000_000  # of all maps of a text; more are not even computed
MAX_RETURNED_WEIGHTS = 1.5 * MAX_WEIGHTS  # of the chosen maps, by the same estimate
MAX_EDITED_SENTENCES = 20  # of a text that is shown
JSON = ("application/json",)
OPTIONS = {
    "forbid",
    "glossary",
    *(name for name, option in options_of(SearchOptions).items() if option.mark(HttpField)),
}
"""Fields of a request that are keywords of `Translator.translate`."""
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
        response_model=ExplainResponse,
        openapi_extra=request_body(ExplainRequest, JSON),
        summary="Translate, with tokens, word links, confidence and selected maps.",
    )
    async def translate(request: Request) -> Response:
        body = await service.admission.admit(request, ExplainRequest)
        return await explain(request, body)

    @api.post(
        "/intervene",
        response_model=ExplainResponse,
        openapi_extra=request_body(InterveneRequest, JSON),
        summary="Translate a sentence with heads switched off or rows of weights overwritten.",
    )
    async def intervene(request: Request) -> Response:
        body = await service.admission.admit(request, InterveneRequest)
        return await explain(request, body.model_copy(update={"split": False}), max_sentences=1)

    async def explain(
        request: Request, body: ExplainRequest, max_sentences: int | None = None
    ) -> Response:
        model, detected = await find_model(service.catalogue.models, body)
        if body.maps:
            expected = await map_size(model, body)
            share = selected_share(body.maps, model.translator.run.model)
            if expected > MAX_EXPECTED_WEIGHTS or share * expected > MAX_RETURNED_WEIGHTS:
                raise ApiError(400, "the maps would be too large; choose fewer, or send less text.")
            hold(request, expected)
        edits = body.edits if isinstance(body, InterveneRequest) else None
        attention, num_best = bool(body.maps), 1 + body.alternatives
        translation = await translate_text(
            request, body, model, attention, edits or (), max_sentences, num_best
        )
        sentences = await service.run_in_background(
            request, lambda: sentence_responses(translation.sentences, body.maps)
        )
        response = ExplainResponse(
            text=translation.text,
            model=model.name,
            source=model.source,
            target=model.target,
            detectedLanguage=detected,
            alternatives=[other.text for other in translation.alternatives],
            sentences=sentences,
            unused=None if edits is None else translation.unused_edits,
        )
        return await service.run_in_background(request, lambda: as_json(response))

    @api.post(
        "/view",
        response_model=ViewResponse,
        openapi_extra=request_body(ViewRequest, JSON),
        summary="Translate, with all that the page's view shows; edits change the attention.",
    )
    async def view(request: Request) -> Response:
        body = await service.admission.admit(request, ViewRequest)
        model, detected = await find_model(service.catalogue.models, body)
        start = time.perf_counter()
        expected = await map_size(model, body) if body.maps else 0
        attention = 0 < expected < MAX_EXPECTED_WEIGHTS
        if attention:
            hold(request, expected)
        limit = MAX_EDITED_SENTENCES if body.edits else None
        translation = await translate_text(request, body, model, attention, body.edits, limit)
        seconds = time.perf_counter() - start
        maps, sentences = await service.run_in_background(
            request, lambda: payloads(translation.sentences, model, body.prefix or "")
        )
        response = ViewResponse(
            text=translation.text,
            model=model.name,
            source=model.source,
            target=model.target,
            detectedLanguage=detected,
            sentences=sentences,
            maps=maps if body.maps else "none",
            unused=translation.unused_edits if body.edits else None,
            seconds=round(seconds, 4),
        )
        return await service.run_in_background(request, lambda: as_json(response))

    async def map_size(model: ServedModel, body: PrefixRequest) -> int:
        estimate = partial(model.translator.estimate_map_size, body.q, split=body.split)
        return await asyncio.to_thread(estimate)

    def hold(request: Request, numbers: int) -> None:
        service.memory_budget.take(request.scope, client_of(request), numbers)

    async def translate_text(
        request: Request,
        body: PrefixRequest,
        model: ServedModel,
        attention: bool,
        edits: Sequence[EditRequest],
        max_sentences: int | None,
        num_best: int = 1,
    ) -> Translation:
        options = model.translator.options(
            n_best=num_best,
            sample=False,
            prefix=body.prefix or "",
            split=body.split,
            protect=body.protect,
            memory=service.memory_of(model) if isinstance(body, ExplainRequest) else None,
            attention=attention,
            edits=attention_edits(edits),
            **body.model_dump(include=OPTIONS, exclude_unset=True),
        )
        ((translation,),) = await service.translate(
            request, [(model, [body.q], options)], max_sentences
        )
        return translation

    @api.post(
        "/alternatives",
        openapi_extra=request_body(AlternativesRequest, JSON),
        summary="Other translations from a word on, and how they continue.",
    )
    async def alternatives(request: Request) -> list[ScoredText]:
        body = await service.admission.admit(request, AlternativesRequest)
        model, _ = await find_model(service.catalogue.models, body)
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
        if body.forbid or body.glossary:
            raise ApiError(400, "a stream takes no forbid and no glossary; use /v1/translate.")
        model, _ = await find_model(service.catalogue.models, body)
        updates = await service.call(
            request,
            lambda: model.translator.stream(body.q, split=body.split, prefix=body.prefix or ""),
        )
        return StreamingResponse(events(service, request, updates), media_type="text/event-stream")

    @api.post(
        "/reload",
        openapi_extra=request_body(RequestBody, JSON),
        summary="Load the models again, in one worker after another.",
    )
    async def reload(request: Request) -> list[ModelResponse]:
        await service.admission.admit(request, RequestBody, admin=True)
        await service.reload()
        service.reload_others()
        return await models()

    return api


async def events(
    service: Service, request: Request, stream: Iterator[StreamedText]
) -> AsyncIterator[str]:
    """`word` events with a sentence's number and its text so far, then `done` with all of it."""
    whole = ""
    try:
        step = partial(next, stream, None)
        while (update := await service.call(request, step, watch=False)) is not None:
            whole = update.whole
            yield event("word", sentence=update.sentence, text=update.text)
        yield event("done", text=whole)
    except (ApiError, InputError) as error:
        yield event("error", error=service.catalogue.hide_folders(str(error)))


def event(name: str, **fields: Any) -> str:
    """One server-sent event; JSON has no line breaks of its own.

    >>> event("word", text="é")
    'event: word\\ndata: {"text": "é"}\\n\\n'
    """
    return f"event: {name}\ndata: {json.dumps(fields, ensure_ascii=False)}\n\n"
