"""The OpenAPI document: what FastAPI knows, and the bodies that we read ourselves."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from regard.server.http.settings import Serving
from regard.server.queue.catalogue import Catalogue
from regard.version import __version__

PLACE = "#/components/schemas/{model}"
FORMS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_DESCRIBED: dict[str, type[BaseModel]] = {}


def body_of(model: type[BaseModel], forms: tuple[str, ...] = FORMS) -> dict[str, Any]:
    """What an operation takes, for `openapi_extra`."""
    _DESCRIBED[model.__name__] = model
    schema = {"$ref": PLACE.format(model=model.__name__)}
    return {
        "requestBody": {
            "required": True,
            "content": {form: {"schema": schema} for form in forms},
        }
    }


def describe(app: FastAPI, catalogue: Catalogue, settings: Serving) -> dict[str, Any]:
    """The document, with this server's languages and limits."""
    document = get_openapi(
        title="regard",
        version=__version__,
        summary="Translation that shows what it looked at.",
        routes=app.routes,
    )
    _, made = models_json_schema(
        [(model, "validation") for model in _DESCRIBED.values()], ref_template=PLACE
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(made.get("$defs", {}))
    codes = catalogue.codes
    for schema in schemas.values():
        known = schema.get("properties", {})
        if "source" in known and "target" in known and "q" in known:
            known["source"]["enum"] = ["auto", *codes]
            known["target"]["enum"] = codes
        for one in (known.get("q", {}), *known.get("q", {}).get("anyOf", ())):
            if one.get("type") == "string":
                one["maxLength"] = settings.characters
            if one.get("type") == "array":
                one["maxItems"] = settings.texts
    return document
