"""The OpenAPI document: what FastAPI knows, and the request bodies that we read ourselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from regard.server.http.settings import ServerSettings
from regard.version import __version__

REFERENCE = "#/components/schemas/{model}"
FORMS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_SCHEMAS: dict[str, type[BaseModel]] = {}


def request_body(model: type[BaseModel], forms: tuple[str, ...] = FORMS) -> dict[str, Any]:
    """The request body of an operation, for `openapi_extra`."""
    _SCHEMAS[model.__name__] = model
    schema = {"$ref": REFERENCE.format(model=model.__name__)}
    return {
        "requestBody": {
            "required": True,
            "content": {form: {"schema": schema} for form in forms},
        }
    }


def openapi_document(
    app: FastAPI, codes: Sequence[str], settings: ServerSettings
) -> dict[str, Any]:
    """The document, with this server's languages and limits."""
    document = get_openapi(
        title="regard",
        version=__version__,
        summary="Translation that shows its attention.",
        routes=app.routes,
    )
    _, definitions = models_json_schema(
        [(model, "validation") for model in _SCHEMAS.values()], ref_template=REFERENCE
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(definitions.get("$defs", {}))
    for schema in schemas.values():
        fields = schema.get("properties", {})
        if "source" in fields and "target" in fields and "q" in fields:
            fields["source"]["enum"] = ["auto", *codes]
            fields["target"]["enum"] = list(codes)
        for field in (fields.get("q", {}), *fields.get("q", {}).get("anyOf", ())):
            if field.get("type") == "string":
                field["maxLength"] = settings.characters
            if field.get("type") == "array":
                field["maxItems"] = settings.texts
    return document
