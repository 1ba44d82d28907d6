"""Close connections of clients that send a request's head, or read the response, too slowly.

uvicorn waits forever for the rest of a request's head, so that a few clients that send a byte now
and then could occupy all connections; and it keeps a response that is not read forever. The time
limit of a body is `requests.SECONDS`.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0  # in which the head of a request must have arrived
READ_SECONDS = 30.0  # in which some of a response must have been read
MIN_READ = 65_536  # bytes, or half of what is left


class SlowClientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with time limits for a request's head and for reading a response."""

    head_seconds = HEAD_SECONDS
    read_seconds = READ_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        super().connection_made(transport)
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._start_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._start_head()
        else:
            self._stop_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head()
        self._stop_read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_read()

    def resume_writing(self) -> None:
        self._stop_read()
        super().resume_writing()

    def _start_head(self) -> None:
        """Start the timer, unless it runs."""
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._head_late)

    def _stop_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_late(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()

    def _start_read(self) -> None:
        """Start the time in which the client must read some of the buffered response."""
        self._stop_read()
        buffered = self.transport.get_write_buffer_size()
        self._read_timer = self.loop.call_later(self.read_seconds, self._check_read, buffered)

    def _check_read(self, buffered: int) -> None:
        if buffered - self.transport.get_write_buffer_size() < min(MIN_READ, buffered // 2):
            self.transport.abort()  # close() would still wait until all is sent
        else:
            self._start_read()

    def _stop_read(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
