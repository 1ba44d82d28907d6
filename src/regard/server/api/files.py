"""Translation of uploaded files; the results can be downloaded for a while under secret names.

Results are kept in a private folder that all workers share, each under 256 random bits, and sent as
attachments; the names of uploaded files are never used as names on the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import shutil
import tempfile
import time
import weakref
from codecs import BOM_UTF8
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.datastructures import UploadFile

from regard.documents.document import DocumentOptions
from regard.documents.processes import DocumentSource, IsolatedDocument, TextLimitError
from regard.documents.registry import BY_SUFFIX
from regard.errors import InputError
from regard.server.api.requests import TranslateRequest, missing_parameter, reading
from regard.server.api.responses import ERROR_RESPONSES, ErrorResponse
from regard.server.http.errors import ApiError
from regard.server.queue.pivot import translate_routes
from regard.server.queue.routing import find_routes
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
EXPANSION = 32
"""How many times the largest request a compressed document may expand to."""
NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}


class FileResponse(BaseModel):
    """Where a translated file can be downloaded, for a while."""

    translatedFileUrl: str = Field(description="A path of this server, with its address.")


@dataclass(frozen=True)
class StoredFile:
    """A file to be downloaded; `disposition` is its Content-Disposition."""

    disposition: str
    content: bytes


class FileStore:
    """Files by secret names; the oldest go when there are too many bytes, all go in time.

    In the folder, a file is named by the hash of its secret, so that neither who lists the folder
    learns a secret, nor a secret can be the path of something else. When it expires is its time of
    modification, by a clock that all processes share; its first line is its disposition.
    """

    def __init__(
        self,
        seconds: float,
        max_bytes: int,
        clock: Callable[[], float] = time.monotonic,
        folder: Path | None = None,
    ) -> None:
        self.seconds, self.max_bytes, self.clock = seconds, max_bytes, clock
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="regard-serve-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = folder

    def put(self, disposition: str, content: bytes) -> str:
        """Store a file; its secret name."""
        secret = secrets.token_urlsafe(32)
        path = self._path(secret)
        draft = path.with_suffix(".part")
        try:
            draft.write_bytes(disposition.encode() + b"\n" + content)
            expires = self.clock() + self.seconds
            os.utime(draft, (expires, expires))
            draft.rename(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            message = "the server has no room for the translated file; try again later."
            raise ApiError(503, message, 60) from error
        self._remove_old()
        return secret

    def get(self, secret: str) -> StoredFile | None:
        """A file, if it is still there."""
        self._remove_old()
        try:
            disposition, _, content = self._path(secret).read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        return StoredFile(disposition.decode(), content)

    def _path(self, secret: str) -> Path:
        return self.folder / hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

    def _remove_old(self) -> None:
        now, files = self.clock(), []
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):  # another worker removed it
                files.append((entry.stat().st_mtime, entry.stat().st_size, Path(entry.path)))
        total = sum(size for _, size, _ in files)
        for expires, size, path in sorted(files):
            if expires > now and total <= self.max_bytes:
                break
            total -= size
            path.unlink(missing_ok=True)


def routes(service: Service) -> APIRouter:
    """The operations."""
    api = APIRouter(tags=["files"])
    store = FileStore(
        service.settings.keep_files,
        64 * service.settings.body_bytes,
        folder=None if service.shared is None else service.shared.files,
    )

    @api.post(
        "/translate_file",
        responses=ERROR_RESPONSES,
        openapi_extra=BODY,
        summary="Translate a document; the response says where to download the result. "
        f"By the file's name: {' '.join(BY_SUFFIX)}",
    )
    async def translate_file(request: Request) -> FileResponse:
        body, content, name = await _read_file(request)
        service.admission.check(request, body)
        max_bytes = EXPANSION * service.settings.body_bytes
        document = await _read_document(service, request, _source(content, name, body, max_bytes))
        service.admission.check_counts(request, 1, len("\n".join(document.texts)))
        made = await _translate(service, request, body, document)
        result = content if made is None else made
        secret = await asyncio.to_thread(store.put, _disposition(name, body.target), result)
        return FileResponse(translatedFileUrl=f"{request.base_url}download_file/{secret}")

    @api.get(
        "/download_file/{name}",
        response_class=Response,
        responses={
            200: {"content": {"application/octet-stream": {}}},
            404: {"model": ErrorResponse, "description": "There is no such file, or not any more."},
        },
        openapi_extra={"parameters": [NAME]},
        summary="Download a translated file.",
    )
    async def download_file(request: Request) -> Response:
        file = await asyncio.to_thread(store.get, request.path_params["name"])
        if file is None:
            raise ApiError(404, "there is no such file, or not any more.")
        headers = {"Content-Disposition": file.disposition}
        return Response(file.content, media_type="application/octet-stream", headers=headers)

    return api


async def _read_file(request: Request) -> tuple[TranslateRequest, bytes, str]:
    """The request without text, the file's content and its name."""
    async with reading():
        form = await request.form(max_files=1, max_fields=20)
        upload = form.get("file")
        if not isinstance(upload, UploadFile):
            raise ApiError(400, missing_parameter("file"))
        name = upload.filename or ""
        if PurePath(name).suffix.lower() not in BY_SUFFIX:
            raise ApiError(400, "Invalid request: file format not supported")
        content = await upload.read()
        if not content.removeprefix(BOM_UTF8):
            raise ApiError(400, "Invalid request: empty file")
        fields = {key: value for key, value in form.items() if isinstance(value, str) and value}
        body = TranslateRequest.model_validate({**fields, "q": " ", "format": "text"})
    return body, content, name


