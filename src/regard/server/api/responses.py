"""Responses to LibreTranslate's clients, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Any

from fastapi.responses import Response
from pydantic import BaseModel, Field
from pydantic_core import to_json


def as_json(content: BaseModel) -> Response:
    """A response that is written as it is: FastAPI would validate it a second time."""
    return Response(json_text(content), media_type="application/json")


def json_text(value: Any) -> str:
    """A response as JSON, without fields that are None.

    It is written in pieces: pydantic writes a whole response in one call, during which no other
    thread of the server runs.
    """
    if isinstance(value, BaseModel):
        fields = [(name, getattr(value, name)) for name in type(value).model_fields]
        written = (f'"{name}":{json_text(own)}' for name, own in fields if own is not None)
        return "{" + ",".join(written) + "}"
    if isinstance(value, list) and isinstance(next(iter(value), None), BaseModel | dict):
        return "[" + ",".join(map(json_text, value)) + "]"
    return to_json(value, inf_nan_mode="null").decode()


class ErrorResponse(BaseModel):
    """Why there is no other response."""

    error: str


class DetectedLanguage(BaseModel):
    """A language that was detected."""

    confidence: float = Field(ge=0, le=100)
    language: str


class TranslateResponse(BaseModel):
    """Translations: of a string a string, of a list a list in the same order."""

    translatedText: str | list[str]
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = Field(
        None, description="There if the source was auto."
    )
    alternatives: list[str] | list[list[str]] | None = Field(
        None, description="There if alternatives were requested; the best first."
    )


class HealthResponse(BaseModel):
    """The server responds."""

    status: str = "ok"


class NamedLanguage(BaseModel):
    """A language by code and name."""

    code: str
    name: str


class LanguageResponse(NamedLanguage):
    """A language and what it can be translated into."""

    targets: list[str]


class DefaultLanguages(BaseModel):
    """The languages that a page offers first."""

    source: NamedLanguage
    target: NamedLanguage


class FrontendSettings(BaseModel):
    """What a page needs to know about the server; charLimit -1 would be no limit."""

    apiKeys: bool
    charLimit: int
    filesTranslation: bool
    frontendTimeout: int = Field(description="Milliseconds after typing stops.")
    keyRequired: bool
    language: DefaultLanguages
    suggestions: bool = False
    supportedFilesFormat: list[str]


DESCRIPTIONS = {
    400: "The request is not possible; the sentence says why.",
    403: "A key is missing or wrong.",
    408: "The request arrived too slowly.",
    413: "The request is too large.",
    429: "Too many requests; Retry-After says when the next may come.",
    500: "The server failed; it is not the request's fault.",
    503: "Too busy; Retry-After says when to try again.",
}
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": text} for status, text in DESCRIPTIONS.items()
}
"""What every operation may answer instead."""
