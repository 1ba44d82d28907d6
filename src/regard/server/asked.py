"""What clients ask, from JSON, a form or the query, checked before anything is done."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Request
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import FormData, QueryParams
from starlette.exceptions import HTTPException

from regard.server.refusal import RefusalError

SECONDS = 30  # in which a request must have arrived
MOST_ALTERNATIVES = 10


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
                fields |= _fields(await request.form(max_files=0, max_fields=2000))
            else:
                await request.body()  # so that what comes next is the client going away
            return form.model_validate(fields)
    except ValidationError as error:
        raise RefusalError(400, sentence_of(error)) from None
    except TimeoutError:
        raise RefusalError(408, "the request did not arrive in time.") from None
    except HTTPException:
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


def sentence_of(error: ValidationError) -> str:
    """What was wrong first, without repeating what came."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = [str(part) for part in first["loc"]]
    name = place[0] if place else "the request"
    if first["type"] == "missing":
        return f"{name} is missing."
    if first["type"] == "json_invalid":
        return "the request is not valid JSON."
    said = str(first["msg"])
    return f"{name}: {said[:1].lower()}{said[1:]}."
