"""Requests that may take long are answered by a background worker, at a lower priority.

    client ── HTTP ──▶ worker ── short texts ──▶ its own queue
                          └── all others, through a Unix socket ──▶ background worker

Python computes in one thread of a process at a time, and the system gives each process its share
of the processor by its priority: whatever a long request takes, the worker answers the short ones
and says that it is well as if there were no other. A request is one connection, which either side
closes to give it up. Frames of one byte for the kind, four for the length and the content go both
ways:

    worker ▶ background   REQUEST (JSON), BODY …, LAST (of the body)
    background ▶ worker   START (JSON), BODY …, LAST, NOTES (JSON, for the log and the metrics)

Frames that are known together are written together: each write wakes the other process.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.api.requests import reading
from regard.server.http.errors import ApiError

FRAME = struct.Struct("!cI")
REQUEST, START, BODY, LAST, NOTES = b"R", b"S", b"B", b"L", b"N"
MAX_FRAME = 1 << 20  # bytes of a body; longer ones are cut
SHORT_BYTES = 2048  # of the body of a request that a worker answers itself
SHORT_PATHS = frozenset({"/translate", "/detect"})
SHORT_FIELDS = frozenset({"q", "source", "target", "format", "alternatives", "api_key"})
HERE = frozenset({"/v1/reload"})  # for the worker itself, which tells all others
BUSY = "the server is busy; try again later."
SCOPE = ("type", "http_version", "method", "scheme", "path", "root_path", "server", "client")
"""What a request is besides its bytes."""
PATIENCE = 15.0  # seconds after the time limit of requests, which the background worker applies


class BackgroundEndedError(Exception):
    """The background worker ended, or gave a request up, before the end of its response."""


class ForwardMiddleware:
    """ASGI middleware of a worker: decides who answers a request, and passes on what it must.

    path     of the background worker's socket
    timeout  seconds in which a response must begin
    """

    def __init__(self, app: ASGIApp, *, path: Path, timeout: float) -> None:
        self.app, self.path, self.timeout = app, path, timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] in HERE:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        first: list[Message] = []
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if scope["path"] in SHORT_PATHS and announces_short_body(headers):
                async with reading():
                    first = await read_messages(receive)
                body = b"".join(message.get("body", b"") for message in first)
                if is_short(headers, scope["query_string"], body):
                    await self.app(scope, replay(first, receive), send)
                    return
            await self._forward(scope, replay(first, receive), noted, lambda: begun)
        except ApiError as error:
            if not begun:
                response = JSONResponse({"error": error.sentence}, error.status, error.headers)
                await response(scope, receive, send)

    async def _forward(
        self, scope: Scope, receive: Receive, send: Send, has_begun: Callable[[], bool]
    ) -> None:
        """Have the background worker answer; an ApiError if it does not begin to."""
        end = time.monotonic() + self.timeout + PATIENCE
        try:
            async with asyncio.timeout(self.timeout + PATIENCE):
                reader, writer = await asyncio.open_unix_connection(self.path, limit=MAX_FRAME)
        except (OSError, TimeoutError):
            raise ApiError(503, BUSY, 1) from None
        tasks = (
            asyncio.ensure_future(send_request(scope, receive, writer)),
            asyncio.ensure_future(receive_response(scope, reader, send)),
        )
        try:
            done, _ = await asyncio.wait(
                tasks, timeout=end - time.monotonic(), return_when=asyncio.FIRST_COMPLETED
            )
            if not done and not has_begun():
                raise ApiError(503, "this took too long; send less, or try again later.", 10)
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except BackgroundEndedError:
            if has_begun():  # the client must see that the rest is missing
                raise
            raise ApiError(503, BUSY, 1) from None
        finally:
            for task in tasks:
                task.cancel()
            writer.transport.abort()
            await asyncio.gather(*tasks, return_exceptions=True)


async def send_request(scope: Scope, receive: Receive, writer: asyncio.StreamWriter) -> None:
    """Pass a request on; returns when the client has disconnected."""
    with suppress(ConnectionError):  # what the other side said is still to be read
        head = frame(REQUEST, encode_scope(scope))
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            more = message.get("more_body", False)
            writer.write(head + body_frames(message))
            head = b""
            await writer.drain()
    while (await receive())["type"] != "http.disconnect":
        pass


async def receive_response(scope: Scope, reader: asyncio.StreamReader, send: Send) -> None:
    """Pass the response to a request on, and note for the log what the other side noted."""
    try:
        while (read := await read_frame(reader))[0] != LAST:
            kind, content = read
            if kind == START:
                start = json.loads(content)
                headers = encode_headers(start["headers"])
                message = {"type": "http.response.start", "status": start["status"]}
                await send({**message, "headers": headers})
            else:
                await send({"type": "http.response.body", "body": content, "more_body": True})
        _, notes = await read_frame(reader)
    except (asyncio.IncompleteReadError, ConnectionError):
        raise BackgroundEndedError("the background worker ended.") from None
    for name, fields in json.loads(notes).items():
        scope[name].update(fields)
    await send({"type": "http.response.body", "body": read[1]})


class ForwardedRequests:
    """The background worker's end: runs the application for each request of a worker."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.tasks: set[asyncio.Task[None]] = set()
        self.num_answered = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the request of a connection."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the worker or its client gave it up
        finally:
            self.tasks.discard(task)
            self.num_answered += 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kind, content = await read_frame(reader)
        assert kind == REQUEST
        scope = decode_scope(content)
        reading_frame = asyncio.Lock()  # one that was given up may not have ended yet

        async def receive() -> Message:
            try:
                async with reading_frame:
                    kind, content = await read_frame(reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": content, "more_body": kind != LAST}

        unwritten = b""

        async def send(message: Message) -> None:
            nonlocal unwritten
            if message["type"] == "http.response.start":
                headers = decode_headers(message.get("headers", ()))
                start = {"status": message["status"], "headers": headers}
                unwritten += frame(START, json.dumps(start).encode())
            elif message["type"] == "http.response.body":
                unwritten += body_frames(message)
                if message.get("more_body", False):
                    writer.write(unwritten)
                    unwritten = b""
                    await writer.drain()

        try:
            await self.app(scope, receive, send)
        finally:
            for give_back in scope["held"]:
                give_back()
        notes = {"regard": scope["regard"], "fault": scope["fault"]}
        writer.write(unwritten + frame(NOTES, json.dumps(notes).encode()))
        await writer.drain()


def announces_short_body(headers: Headers) -> bool:
    """Whether a request says that its body is short.

    >>> announces_short_body(Headers({"content-length": "20"})), announces_short_body(Headers())
    (True, False)
    """
    length = headers.get("content-length", "")
    return length.isascii() and length.isdigit() and int(length[:20]) <= SHORT_BYTES


def is_short(headers: Headers, query: bytes, body: bytes) -> bool:
    """Whether a request is for short plain texts.

    >>> kind = Headers({"content-type": "application/json"})
    >>> is_short(kind, b"", b'{"q": "one", "format": "text"}')
    True
    >>> is_short(kind, b"", b'{"q": "one", "glossary": {"one": "un"}}')
    False
    """
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if len(query) > SHORT_BYTES or kind == "multipart/form-data":
        return False
    if kind == "application/json" or kind.endswith("+json"):
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            return False
        if not isinstance(fields, dict):
            return False
    else:
        pairs = query + b"&" + body
        fields = dict(parse_qsl(pairs.decode("latin-1"), keep_blank_values=False))
    return (
        fields.keys() <= SHORT_FIELDS
        and fields.get("format") in (None, "text")
        and fields.get("alternatives") in (None, 0, "0")
    )


async def read_messages(receive: Receive) -> list[Message]:
    """The messages of a request up to its end, or the client's disconnection."""
    messages = [await receive()]
    while messages[-1].get("more_body", False):
        messages.append(await receive())
    return messages


def replay(messages: list[Message], receive: Receive) -> Receive:
    """Receive messages that were received before, then others."""
    waiting = iter(messages)

    async def replayed() -> Message:
        message = next(waiting, None)
        return await receive() if message is None else message

    return replayed


def encode_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI has them."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def decode_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Headers as JSON can have them."""
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]


