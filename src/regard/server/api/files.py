"""Files in, translated files out, under names that nobody can guess, for a while.

The names of users' files are never used as names of ours: results are kept in memory, each under
256 random bits, and handed out as attachments.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import UploadFile

from regard.server.api.layout import Layout
from regard.server.api.libretranslate import translated
from regard.server.api.requests import (
    FORMATS,
    SECONDS,
    TranslateAsked,
    form_of,
    missing,
    sentence_of,
)
from regard.server.api.responses import REFUSALS, Error
from regard.server.http.errors import RefusalError
from regard.server.queue.service import Service

BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "source", "target"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "source": {"type": "string", "minLength": 1},
                        "target": {"type": "string", "minLength": 1},
                        "api_key": {"type": "string"},
                    },
                }
            }
        },
    }
}


NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}


class TranslatedFile(BaseModel):
    """Where a translated file can be fetched, for a while."""

    translatedFileUrl: str = Field(description="A path of this server, with its address.")


@dataclass(frozen=True)
class Kept:
    """A file that waits to be fetched; `attached` says under what name it may be kept."""

    attached: str
    content: bytes
    until: float


class Shelf:
    """Files by secret names; the oldest go when there are too many bytes, all go in time."""

    def __init__(
        self, seconds: float, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds, self.most, self.clock = seconds, most, clock
        self._files: dict[str, Kept] = {}

    def put(self, attached: str, content: bytes) -> str:
        """Keep a file; its secret name."""
        secret = secrets.token_urlsafe(32)
        self._files[secret] = Kept(attached, content, self.clock() + self.seconds)
        self._tidy()
        return secret

    def get(self, secret: str) -> Kept | None:
        """A file, if it is still there."""
        self._tidy()
        return self._files.get(secret)

    def _tidy(self) -> None:
        now = self.clock()
        size = sum(len(one.content) for one in self._files.values())
        for secret, one in list(self._files.items()):  # the oldest first
            if one.until > now and size <= self.most:
                break
            size -= len(one.content)
            del self._files[secret]


def routes(service: Service) -> APIRouter:
    """The operations."""
    api = APIRouter(tags=["files"])
    shelf = Shelf(service.settings.keep_files, 64 * service.settings.body_bytes)

    @api.post(
        "/translate_file",
        responses=REFUSALS,
        openapi_extra=BODY,
        summary="Translate a file (.txt, .html); the answer says where to fetch the result.",
    )
    async def translate_file(request: Request) -> TranslatedFile:
        asked, name = await _read(request)
        service.admit(request, asked)
        assert isinstance(asked.q, str)
        layout = Layout.of(asked.q) if asked.format == "text" else None
        bare = asked if layout is None else asked.model_copy(update={"q": layout.bare})
        done = await translated(service, request, bare)
        assert isinstance(done.translatedText, str)
        made = done.translatedText if layout is None else layout.around(done.translatedText)
        secret = shelf.put(_attached(name, asked.target), made.encode())
        return TranslatedFile(translatedFileUrl=f"{request.base_url}download_file/{secret}")

    @api.get(
        "/download_file/{name}",
        response_class=Response,
        responses={
            200: {"content": {"application/octet-stream": {}}},
            404: {"model": Error, "description": "There is no such file, or not any more."},
        },
        openapi_extra={"parameters": [NAME]},
        summary="Fetch a translated file.",
    )
    async def download_file(request: Request) -> Response:
        found = shelf.get(request.path_params["name"])
        if found is None:
            raise RefusalError(404, "there is no such file, or not any more.")
        headers = {"Content-Disposition": found.attached}
        return Response(found.content, media_type="application/octet-stream", headers=headers)

    return api


async def _read(request: Request) -> tuple[TranslateAsked, str]:
    """What is asked, with the file's text as q, and the file's name."""
    try:
        async with asyncio.timeout(SECONDS):
            form = await form_of(request, max_files=1, max_fields=20)
    except TimeoutError:
        raise RefusalError(408, "the request did not arrive in time.") from None
    upload = form.get("file")
    if not isinstance(upload, UploadFile):
        raise RefusalError(400, missing("file"))
    name = upload.filename or ""
    kind = FORMATS.get(PurePath(name).suffix.lower())
    if kind is None:
        raise RefusalError(400, "Invalid request: file format not supported")
    try:
        text = (await upload.read()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RefusalError(400, "the file is not UTF-8 text.") from None
    if not text:
        raise RefusalError(400, "Invalid request: empty file")
    fields = {key: value for key, value in form.items() if isinstance(value, str) and value}
    try:
        return TranslateAsked.model_validate({**fields, "q": text, "format": kind}), name
    except ValidationError as error:
        raise RefusalError(400, sentence_of(error)) from None


def _attached(name: str, target: str) -> str:
    """Content-Disposition with a name for the result: the file's own, and the language.

    A plain name of letters, digits and - only, and one that keeps all letters of all languages
    for clients that can read it (RFC 6266).

    >>> print(_attached("../my file.TXT", "fr"))
    attachment; filename="my-file_fr.txt"
    >>> print(_attached("猫.html", "zh"))
    attachment; filename="file_zh.html"; filename*=UTF-8''%E7%8C%AB_zh.html
    """
    path = PurePath(name.replace("\\", "/"))
    language = re.sub(r"[^A-Za-z0-9]", "", target)[:20]
    end = f"_{language}{path.suffix.lower()}"
    plain = re.sub(r"[^A-Za-z0-9]+", "-", path.stem).strip("-")[:60] or "file"
    whole = re.sub(r"[\W_]+", "-", path.stem).strip("-")[:60]
    more = f"; filename*=UTF-8''{quote(whole + end)}" if whole and whole != plain else ""
    return f'attachment; filename="{plain}{end}"{more}'