def _source(content: bytes, name: str, body: TranslateRequest, max_bytes: int) -> DocumentSource:
    form = BY_SUFFIX[PurePath(name).suffix.lower()].name
    source = "" if body.source == "auto" else body.source
    options = DocumentOptions(
        source,
        body.target,
        name="the file",
        language_remedy="name that language as the target",
        max_bytes=max_bytes,
    )
    return DocumentSource(content, form, options)


async def _read_document(
    service: Service, request: Request, source: DocumentSource
) -> IsolatedDocument:
    try:
        (document,) = await service.read_documents(request, [source], service.settings.characters)
    except TextLimitError as error:
        service.admission.check_counts(request, 1, error.characters)  # has a sentence for it
        raise
    except InputError as error:
        if isinstance(error.__cause__, UnicodeError):
            raise ApiError(400, "the file is not UTF-8 text.") from None
        raise
    return document


async def _translate(
    service: Service, request: Request, body: TranslateRequest, document: IsolatedDocument
) -> bytes | None:
    """The translated document; None if it is in the target language already."""
    texts = document.texts
    chosen = await find_routes(
        service.catalogue.models, [" ".join(texts)], body.source, body.target
    )
    if chosen.sources[0] == chosen.target:
        return None
    ((*translations,),) = await translate_routes(
        service, request, [texts], chosen, alignment=document.has_markup
    )
    (written,) = await service.render_documents(request, [(document, translations)])
    return written


def _disposition(name: str, target: str) -> str:
    """Content-Disposition with a name for the result: the file's own, and the language.

    A plain name of letters, digits and - only, and one with the letters of all languages for
    clients that can read it (RFC 6266).

    >>> print(_disposition("../my file.TXT", "fr"))
    attachment; filename="my-file_fr.txt"
    >>> print(_disposition("猫.html", "zh"))
    attachment; filename="file_zh.html"; filename*=UTF-8''%E7%8C%AB_zh.html
    """
    path = PurePath(name.replace("\\", "/"))
    language = re.sub(r"[^A-Za-z0-9]", "", target)[:20]
    end = f"_{language}{path.suffix.lower()}"
    plain = re.sub(r"[^A-Za-z0-9]+", "-", path.stem).strip("-")[:60] or "file"
    whole = re.sub(r"[\W_]+", "-", path.stem).strip("-")[:60]
    more = f"; filename*=UTF-8''{quote(whole + end)}" if whole and whole != plain else ""
    return f'attachment; filename="{plain}{end}"{more}'
