"""Connections of clients that neither say what they want nor take what they get are closed.

uvicorn waits for ever for the rest of a request's head, so that a few clients that send a letter
now and then could hold all connections; and it keeps an answer that nobody reads for ever. How
long a body may take is `asked.SECONDS`.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 15.0  # in which the head of a request must have arrived
TAKING = 30.0  # seconds in which some of an answer must have been taken
SOME = 65_536  # bytes, or half of what is left


class PromptProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with limits on the time that a head may take, and an answer to be read."""

    seconds = SECONDS
    taking = TAKING

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        super().connection_made(transport)
        self._head: asyncio.TimerHandle | None = None
        self._reader: asyncio.TimerHandle | None = None
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._await_head()
        else:
            self._forget_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        self._forget_reader()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        self._forget_reader()
        super().resume_writing()

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

    def _await_reader(self) -> None:
        """Let the time run in which the client must take some of what is kept for it."""
        self._forget_reader()
        kept = self.transport.get_write_buffer_size()
        self._reader = self.loop.call_later(self.taking, self._taken, kept)

    def _taken(self, kept: int) -> None:
        if kept - self.transport.get_write_buffer_size() < min(SOME, kept // 2):
            self.transport.abort()  # what is closed would still wait until all is sent
        else:
            self._await_reader()

    def _forget_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
