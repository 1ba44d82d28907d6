"""Admission of a request: its body, its key, its rate and its size are checked in one place."""

from __future__ import annotations

import time

from fastapi import Request

from regard.errors import InputError
from regard.server.access.keys import Key, find_key
from regard.server.access.rates import RateLimiter, client_network
from regard.server.api.requests import Body, RequestBody, read_body
from regard.server.http.errors import ApiError
from regard.server.http.settings import ServerSettings


class Admission:
    """The keys and rates of a server, and its limits on one request."""

    def __init__(self, settings: ServerSettings, keys: tuple[Key, ...] = ()) -> None:
        if settings.key_required and not keys:
            raise InputError("a key is required, but there is none; make one with --make-key.")
        self.settings = settings
        self.keys = keys
        self.rates = RateLimiter()

    async def admit(self, request: Request, schema: type[Body], *, admin: bool = False) -> Body:
        """The body of a request, if the client may send it, now, and it is not too long."""
        body = await read_body(request, schema)
        self.check(request, body, admin=admin)
        return body

    def check(self, request: Request, body: RequestBody, *, admin: bool = False) -> None:
        """Refuse a wrong key, too many requests and too much text; set the request's deadline."""
        key = find_key(body.api_key, self.keys) if body.api_key and self.keys else None
        if self.keys and body.api_key and key is None:
            raise ApiError(403, "Invalid API key")
        if key is None and (self.settings.key_required or admin):
            raise ApiError(403, "Please contact the server operator to get an API key")
        if admin and not (key and key.admin):
            raise ApiError(403, "this API key may not do that.")
        request.state.deadline = time.monotonic() + self.settings.timeout
        if key is not None:
            request.scope["regard"]["key"] = key.name
        address = request.client.host if request.client else "unknown"
        client = f"key {key.name}" if key else client_network(address)
        request.state.client = client
        rate = self.settings.rate if key is None or key.rate is None else key.rate
        seconds = self.rates.wait(client, rate)
        if seconds:
            raise ApiError(429, f"Slowdown: {rate} per 1 minute", seconds)
        self.check_size(request, body)

    def check_size(self, request: Request, body: RequestBody) -> None:
        """Refuse too many texts or characters, and note their number for log and metrics."""
        texts = body.texts
        characters = sum(map(len, texts)) + len(body.other_text)
        for given, limit, unit in (
            (len(texts), self.settings.texts, "texts"),
            (characters, self.settings.characters, "characters"),
        ):
            if given > limit:
                raise ApiError(
                    400,
                    f"Invalid request: request ({given}) exceeds text limit ({limit}); "
                    f"`regard serve --max-{unit}` sets how many {unit} are allowed",
                )
        if texts:
            request.scope["regard"]["characters"] = characters
