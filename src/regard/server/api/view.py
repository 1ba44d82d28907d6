"""What the page shows: a translation, its words, links and maps, as the browser's view takes it.

Without edits a text goes into one batch with everybody's; with edits it has the translator's
thread for itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from fastapi import APIRouter, Request

from regard.server.api.responses import REFUSALS
from regard.server.api.spec import body_of
from regard.server.api.v1 import JSON, model_of
from regard.server.api.v1_schema import FAR_TOO_MANY, ViewAsked, ViewSeen, expected_weights
from regard.server.queue.batching import Manner
from regard.server.queue.catalogue import Model
from regard.server.queue.intervention import Touched, touched
from regard.server.queue.service import Service
from regard.tasks.translation.sentence_view import viewed
from regard.tasks.translation.translator import Wish
from regard.translator import Sentence, Translator
from regard.views.html.payload import shown

Maps = Literal["all", "cross", "none"]
MOST_WEIGHTS = 4_000_000  # in one answer, where they are packed


def routes(service: Service) -> APIRouter:
    """The operation."""
    api = APIRouter(prefix="/v1", tags=["inside"], responses=REFUSALS)

    @api.post(
        "/view",
        openapi_extra=body_of(ViewAsked, JSON),
        response_model_exclude_none=True,
        summary="Translate, with all that the page's view shows; edits change the attention.",
    )
    async def view(request: Request) -> ViewSeen:
        asked = await service.admitted(request, ViewAsked)
        model, detected = await model_of(service, request, asked)
        start = time.perf_counter()
        done = await _translated(service, request, asked, model)
        seconds = time.perf_counter() - start
        maps, sentences = await asyncio.to_thread(
            told, done.translation.sentences, model, asked.prefix or ""
        )
        return ViewSeen(
            text=done.translation.text,
            model=model.name,
            source=model.source,
            target=model.target,
            detectedLanguage=detected,
            sentences=sentences,
            maps=maps if asked.maps else "none",
            unused=done.unused if asked.edits else None,
            seconds=round(seconds, 4),
        )

    return api


async def _translated(
    service: Service, request: Request, asked: ViewAsked, model: Model
) -> Touched:
    search = service.search(model)
    prefix = asked.prefix or ""
    maps = asked.maps and (
        await asyncio.to_thread(expected_weights, model.translator, asked.q) < FAR_TOO_MANY
    )
    wish = Wish(alignment=True, attention=maps)
    if not asked.edits:
        manner = Manner(search, wish, prefix, asked.split)
        ((answer,),) = await service.translate(request, [(model, [asked.q], manner)])
        return Touched(answer.translation, 0)
    return await service.call(request, lambda: touched(model.translator, asked, search, wish))


def told(
    sentences: Sequence[Sentence], model: Model, prefix: str = ""
) -> tuple[Maps, list[dict[str, Any]]]:
    """The sentences as the view takes them, and which of their maps there is room for."""
    maps: Maps = "all"
    if _weights(sentences) > MOST_WEIGHTS:
        maps, sentences = "cross", [_only(one, "cross") for one in sentences]
    if _weights(sentences) > MOST_WEIGHTS or not any(one.attention for one in sentences):
        maps, sentences = "none", [_only(one, "") for one in sentences]
    run = model.translator.run
    return maps, [
        {
            **shown(viewed(one, run, model=model.name)),
            "source": one.source,
            "finished": one.finished,
            "begun": begun(model.translator, prefix),
        }
        for one in sentences
    ]


def begun(translator: Translator, prefix: str) -> int:
    """How many characters of a translation its prefix makes: words that the model does not know
    are written otherwise than they were given."""
    target = translator.tokenizers.target
    return len(target.decode(target.encode(prefix))) if prefix else 0


def _weights(sentences: Sequence[Sentence]) -> int:
    return sum(one.weights.numel() for sentence in sentences for one in sentence.attention)


def _only(sentence: Sentence, kind: str) -> Sentence:
    """A sentence with its maps of one kind alone."""
    kept = tuple(one for one in sentence.attention if one.kind == kind)
    return replace(sentence, attention=kept)
