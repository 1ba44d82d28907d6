"""Admission of a request: its body, its key, its rate and its size are checked in one place."""

from __future__ import annotations

import asyncio
import logging
import time

from fastapi import Request

from regard.errors import InputError, error_fields
from regard.server.access.keys import Key, find_key, read_keys
from regard.server.access.rates import RateLimiter, client_network
from regard.server.api.requests import Body, RequestBody, read_body
from regard.server.http.errors import ApiError
from regard.server.http.log import log_event
from regard.server.http.settings import ServerSettings


class Admission:
    """The keys and rates of a server, and its limits on one request.

    keys_file          where `reload_keys` reads the keys again
    rates, wrong_keys  the clients' requests so far; without them, none
    """

    def __init__(
        self,
        settings: ServerSettings,
        keys: tuple[Key, ...] = (),
        keys_file: str | None = None,
        rates: RateLimiter | None = None,
        wrong_keys: RateLimiter | None = None,
    ) -> None:
        if settings.key_required and not keys and keys_file is None:
            raise InputError("a key is required, but there is none; make one with --make-key.")
        self.settings = settings
        self.keys = keys
        self.has_keys = bool(keys) or keys_file is not None  # also when the last one is revoked
        self.keys_file = keys_file
        self.rates = rates or RateLimiter()
        self.wrong_keys = wrong_keys or RateLimiter()

    async def admit(self, request: Request, schema: type[Body], *, admin: bool = False) -> Body:
        """The body of a request, if the client may send it, now, and it is not too long."""
        body = await read_body(request, schema)
        self.check(request, body, admin=admin)
        return body

    def check(self, request: Request, body: RequestBody, *, admin: bool = False) -> None:
        """Refuse a wrong key, too many requests and too much text; set the request's deadline."""
        address = request.client.host if request.client else "unknown"
        key = self.find_key(body.api_key, address) if body.api_key and self.has_keys else None
        if key is None and (self.settings.key_required or admin):
            raise ApiError(403, "Please contact the server operator to get an API key")
        if admin and not (key and key.admin):
            raise ApiError(403, "this API key may not do that.")
        request.state.deadline = time.monotonic() + self.settings.timeout
        if key is not None:
            request.scope["regard"]["key"] = key.name
        client = f"key {key.name}" if key else client_network(address)
        request.state.client = client
        rate = self.settings.rate if key is None or key.rate is None else key.rate
        seconds = self.rates.wait(client, rate)
        if seconds:
            raise ApiError(429, f"Slowdown: {rate} per 1 minute", seconds)
        self.check_size(request, body)

    def check_bearer(self, request: Request) -> None:
        """Check the key of a request that carries it as `Authorization: Bearer KEY`."""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        given = key.strip() if scheme.lower() == "bearer" else None
        self.check(request, RequestBody.model_construct(api_key=given))

    def find_key(self, given: str, address: str) -> Key:
        """The entry of a key; wrong keys are counted by address, and refused as such.

        Only wrong keys: a client with a right one is not locked out by others at its address.
        """
        key = find_key(given, self.keys)
        if key is not None:
            return key
        most = self.settings.wrong_keys
        seconds = self.wrong_keys.wait(client_network(address), most)
        if seconds:
            raise ApiError(429, f"Slowdown: {most} wrong API keys per 1 minute", seconds)
        raise ApiError(403, "Invalid API key")

    async def reload_keys(self) -> ApiError | None:
        """Read the keys again; if they cannot be read, the old ones stay, and an error is returned.

        A file without any key is none: all keys are revoked.
        """
        if self.keys_file is None:
            return None
        try:
            keys = await asyncio.to_thread(read_keys, self.keys_file)
        except (InputError, OSError) as error:
            event = "keys kept: reading them again failed"
            log_event(event, level=logging.ERROR, reason=str(error), **error_fields(error))
            return ApiError(503, "the keys cannot be read; the old ones stay.", 60)
        before, after = set(self.keys), set(keys)
        self.keys = keys
        if before != after:
            log_event(
                "keys changed",
                new=sorted(key.name for key in after - before),
                gone=sorted(key.name for key in before - after),
            )
        return None

    def check_size(self, request: Request, body: RequestBody) -> None:
        """Refuse too many texts or characters, and note their number for log and metrics."""
        texts = body.texts
        self.check_counts(request, len(texts), sum(map(len, texts)) + len(body.other_text))

    def check_counts(self, request: Request, num_texts: int, characters: int) -> None:
        """Refuse too many texts or characters, and note their number for log and metrics."""
        for given, limit, unit in (
            (num_texts, self.settings.texts, "texts"),
            (characters, self.settings.characters, "characters"),
        ):
            if given > limit:
                raise ApiError(
                    400,
                    f"Invalid request: request ({given}) exceeds text limit ({limit}); "
                    f"`regard serve --max-{unit}` sets how many {unit} are allowed",
                )
        if num_texts:
            request.scope["regard"]["characters"] = characters
