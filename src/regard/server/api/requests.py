"""Request bodies, from JSON, a form or the query, checked before anything is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Request
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import FormData, QueryParams
from starlette.exceptions import HTTPException

from regard.config import SearchOptions
from regard.config.search import MAX_OUTPUTS
from regard.server.api.option_fields import option_field, with_options
from regard.server.http.errors import ApiError
from regard.tasks.translation.translation import OptionKeywords

SECONDS = 30  # in which a request must have arrived

FieldType = TypeVar("FieldType")
NonEmpty = Annotated[FieldType, Field(min_length=1)]
Phrase = Annotated[str, Field(min_length=1, max_length=200)]
Phrases = Annotated[list[Phrase], Field(max_length=100)]
Glossary = Annotated[dict[Phrase, Phrase], Field(max_length=1000)]


class RequestBody(BaseModel):
    """What every request may carry."""

    api_key: str | None = Field(None, max_length=200, description="If the server wants one.")

    @property
    def texts(self) -> list[str]:
        """The texts to process, whose number and length are limited."""
        return []

    @property
    def other_text(self) -> str:
        """Other text that counts towards the limit."""
        return ""


class TranslateRequest(RequestBody):
    """A text or several to translate."""

    q: NonEmpty[str] | NonEmpty[list[str]] = Field(description="The text, or a list of texts.")
    source: str = Field(min_length=1, description="The language's code, or auto.")
    target: str = Field(min_length=1, description="The language's code.")
    format: Literal["text", "html"] | None = Field("text", description="What q is.")
    alternatives: Annotated[int, Field(ge=0, le=MAX_OUTPUTS)] | None = Field(
        0, description="How many other translations to give as well."
    )
    glossary: Glossary | None = Field(
        None, description="Terms and their translations; in JSON only, and by one model."
    )

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q

    @property
    def other_text(self) -> str:
        return "".join(term for pair in (self.glossary or {}).items() for term in pair)


class DetectRequest(RequestBody):
    """A text whose language is to be detected."""

    q: str = Field(min_length=1)

    @property
    def texts(self) -> list[str]:
        return [self.q]


class ModelRequest(DetectRequest):
    """A text, and the model that reads it."""

    source: str = "auto"
    target: str = Field(min_length=1)
    model: str | None = Field(None, description="A name from /v1/models, if several could do it.")


@with_options(SearchOptions)
class PrefixRequest(ModelRequest):
    """A text whose translation may have a given beginning."""

    prefix: str | None = option_field(OptionKeywords, "prefix", default=None)
    split: bool = option_field(OptionKeywords, "split", default=True)
    forbid: Phrases = option_field(OptionKeywords, "forbid", default_factory=list)
    glossary: Glossary = option_field(OptionKeywords, "glossary", default_factory=dict)
    protect: bool = option_field(OptionKeywords, "protect", default=True)

    @property
    def other_text(self) -> str:
        terms = (*self.forbid, *self.glossary, *self.glossary.values())
        return "".join((self.prefix or "", *terms))


Body = TypeVar("Body", bound=RequestBody)


async def read_body(request: Request, schema: type[Body]) -> Body:
    """The body of a request: JSON, else the form and the query."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    async with reading():
        if kind == "application/json" or kind.endswith("+json"):
            return schema.model_validate_json(await request.body())
        fields = _fields(request.query_params)
        if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
            fields |= _fields(await request.form(max_files=0, max_fields=2000))
        else:
            await request.body()  # so that the next message is the client's disconnection
        return schema.model_validate(fields)


@asynccontextmanager
async def reading() -> AsyncIterator[None]:
    """Limits the time in which a request is read, and answers one that cannot be read."""
    try:
        async with asyncio.timeout(SECONDS):
            yield
    except ValidationError as error:
        raise ApiError(400, validation_message(error)) from None
    except TimeoutError:
        raise ApiError(408, "the request did not arrive in time.") from None
    except (HTTPException, ValueError):  # such as a UnicodeError: some character sets do not exist
        raise ApiError(400, "the form cannot be read.") from None


def _fields(given: FormData | QueryParams) -> dict[str, Any]:
    """The last of each field, of q all; empty fields but q are left out."""
    fields: dict[str, Any] = {
        name: value for name, value in given.items() if value != "" or name == "q"
    }
    texts = given.getlist("q")
    if len(texts) > 1:
        fields["q"] = texts
    if isinstance(fields.get("q"), str):  # browsers send the line breaks of forms as CR LF
        fields["q"] = fields["q"].replace("\r\n", "\n")
    return fields


def missing_parameter(name: str) -> str:
    """The message for a missing parameter, in LibreTranslate's words."""
    return f"Invalid request: missing {name} parameter"


EMPTY = frozenset({"string_too_short", "too_short"})


def validation_message(error: ValidationError) -> str:
    """The first error, without repeating more of the request than the name of a format.

    Where LibreTranslate has a sentence for it, that sentence: clients compare them.
    """
    errors = error.errors(include_url=False)
    first = errors[0]
    location = [str(part) for part in first["loc"]]
    if not location:
        return "Invalid JSON format"
    name, given = location[0], first["input"]
    if first["type"] == "missing" or (given is None and len(location) < 3):
        return missing_parameter(name)
    if any(e["type"] in EMPTY and e["loc"][0] == name for e in errors if len(e["loc"]) < 3):
        return missing_parameter(name)
    if name == "format" and first["type"] == "literal_error":
        return f"{str(given)[:20]} format is not supported"
    if first["type"].startswith("int_"):
        return f"Invalid request: {name} parameter is not a number"
    if first["type"] == "less_than_equal":
        return f"Invalid request: {name} parameter must be <= {first['ctx']['le']}"
    message = str(first["msg"])
    return f"{name}: {message[:1].lower()}{message[1:]}."
