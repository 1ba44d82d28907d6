"""Connections that do not say what they want are closed: a request's head must come in time.

uvicorn waits for ever for the rest of a request's head, so that a few clients that send a letter
now and then could hold all connections. How long a body may take is `asked.SECONDS`.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 15.0  # in which the head of a request must have arrived


class PromptProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with a limit on the time that a head may take."""

    seconds = SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head: asyncio.TimerHandle | None = None
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._await_head()
        else:
            self._forget_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        """Let the time run, unless it does already."""
        if self._head is None:
            self._head = self.loop.call_later(self.seconds, self._too_slow)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _too_slow(self) -> None:
        self._head = None
        if not self.transport.is_closing():
            self.transport.close()
