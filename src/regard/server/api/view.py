"""What the page shows: a translation, its words, links and maps, in the browser view's format."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from fastapi import APIRouter, Request

from regard.server.api.responses import ERROR_RESPONSES
from regard.server.api.spec import request_body
from regard.server.api.v1 import JSON, requested_model
from regard.server.api.v1_schema import (
    MAX_EXPECTED_WEIGHTS,
    ViewRequest,
    ViewResponse,
    attention_edits,
)
from regard.server.queue.catalogue import ServedModel
from regard.server.queue.service import Service
from regard.tasks.translation.inspection import sentence_view
from regard.tasks.translation.translation import Sentence
from regard.views.html.payload import sentence_payload

Maps = Literal["all", "cross", "none"]
MAX_WEIGHTS = 4_000_000  # in one response, where they are compressed
MAX_EDITED_SENTENCES = 20


def routes(service: Service) -> APIRouter:
    """The operation."""
    api = APIRouter(prefix="/v1", tags=["inside"], responses=ERROR_RESPONSES)

    @api.post(
        "/view",
        openapi_extra=request_body(ViewRequest, JSON),
        response_model_exclude_none=True,
        summary="Translate, with all that the page's view shows; edits change the attention.",
    )
    async def view(request: Request) -> ViewResponse:
        body = await service.admission.admit(request, ViewRequest)
        model, detected = await requested_model(service, body)
        start = time.perf_counter()
        translator, prefix = model.translator, body.prefix or ""
        attention = body.maps and (
            await asyncio.to_thread(translator.estimate_map_size, body.q) < MAX_EXPECTED_WEIGHTS
        )
        options = translator.options(
            n_best=1,
            sample=False,
            prefix=prefix,
            split=body.split,
            attention=attention,
            edits=attention_edits(body.edits),
        )
        limit = MAX_EDITED_SENTENCES if body.edits else None
        ((translation,),) = await service.translate(request, [(model, [body.q], options)], limit)
        seconds = time.perf_counter() - start
        maps, sentences = await asyncio.to_thread(payloads, translation.sentences, model, prefix)
        return ViewResponse(
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

    return api


def payloads(
    sentences: Sequence[Sentence], model: ServedModel, prefix: str = ""
) -> tuple[Maps, list[dict[str, Any]]]:
    """The sentences in the view's format, with as many of their maps as there is room for.

    `begun` is the number of characters of the translation that the prefix makes.
    """
    maps: Maps = "all"
    if _num_weights(sentences) > MAX_WEIGHTS:
        maps, sentences = "cross", [_with_maps(sentence, "cross") for sentence in sentences]
    no_maps = not any(sentence.attention for sentence in sentences)
    if _num_weights(sentences) > MAX_WEIGHTS or no_maps:
        maps, sentences = "none", [_with_maps(sentence, "") for sentence in sentences]
    begun = len(model.translator.spell(prefix)) if prefix else 0
    return maps, [
        {
            **sentence_payload(sentence_view(sentence, model.translator.info, name=model.name)),
            "source": sentence.source,
            "finished": sentence.finished,
            "begun": begun,
        }
        for sentence in sentences
    ]


def _num_weights(sentences: Sequence[Sentence]) -> int:
    return sum(m.weights.numel() for sentence in sentences for m in sentence.attention)


def _with_maps(sentence: Sentence, kind: str) -> Sentence:
    """A sentence with its maps of one kind only."""
    maps = tuple(layer_map for layer_map in sentence.attention if layer_map.kind == kind)
    return replace(sentence, attention=maps)
