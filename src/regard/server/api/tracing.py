"""`/v1/trace`: every number on a sentence's way through a model, for the stages of the page."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field, NonNegativeInt

from regard.server.api.requests import ModelRequest
from regard.server.api.responses import ERROR_RESPONSES
from regard.server.api.spec import request_body
from regard.server.api.v1_schema import EditRequest, TranslationResponse, attention_edits
from regard.server.http.errors import ApiError
from regard.server.queue.routing import find_model
from regard.server.queue.service import Service, client_of
from regard.tasks.inspection import InspectOptions
from regard.tasks.tracing import check_traceable, expected_numbers, trace_text
from regard.tasks.translation.translator import Translator
from regard.views.html.trace_payload import trace_payload
from regard.views.maps.traced import TracedText

MAX_NUMBERS = 4_000_000
"""In one response: about 12 MB."""
TokenIds = Annotated[list[NonNegativeInt], Field(max_length=1000)]


class TraceRequest(ModelRequest):
    """A sentence that is followed through the model."""

    word: str | None = Field(None, max_length=200, description="Of the sentence; else its last.")
    layer: NonNegativeInt | None = Field(None, description="From 0; without it, all layers.")
    head: NonNegativeInt | None = Field(None, description="From 0; without it, all heads.")
    prefix: str | None = Field(None, description="What the translation must begin with.")
    written: TokenIds = Field(
        default_factory=list,
        description="Ids of the tokens that the translation begins with, instead of a prefix: "
        "`ids` of an earlier trace. The model goes on from there, unless the last one is its end.",
    )
    edits: list[EditRequest] = Field(default_factory=list, max_length=100)

    @property
    def other_text(self) -> str:
        return f"{self.prefix or ''}{self.word or ''}"


class TraceResponse(TranslationResponse):
    """A translation, and the steps of every word."""

    trace: dict[str, Any] = Field(
        description="What `regard.stages` of /page/view.js takes and `regard trace --json` prints, "
        "but `values` are base64 of deflated little-endian 32-bit numbers."
    )


def routes(service: Service) -> APIRouter:
    """The operation."""
    api = APIRouter(prefix="/v1", tags=["inside"], responses=ERROR_RESPONSES)

    @api.post(
        "/trace",
        openapi_extra=request_body(TraceRequest, ("application/json",)),
        response_model_exclude_none=True,
        summary="Every number on a sentence's way through the model, step by step.",
    )
    async def trace(request: Request) -> TraceResponse:
        body = await service.admission.admit(request, TraceRequest)
        if body.prefix and body.written:
            raise ApiError(400, "prefix and written are both a beginning; give one of them.")
        model, detected = await find_model(service.catalogue.models, body)
        options = InspectOptions(
            prefix=tuple(body.written) or body.prefix or "",
            edits=tuple(attention_edits(body.edits)),
            split=False,
            name=model.name,
        )
        numbers = await asyncio.to_thread(_expected, model.translator, body.q, options)
        service.memory_budget.take(request.scope, client_of(request), numbers)
        traced = await service.call(
            request,
            lambda: trace_text(
                model.translator,
                body.q,
                word=body.word,
                layer=body.layer,
                head=body.head,
                every_word=True,
                options=options,
            ),
        )
        return TraceResponse(
            text=traced.output,
            model=model.name,
            source=model.source,
            target=model.target,
            detectedLanguage=detected,
            trace=await asyncio.to_thread(_payload, traced),
        )

    return api


def _expected(translator: Translator, text: str, options: InspectOptions) -> int:
    """How many numbers the steps will have; an error, before anything is computed, if too many."""
    check_traceable(translator, text, options)
    count = expected_numbers(translator, text)
    if count > 2 * MAX_NUMBERS:
        raise ApiError(
            400,
            f"the steps would have about {count:,} numbers, too many for one answer; send a "
            "shorter sentence.",
        )
    return count


def _payload(traced: TracedText) -> dict[str, Any]:
    count = sum(step.values.size for step in traced.steps)
    if count > MAX_NUMBERS:
        raise ApiError(
            400,
            f"the steps have {count:,} numbers, more than {MAX_NUMBERS:,}; choose a layer, or send "
            "a shorter sentence.",
        )
    return trace_payload(traced, packed=True)
