"""LibreTranslate's HTTP API, so that its clients work unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.documents.document import DocumentOptions
from regard.documents.processes import DocumentSource
from regard.documents.registry import BY_SUFFIX
from regard.server.api.detection import detect
from regard.server.api.requests import DetectRequest, TranslateRequest
from regard.server.api.responses import (
    ERROR_RESPONSES,
    DefaultLanguages,
    DetectedLanguage,
    FrontendSettings,
    HealthResponse,
    LanguageResponse,
    NamedLanguage,
    TranslateResponse,
    as_json,
)
from regard.server.api.spec import request_body
from regard.server.queue.pivot import translate_routes
from regard.server.queue.routing import find_routes, language_codes, target_languages
from regard.server.queue.service import Service
from regard.tasks.translation.translation import Translation
from regard.text.language_names import language_name

MIN_CONFIDENCE = 1.0  # of a language that is reported besides the most probable


def routes(service: Service) -> APIRouter:
    """The operations."""
    api = APIRouter(tags=["translate"])

    @api.post(
        "/translate",
        response_model=TranslateResponse,
        responses=ERROR_RESPONSES,
        openapi_extra=request_body(TranslateRequest),
        summary="Translate a text, or each text of a list.",
    )
    async def translate(request: Request) -> Response:
        body = await service.admission.admit(request, TranslateRequest)
        return as_json(await translate_body(service, request, body))

    @api.post(
        "/detect",
        response_model=list[DetectedLanguage],
        responses=ERROR_RESPONSES,
        openapi_extra=request_body(DetectRequest),
        summary="Detect the language of a text, the most probable first.",
    )
    async def detect_language(request: Request) -> list[DetectedLanguage]:
        body = await service.admission.admit(request, DetectRequest)
        codes = language_codes(service.catalogue.models)
        best, *others = await asyncio.to_thread(detect, body.q, codes)
        probable = [other for other in others if other.confidence >= MIN_CONFIDENCE]
        return [best, *probable]

    @api.get("/languages", summary="The languages, and what each can be translated into.")
    async def languages() -> list[LanguageResponse]:
        models = service.catalogue.models
        return [
            LanguageResponse(
                code=code, name=language_name(code), targets=target_languages(models, code)
            )
            for code in language_codes(models)
        ]

    @api.get("/health", summary="Whether the server responds.")
    async def health() -> HealthResponse:
        return HealthResponse()

    @api.get("/frontend/settings", summary="What a page needs to know about the server.")
    async def settings() -> FrontendSettings:
        first = service.catalogue.models[0]
        return FrontendSettings(
            apiKeys=bool(service.admission.keys),
            charLimit=service.settings.characters,
            filesTranslation=True,
            frontendTimeout=500,
            keyRequired=service.settings.key_required,
            language=DefaultLanguages(source=_named(first.source), target=_named(first.target)),
            supportedFilesFormat=list(BY_SUFFIX),
        )

    return api


async def translate_body(
    service: Service, request: Request, body: TranslateRequest
) -> TranslateResponse:
    """Translate the texts of a request, by whichever models it takes."""
    texts = body.texts
    pages = None
    if body.format == "html":
        pages = await service.read_documents(request, [_page(text) for text in texts])
    parts = [[text] for text in texts] if pages is None else [page.texts for page in pages]
    joined = [" ".join(own) for own in parts]
    chosen = await find_routes(service.catalogue.models, joined, body.source, body.target)
    translations = await translate_routes(
        service,
        request,
        parts,
        chosen,
        num_alternatives=body.alternatives or 0,
        alignment=pages is not None,  # which inline markup is placed by
        glossary=body.glossary,
    )
    if pages is None:
        ranked = [[best.text, *(t.text for t in best.alternatives)] for (best,) in translations]
    else:
        ranked = [[text] for text in texts]  # of a text in the target language
        going = [n for n, source in enumerate(chosen.sources) if source != chosen.target]
        renderings = [(n, own) for n in going for own in by_rank(translations[n])]
        written = await service.render_documents(
            request, [(pages[n], own) for n, own in renderings]
        )
        rendered: dict[int, list[str]] = {n: [] for n in going}
        for (n, _), page in zip(renderings, written, strict=True):
            rendered[n].append(page.decode())
        for n, own in rendered.items():
            ranked[n] = list(dict.fromkeys(own))  # where they differ
    best = [own[0] for own in ranked]
    others = [own[1:] for own in ranked] if body.alternatives else None
    detected = chosen.detected
    if isinstance(body.q, str):
        return TranslateResponse(
            translatedText=best[0],
            detectedLanguage=None if detected is None else detected[0],
            alternatives=None if others is None else others[0],
        )
    return TranslateResponse(translatedText=best, detectedLanguage=detected, alternatives=others)


def _page(text: str) -> DocumentSource:
    return DocumentSource(text.encode(), "html", DocumentOptions(name="the text"))


def by_rank(translations: Sequence[Translation]) -> list[list[Translation]]:
    """The best translations of a page's texts, then the next best of each, where it has one."""
    ranks = 1 + max((len(best.alternatives) for best in translations), default=0)
    return [
        [
            best.alternatives[rank - 1] if 0 < rank <= len(best.alternatives) else best
            for best in translations
        ]
        for rank in range(ranks)
    ]


def _named(code: str) -> NamedLanguage:
    return NamedLanguage(code=code, name=language_name(code))
