"""Run a server in this process, until a signal stops it."""

from __future__ import annotations

import signal
import socket
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from regard.errors import InputError
from regard.server.http.app import create_app
from regard.server.http.log import log_event, write_log
from regard.server.http.slow_client import SlowClientProtocol
from regard.server.queue.service import Service

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
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(
            f"cannot listen at {host}, port {port}: {error.strerror or error}."
        ) from None
    # connections inherit it: a response's head and body are two packets, of which the second would
    # wait for the client's delayed acknowledgment of the first (40 ms)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def serve(service: Service, listener: socket.socket, *, proxy: str | None = None) -> None:
    """Serve until SIGTERM or SIGINT, then finish the running requests.

    `proxy` is the address of a reverse proxy, whose headers on clients' addresses are trusted.
    """
    write_log()
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app(service)
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    models = [f"{m.source}-{m.target} ({m.name})" for m in service.catalogue.models]
    print(f"Serving {', '.join(models)} at {address}", flush=True)
    log_event("started", address=address, models=[m.name for m in service.catalogue.models])
    server = uvicorn.Server(uvicorn_config(app, service.settings.timeout, proxy))
    handlers = {
        number: signal.signal(number, _stopped)  # uvicorn passes signals on to these at its end
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        server.run(sockets=[listener])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        listener.close()
    log_event("stopped")
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
        timeout_graceful_shutdown=int(timeout) + 5,
    )


def _stopped(_: int, __: FrameType | None) -> None:
    """End without an error: everything is done."""