def encode_scope(scope: Scope) -> bytes:
    """A request without its body, as JSON.

    >>> scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"a", b"1")]}
    >>> decode_scope(encode_scope(scope))["headers"]
    [(b'a', b'1')]
    """
    latin = {name: scope.get(name, b"").decode("latin-1") for name in ("raw_path", "query_string")}
    headers = decode_headers(scope["headers"])
    plain = {name: scope[name] for name in SCOPE if name in scope}
    return json.dumps({**plain, **latin, "headers": headers}).encode()


def decode_scope(content: bytes) -> dict[str, Any]:
    """The scope of a forwarded request."""
    given: dict[str, Any] = json.loads(content)
    for name in ("server", "client"):
        given[name] = given.get(name) and tuple(given[name])
    return {
        **given,
        **{name: given[name].encode("latin-1") for name in ("raw_path", "query_string")},
        "headers": encode_headers(given["headers"]),
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "state": {},
        "regard": {},
        "fault": {},
        "held": [],
    }


def frame(kind: bytes, content: bytes) -> bytes:
    """A frame.

    >>> frame(BODY, b"one")
    b'B\\x00\\x00\\x00\\x03one'
    """
    return FRAME.pack(kind, len(content)) + content


def body_frames(message: Message) -> bytes:
    """The frames of a part of a body, none of them too long.

    >>> body_frames({"body": b"one", "more_body": False}) == frame(LAST, b"one")
    True
    """
    body = message.get("body", b"")
    starts = range(0, max(1, len(body)), MAX_FRAME)
    last = BODY if message.get("more_body", False) else LAST
    return b"".join(
        frame(last if start == starts[-1] else BODY, body[start : start + MAX_FRAME])
        for start in starts
    )


async def read_frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next frame: its kind and its content."""
    kind, length = FRAME.unpack(await reader.readexactly(FRAME.size))
    return kind, await reader.readexactly(length)
