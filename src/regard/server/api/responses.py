"""What goes back to LibreTranslate's clients, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Error(BaseModel):
    """Why there is no other answer."""

    error: str


class Detected(BaseModel):
    """A language that was recognised."""

    confidence: float = Field(ge=0, le=100)
    language: str


class Translated(BaseModel):
    """Translations: of a string a string, of a list a list in the same order."""

    translatedText: str | list[str]
    detectedLanguage: Detected | list[Detected] | None = Field(
        None, description="There if the source was auto."
    )
    alternatives: list[str] | list[list[str]] | None = Field(
        None, description="There if alternatives were asked for; the best first."
    )


class Language(BaseModel):
    """A language and what it can be translated into."""

    code: str
    name: str
    targets: list[str]


class Health(BaseModel):
    """The server answers."""

    status: str = "ok"


class Named(BaseModel):
    """A language by code and name."""

    code: str
    name: str


class FirstLanguages(BaseModel):
    """What a page offers first."""

    source: Named
    target: Named


class FrontendSettings(BaseModel):
    """What a page needs to know of the server; charLimit -1 would be no limit."""

    apiKeys: bool
    charLimit: int
    filesTranslation: bool
    frontendTimeout: int = Field(description="Milliseconds after typing stops.")
    keyRequired: bool
    language: FirstLanguages
    suggestions: bool = False
    supportedFilesFormat: list[str]


PLAIN = {
    400: "What was asked for is not possible; the sentence says why.",
    403: "A key is missing or wrong.",
    408: "The request came too slowly.",
    413: "The request is too large.",
    429: "Too many requests; Retry-After says when the next may come.",
    500: "The server failed; it is not the request's fault.",
    503: "Too busy; Retry-After says when to ask again.",
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": text} for status, text in PLAIN.items()
}
"""What every operation may answer instead."""
