"""LibreTranslate's HTTP API, so that its clients work unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter, Request

from regard.documents.html import HtmlDocument, parse_html
from regard.server.api.detection import Found, detect
from regard.server.api.requests import FORMATS, DetectAsked, TranslateAsked
from regard.server.api.responses import (
    REFUSALS,
    Detected,
    FirstLanguages,
    FrontendSettings,
    Health,
    Language,
    Named,
    Translated,
)
from regard.server.api.spec import body_of
from regard.server.queue.batching import Answer
from regard.server.queue.routing import Wanted, by_language
from regard.server.queue.service import Service
from regard.tasks.translation.translator import Wish
from regard.text.language_names import language_name

PLAIN = Wish(alignment=False, attention=False)
LINKED = Wish(alignment=True, attention=False)
LEAST = 1.0  # of a language's confidence, to be told of


def routes(service: Service) -> APIRouter:
    """The operations."""
    api = APIRouter(tags=["translate"])

    @api.post(
        "/translate",
        response_model=Translated,
        response_model_exclude_none=True,
        responses=REFUSALS,
        openapi_extra=body_of(TranslateAsked),
        summary="Translate a text, or each text of a list.",
    )
    async def translate(request: Request) -> Translated:
        asked = await service.admitted(request, TranslateAsked)
        return await translated(service, request, asked)

    @api.post(
        "/detect",
        response_model=list[Detected],
        responses=REFUSALS,
        openapi_extra=body_of(DetectAsked),
        summary="Tell which language a text is in, the likeliest first.",
    )
    async def detected(request: Request) -> list[Detected]:
        asked = await service.admitted(request, DetectAsked)
        service.measure(request, [asked.q])
        found = await asyncio.to_thread(detect, asked.q, service.catalogue.codes)
        return [
            _detected(one) for rank, one in enumerate(found) if rank == 0 or one.confidence >= LEAST
        ]

    @api.get("/languages", summary="The languages, and what each can be translated into.")
    async def languages() -> list[Language]:
        known = service.catalogue
        return [
            Language(code=code, name=language_name(code), targets=known.targets(code))
            for code in known.codes
        ]

    @api.get("/health", summary="Whether the server answers.")
    async def health() -> Health:
        return Health()

    @api.get("/frontend/settings", summary="What a page needs to know of the server.")
    async def settings() -> FrontendSettings:
        first = service.catalogue.models[0]
        return FrontendSettings(
            apiKeys=bool(service.keys),
            charLimit=service.settings.characters,
            filesTranslation=True,
            frontendTimeout=500,
            keyRequired=service.settings.key_required,
            language=FirstLanguages(source=_named(first.source), target=_named(first.target)),
            supportedFilesFormat=list(FORMATS),
        )

    return api


async def translated(service: Service, request: Request, asked: TranslateAsked) -> Translated:
    """Translate what is asked, by whichever models it takes."""
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    service.measure(request, texts)
    pages = None
    if asked.format == "html":
        pages = await service.beside(request, lambda: [parse_html(text) for text in texts])
    pieces = [[text] for text in texts] if pages is None else [page.texts for page in pages]
    known = service.catalogue
    target = known.code(asked.target)
    found: list[Found] | None = None
    if asked.source == "auto":
        found = await service.detected([" ".join(own) for own in pieces], target, anyhow=True)
        sources = [one.language for one in found]
    else:
        sources = [known.code(asked.source)] * len(texts)
    wish = PLAIN if pages is None else LINKED
    wanted = Wanted(target, asked.alternatives or 0, wish)
    answers = await by_language(service, request, pieces, sources, wanted)
    if pages is None:
        ranked = [[one.translation.text, *one.alternatives] for (one,) in answers]
    else:
        together = list(zip(pages, answers, sources, texts, strict=True))
        ranked = await service.beside(
            request,
            lambda: [
                _pages(page, own) if source != target else [text]
                for page, own, source, text in together
            ],
        )
    made = [one[0] for one in ranked]
    others = [one[1:] for one in ranked] if asked.alternatives else None
    detected = None if found is None else [_detected(one) for one in found]
    if isinstance(asked.q, str):
        return Translated(
            translatedText=made[0],
            detectedLanguage=None if detected is None else detected[0],
            alternatives=None if others is None else others[0],
        )
    return Translated(translatedText=made, detectedLanguage=detected, alternatives=others)


def _pages(page: HtmlDocument, answers: Sequence[Answer]) -> list[str]:
    """A page with the best translations, then with the next best, where they are others."""
    most = max((len(one.others) for one in answers), default=0)
    made = [page.render([one.translation for one in answers])]
    for rank in range(most):
        chosen = (one.others[rank] if rank < len(one.others) else one.translation
                  for one in answers)  # fmt: skip
        made.append(page.render(list(chosen)))
    return list(dict.fromkeys(made))


def _detected(found: Found) -> Detected:
    return Detected(confidence=found.confidence, language=found.language)


def _named(code: str) -> Named:
    return Named(code=code, name=language_name(code))
