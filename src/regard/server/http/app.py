"""The application: routes, the middleware around them, and error responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from regard.allocator import give_back_memory, resident_bytes
from regard.errors import InputError
from regard.server.access.foreign_pages import ForeignPages
from regard.server.api import files, libretranslate, tracing, v1
from regard.server.api.detection import detect
from regard.server.api.responses import ERROR_RESPONSES
from regard.server.api.spec import openapi_document
from regard.server.http.errors import (
    CLIENT_DISCONNECTED,
    ApiError,
    ErrorMiddleware,
    OriginMiddleware,
)
from regard.server.http.limits import LimitMiddleware
from regard.server.http.watchdog import watching
from regard.server.page import page
from regard.server.queue.routing import language_codes
from regard.server.queue.service import Service
from regard.server.workers.forwarding import ForwardMiddleware
from regard.server.workers.link import SupervisorLink
from regard.version import __version__

HTTP_ERRORS = {
    404: "there is nothing here; see /spec.",
    405: "this path does not take this method; see /spec.",
}


def create_app(
    service: Service,
    link: SupervisorLink | None = None,
    *,
    background: Path | None = None,
    is_background: bool = False,
) -> FastAPI:
    """The ASGI application of a service; of a worker, with the link to its supervisor.

    background     the socket of the process that answers what may take long; without it, this one
    is_background  whether this is that process, whose requests have passed the limits of a worker
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if background is None:
            service.parsers.start(prepared=True)
        codes = language_codes(service.catalogue.models)
        await asyncio.to_thread(detect, "warm", codes)  # so that its data is read
        if link is not None:
            link.attach(service)
        giving_back = asyncio.ensure_future(_give_back_memory())
        with watching(asyncio.get_running_loop()):
            yield
        giving_back.cancel()
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="regard",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.include_router(libretranslate.routes(service))
    app.include_router(files.routes(service))
    app.include_router(v1.routes(service))
    app.include_router(tracing.routes(service))
    app.include_router(page.routes())
    _add_reports(app, service)
    for kind in (ApiError, ClientDisconnect, InputError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, partial(_error_response, service))
    app.add_middleware(ErrorMiddleware)  # the first is the innermost
    if service.settings.cors:
        app.add_middleware(
            OriginMiddleware,
            allow_origins=list(service.settings.cors),
            allow_methods=["GET", "POST"],
            allow_headers=["content-type"],
            expose_headers=["Retry-After"],
        )
    if is_background:
        return app
    if background is not None:
        app.add_middleware(ForwardMiddleware, path=background, timeout=service.settings.timeout)
    app.add_middleware(
        LimitMiddleware,
        foreign=ForeignPages(service.settings.hosts, service.settings.cors),
        metrics=service.metrics,
        max_bytes=service.settings.body_bytes,
        per_address=service.settings.per_address,
        paths=app.openapi()["paths"],
    )
    return app


TRIM_SECONDS, TRIM_BYTES = 5.0, 16 << 20
"""How often memory is given back to the system, if so many bytes more are in use since then."""


async def _give_back_memory() -> None:
    """Give memory back to the system after requests that needed much."""
    before = resident_bytes()
    while True:
        await asyncio.sleep(TRIM_SECONDS)
        if resident_bytes() > before + TRIM_BYTES:
            await asyncio.to_thread(give_back_memory)
            before = resident_bytes()


def _add_reports(app: FastAPI, service: Service) -> None:
    """The OpenAPI document and the metrics."""

    @lru_cache(1)  # it takes a tenth of a second, in which nobody else is answered
    def written(codes: tuple[str, ...]) -> bytes:
        return json.dumps(openapi_document(app, codes, service.settings)).encode()

    def document() -> bytes:
        return written(tuple(language_codes(service.catalogue.models)))

    app.openapi = lambda: json.loads(document())  # type: ignore[method-assign]  # as FastAPI wants it extended

    @app.get("/spec", response_model=dict[str, Any], summary="This document.", tags=["server"])
    async def spec() -> Response:
        return Response(document(), media_type="application/json")

    if service.settings.metrics:

        @app.get(
            "/metrics",
            summary="Counts and times for Prometheus; `Authorization: Bearer KEY` where a key is "
            "required.",
            tags=["server"],
            response_class=Response,
            responses={
                200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
                **{status: ERROR_RESPONSES[status] for status in (403, 429)},
            },
        )
        async def metrics(request: Request) -> Response:
            if service.settings.key_required:
                service.admission.check_bearer(request)
            return Response(service.metrics_text(), media_type=CONTENT_TYPE_LATEST)


async def _error_response(service: Service, _: Request, error: Exception) -> Response:
    """Every error is `{"error": sentence}`."""
    status, sentence = 400, service.catalogue.hide_folders(str(error))
    if isinstance(error, ApiError):
        status = error.status
    elif isinstance(error, ClientDisconnect):
        status, sentence = CLIENT_DISCONNECTED, "client disconnected."
    elif isinstance(error, RequestValidationError):
        sentence = "the request's parameters are not as they should be; see /spec."
    elif isinstance(error, HTTPException):
        status = error.status_code
        sentence = HTTP_ERRORS.get(status, "the request cannot be read.")
    return JSONResponse({"error": sentence}, status, getattr(error, "headers", None))
