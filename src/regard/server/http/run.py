"""The sockets of a server, and its HTTP side in a worker, until a signal stops it."""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from regard.errors import InputError
from regard.server.http.app import create_app
from regard.server.http.slow_client import SlowClientProtocol
from regard.server.queue.service import Service
from regard.server.workers.link import SupervisorLink

BACKLOG = 2048  # connections that may wait to be accepted
ACCEPTED = 128  # at a time
FINISH_SECONDS = 8  # for running requests; the supervisor gives a worker a little more

SWITCH_SECONDS = 0.0005
"""Python's threads give way to each other after this time, not after 5 ms: each time that the HTTP
side has read or written something, it waits so long for a thread that computes."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if not 0 <= port <= 65535:
        raise InputError(
            f"cannot listen at {host}, port {port}: a port is a number from 0 to 65535."
        )
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise InputError(
            f"cannot listen at {host}, port {port}: {error.strerror or error}."
        ) from None
    # connections inherit it: a response's head and body are two packets, of which the second would
    # wait for the client's delayed acknowledgment of the first (40 ms)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class WorkerServer(uvicorn.Server):
    """uvicorn's server, which accepts so many connections at a time.

    Several workers accept one: else whoever is first would take all that wait, and keep them, and
    they would have unequal parts. Where many wait, each is delayed by what was accepted before it,
    so that a single worker accepts more.
    """

    def __init__(self, config: uvicorn.Config, num_workers: int) -> None:
        super().__init__(config)
        self.accepted = 1 if num_workers > 1 else ACCEPTED

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start; then let as many connections wait as before."""
        self.config.backlog = self.accepted  # asyncio accepts so many in a row
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)


def address_of(listener: socket.socket) -> str:
    """The address of a listening socket, as it is given to a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(
    service: Service,
    listener: socket.socket,
    link: SupervisorLink,
    *,
    proxy: str | None = None,
    background: Path | None = None,
) -> None:
    """Serve until SIGTERM, then finish the running requests.

    `background` is the socket of the process that answers what may take long; `proxy` is the
    address of a reverse proxy, whose headers on clients' addresses are trusted.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app(service, link, background=background)
    config = uvicorn_config(app, service.settings.timeout, proxy)
    server = WorkerServer(config, service.shared.num_workers if service.shared else 1)
    before = signal.signal(signal.SIGTERM, _stopped)  # uvicorn passes the signal on at its end
    try:
        server.run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)
        listener.close()
    if not server.started:
        sys.exit(1)


def uvicorn_config(app: FastAPI, timeout: float, proxy: str | None = None) -> uvicorn.Config:
    """uvicorn's settings; requests are logged by the middleware."""
    return uvicorn.Config(
        app,
        http=SlowClientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        timeout_graceful_shutdown=min(int(timeout) + 5, FINISH_SECONDS),
    )


def _stopped(_: int, __: FrameType | None) -> None:
    """End without an error: everything is done."""
