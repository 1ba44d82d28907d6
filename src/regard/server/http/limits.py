"""What every request goes through: size limit, headers, a log line, and no exception gets out."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Collection
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.http.errors import LEFT, RefusalError
from regard.server.http.log import tell, trouble
from regard.server.http.metrics import Metrics

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
"""Unless an answer has its own; a page has its own policy."""
FAILED = "the server failed; this is not the request's fault."


class Gate:
    """ASGI middleware around everything.

    most   bytes of a request's body
    known  paths that are counted by name; all others are counted together, as they may say
           anything
    """

    def __init__(
        self, app: ASGIApp, *, metrics: Metrics, most: int, known: Collection[str]
    ) -> None:
        self.app = app
        self.metrics = metrics
        self.most = most
        self.known = frozenset(known)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["regard"] = {}
        scope["fault"] = {}
        passage = _Passage(scope, receive, send, self.most)
        start = time.perf_counter()
        seen = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        try:  # HEAD is GET, whose body the HTTP server leaves out
            await self.app(seen, passage.receive, passage.send)
        finally:
            self._told(scope, passage, time.perf_counter() - start, scope["fault"])

    def _told(self, scope: Scope, passage: _Passage, seconds: float, fault: dict[str, Any]) -> None:
        path = scope["path"] if scope["path"] in self.known else "other"
        status = passage.status or LEFT
        notes = scope["regard"]
        self.metrics.request(path, status, seconds, notes.get("characters", 0))
        tell(
            "request",
            level=logging.ERROR if fault else logging.INFO,
            id=passage.name,
            method=scope["method"] if scope["method"] in METHODS else "other",
            path=path,
            status=status,
            ms=round(1000 * seconds, 1),
            **notes,
            **fault,
        )


METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})


class _Passage:
    """One request on its way in and out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        self.name = secrets.token_hex(8)
        self.status = 0
        self._receive, self._send, self._most = receive, send, most
        self._came = 0
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        self._too_long = announced.isdigit() and int(announced[:20]) > most

    async def receive(self) -> Message:
        if not self._too_long:
            message = await self._receive()
            self._came += len(message.get("body", b""))
            self._too_long = self._came > self._most
        if self._too_long and not self.status:
            raise RefusalError(
                413,
                f"the request has more than {self._most} bytes; `regard serve --max-characters` "
                "sets how many characters are allowed.",
            )
        return message if not self._too_long else {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            present = {name.lower() for name, _ in headers}
            more = {**HEADERS, "x-request-id": self.name}
            headers += [
                (name.encode(), value.encode())
                for name, value in more.items()
                if name.encode() not in present
            ]
            message = {**message, "headers": headers}
        await self._send(message)


class Apology:
    """ASGI middleware inside all others: an exception becomes a 500, unless an answer has begun."""

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
            scope["fault"].update(trouble(error))
            if not begun:
                await JSONResponse({"error": FAILED}, 500)(scope, receive, send)
