"""A worker's link with its supervisor: heartbeats one way, commands the other way.

Messages are packets of a socket. Its other end belongs to the supervisor alone, so that it is
closed when the supervisor ends, however it ends; the worker then ends too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from regard.cores import cores
from regard.server.queue.service import Service

BEAT, RELOADED, RELOAD_OTHERS = b"beat", b"reloaded", b"reload others"
"""From a worker: its event loop runs; it has reloaded; an admin wants the others to reload."""
KEYS, RELOAD = b"keys", b"reload"
"""To a worker: read the keys again; read keys and models again."""
FAILED = b"failed "
"""From a worker: it cannot start; the reason follows."""
BEAT_SECONDS = 1.0
STUCK_SECONDS = 10.0
"""Without a heartbeat, after which a worker is killed."""
GROWN = b"grown"
"""From a background worker: it ends, as it has grown, and another one may take its place."""
MAX_REASON = 2000  # bytes


class SupervisorLink:
    """The worker's end of the link."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.orphaned = False
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, message: bytes) -> None:
        """Send without waiting: a supervisor that is stopped must not stop the worker."""
        with suppress(OSError):
            self.channel.send(message)

    def attach(self, service: Service) -> None:
        """Have the running event loop send heartbeats and obey commands."""
        self.channel.setblocking(False)
        service.reload_others = lambda: self.send(RELOAD_OTHERS)
        asyncio.get_running_loop().add_reader(self.channel, self._receive, service)
        self._beat(service)

    def _beat(self, service: Service) -> None:
        self.send(BEAT)
        service.count_waiting()
        # Should the loop hang when there is no supervisor any more to kill the worker, the system
        # does: by the processor time of all threads, which stands still in a stopped process.
        signal.setitimer(signal.ITIMER_PROF, 4 * STUCK_SECONDS * cores())
        asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat, service)

    def _receive(self, service: Service) -> None:
        try:
            message = self.channel.recv(64)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if message == KEYS:
            self._start(service.admission.reload_keys)
        elif message == RELOAD:
            self._start(service.reload, RELOADED)
        elif not message:
            asyncio.get_running_loop().remove_reader(self.channel)
            self.orphaned = True
            os.kill(os.getpid(), signal.SIGTERM)  # finish what runs, and end

    def _start(self, function: Callable[[], Awaitable[object]], done: bytes | None = None) -> None:
        async def run() -> None:
            with suppress(Exception):  # it is in the log
                await function()
            if done is not None:
                self.send(done)

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
