"""Errors that become responses: a status and a sentence."""

from __future__ import annotations

import math

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import error_fields

CLIENT_DISCONNECTED = 499
"""In log and metrics only: there is no client to receive it."""
FAILED = "the server failed; this is not the request's fault."
LENGTH_HEADERS = ("content-length", "content-type")


class ApiError(Exception):
    """A request is answered with `{"error": sentence}`.

    status       of the response
    retry_after  seconds after which the request may be repeated, if it may
    """

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """Retry-After, in whole seconds, where it applies.

        >>> ApiError(503, "busy.", 0.2).headers
        {'Retry-After': '1'}
        """
        if self.retry_after is None:
            return {}
        return {"Retry-After": str(max(1, math.ceil(self.retry_after)))}


class ErrorMiddleware:
    """ASGI middleware inside all others: an exception becomes a 500, if no response has begun."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception as error:
            if scope["type"] != "http":
                raise
            scope["fault"].update(error_fields(error))
            if not begun:
                await JSONResponse({"error": FAILED}, 500)(scope, receive, send)


class OriginMiddleware(CORSMiddleware):
    """Starlette's CORS; a refusal is JSON with a sentence, like all others."""

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == 200:
            return response
        headers = {
            name: value for name, value in response.headers.items() if name not in LENGTH_HEADERS
        }
        sentence = "pages of this origin may not do this; --cors sets which may."
        return JSONResponse({"error": sentence}, response.status_code, headers)
