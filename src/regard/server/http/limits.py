"""Middleware around every request: pages that may not use the server, size limit, headers, a log
line and metrics.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import Counter
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.access.foreign_pages import ForeignPages
from regard.server.access.rates import client_network
from regard.server.http.errors import CLIENT_DISCONNECTED, ApiError
from regard.server.http.log import log_event
from regard.server.http.metrics import Metrics

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
"""Unless a response has its own; the page has its own policy."""
METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})


class LimitMiddleware:
    """ASGI middleware around everything.

    foreign      decides which requests are refused, as they come from pages of other sites
    max_bytes    of a request's body
    per_address  requests of one address that are received or answered at once; 0: no limit
    paths        that are counted by name; all others are counted together, as they may be anything
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        foreign: ForeignPages,
        metrics: Metrics,
        max_bytes: int,
        per_address: int,
        paths: Collection[str],
    ) -> None:
        self.app = app
        self.foreign = foreign
        self.metrics = metrics
        self.max_bytes, self.per_address = max_bytes, per_address
        self._open: Counter[str] = Counter()  # requests, by the address of their client
        self.paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["regard"] = {}
        scope["fault"] = {}
        scope["held"] = []  # what gives back what the request holds
        exchange = _Exchange(scope, receive, send, self.max_bytes)
        start = time.perf_counter()
        address = client_network((scope["client"] or ("unknown",))[0])
        refusal = self._refusal(scope, address)
        app = self.app if refusal is None else _refused(refusal)
        inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        self._open[address] += 1
        try:  # HEAD is GET, whose body the HTTP server leaves out
            await app(inner, exchange.receive, exchange.send)
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]
            for give_back in scope["held"]:
                give_back()
            self._log(scope, exchange, time.perf_counter() - start)

    def _refusal(self, scope: Scope, address: str) -> ApiError | None:
        """The error of a request that is refused before its body is read."""
        if self.per_address and self._open[address] >= self.per_address:
            return ApiError(
                503,
                f"{self.per_address} requests of this address are being answered; try again later.",
                1,
            )
        return self.foreign.refusal(scope["method"], Headers(scope=scope))

    def _log(self, scope: Scope, exchange: _Exchange, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self.paths else "other"
        status = exchange.status or CLIENT_DISCONNECTED
        notes, fault = scope["regard"], scope["fault"]
        self.metrics.request(path, status, seconds, notes.get("characters", 0))
        log_event(
            "request",
            level=logging.ERROR if fault else logging.INFO,
            id=exchange.name,
            method=scope["method"] if scope["method"] in METHODS else "other",
            path=path,
            status=status,
            ms=round(1000 * seconds, 1),
            **notes,
            **fault,
        )


def _refused(error: ApiError) -> ASGIApp:
    return JSONResponse({"error": error.sentence}, error.status, error.headers)


class _Exchange:
    """The messages of one request and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, max_bytes: int) -> None:
        self.name = secrets.token_hex(8)
        self.status = 0
        self._receive, self._send, self._max_bytes = receive, send, max_bytes
        self._received = 0
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        self._too_long = announced.isdigit() and int(announced[:20]) > max_bytes

    async def receive(self) -> Message:
        if not self._too_long:
            message = await self._receive()
            self._received += len(message.get("body", b""))
            self._too_long = self._received > self._max_bytes
        if self._too_long and not self.status:
            raise ApiError(
                413,
                f"the request has more than {self._max_bytes} bytes; `regard serve "
                "--max-characters` sets how many characters are allowed.",
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
