"""What clients ask, from JSON, a form or the query, checked before anything is done."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Request
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import FormData, QueryParams
from starlette.exceptions import HTTPException

from regard.server.http.errors import RefusalError

SECONDS = 30  # in which a request must have arrived
MOST_ALTERNATIVES = 10
FORMATS = {".txt": "text", ".html": "html", ".htm": "html"}
"""Files that can be translated, and what of `TranslateAsked.format` they are."""


Content = TypeVar("Content")
Some = Annotated[Content, Field(min_length=1)]


class Asked(BaseModel):
    """What every request may carry."""

    api_key: str | None = Field(None, max_length=200, description="If the server wants one.")


class TranslateAsked(Asked):
    """A text or several to translate."""

    q: Some[str] | Some[list[str]] = Field(description="The text, or a list of texts.")
    source: str = Field(min_length=1, description="The language's code, or auto.")
    target: str = Field(min_length=1, description="The language's code.")
    format: Literal["text", "html"] | None = Field("text", description="What q is.")
    alternatives: Annotated[int, Field(ge=0, le=MOST_ALTERNATIVES)] | None = Field(
        0, description="How many other translations to give as well."
    )


class DetectAsked(Asked):
    """A text whose language is wanted."""

    q: str = Field(min_length=1)


class TextAsked(Asked):
    """A text, and the model that is to look at it."""

    q: str = Field(min_length=1)
    source: str = "auto"
    target: str = Field(min_length=1)
    model: str | None = Field(None, description="A name from /v1/models, if several could do it.")

    @property
    def besides(self) -> str:
        """Other text that came with it."""
        return ""


class BegunAsked(TextAsked):
    """A text whose translation may have been begun."""

    prefix: str | None = Field(None, description="What the translation must begin with.")
    split: bool = Field(True, description="Whether the text is cut into sentences.")

    @property
    def besides(self) -> str:
        return self.prefix or ""


Body = TypeVar("Body", bound=Asked)


async def read(request: Request, form: type[Body]) -> Body:
    """The request's content: of JSON the body, else the form and the query."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        async with asyncio.timeout(SECONDS):
            if kind == "application/json" or kind.endswith("+json"):
                return form.model_validate_json(await request.body())
            fields = _fields(request.query_params)
            if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
                fields |= _fields(await form_of(request, max_files=0, max_fields=2000))
            else:
                await request.body()  # so that what comes next is the client going away
            return form.model_validate(fields)
    except ValidationError as error:
        raise RefusalError(400, sentence_of(error)) from None
    except TimeoutError:
        raise RefusalError(408, "the request did not arrive in time.") from None


async def form_of(request: Request, *, max_files: int, max_fields: int) -> FormData:
    """The form that a request carries, in whatever character set it says."""
    try:
        return await request.form(max_files=max_files, max_fields=max_fields)
    except (HTTPException, ValueError):  # UnicodeError is one: some sets are no such thing
        raise RefusalError(400, "the form cannot be read.") from None


def _fields(given: FormData | QueryParams) -> dict[str, Any]:
    """The last of each field, of q all; empty ones but q are as if they were not there."""
    fields: dict[str, Any] = {
        name: value for name, value in given.items() if value != "" or name == "q"
    }
    texts = given.getlist("q")
    if len(texts) > 1:
        fields["q"] = texts
    if isinstance(fields.get("q"), str):  # browsers send the line breaks of forms as CR LF
        fields["q"] = fields["q"].replace("\r\n", "\n")
    return fields


def missing(name: str) -> str:
    """The answer to a request without something that it needs, in LibreTranslate's words."""
    return f"Invalid request: missing {name} parameter"


EMPTY = frozenset({"string_too_short", "too_short"})


def sentence_of(error: ValidationError) -> str:
    """What was wrong first, without repeating more of it than the name of a format.

    Where LibreTranslate has a sentence for it, that sentence: clients compare them.
    """
    errors = error.errors(include_url=False)
    first = errors[0]
    place = [str(part) for part in first["loc"]]
    if not place:
        return "Invalid JSON format"
    name, given = place[0], first["input"]
    if first["type"] == "missing" or (given is None and len(place) < 3):
        return missing(name)
    if any(one["type"] in EMPTY and one["loc"][0] == name for one in errors if len(one["loc"]) < 3):
        return missing(name)
    if name == "format" and first["type"] == "literal_error":
        return f"{str(given)[:20]} format is not supported"
    if first["type"].startswith("int_"):
        return f"Invalid request: {name} parameter is not a number"
    if first["type"] == "less_than_equal":
        return f"Invalid request: {name} parameter must be <= {first['ctx']['le']}"
    said = str(first["msg"])
    return f"{name}: {said[:1].lower()}{said[1:]}."
