"""A server in this process, until it is told to stop."""

from __future__ import annotations

import signal
import socket
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from regard.errors import InputError
from regard.server.http.app import create_app
from regard.server.http.log import tell, write_log
from regard.server.http.slow_client import PromptProtocol
from regard.server.queue.service import Service


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if not 0 <= port <= 65535:
        raise InputError(
            f"cannot listen at {host}, port {port}: a port is a number from 0 to 65535."
        )
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(
            f"cannot listen at {host}, port {port}: {error.strerror or error}."
        ) from None


def serve(service: Service, door: socket.socket, *, proxy: str | None = None) -> None:
    """Answer until SIGTERM or SIGINT, then finish what is under way.

    `proxy` is the address of a reverse proxy, whose word on where requests come from is taken.
    """
    write_log()
    app = create_app(service)
    host, port = door.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    models = [f"{m.source}-{m.target} ({m.name})" for m in service.catalogue.models]
    print(f"Serving {', '.join(models)} at {address}", flush=True)
    tell("started", address=address, models=[one.name for one in service.catalogue.models])
    server = uvicorn.Server(configured(app, service.settings.timeout, proxy))
    before = {
        each: signal.signal(each, _stopped)  # uvicorn hands signals on to these when it is done
        for each in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        server.run(sockets=[door])
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        door.close()
    tell("stopped")
    if not server.started:
        sys.exit(1)


def configured(app: FastAPI, timeout: float, proxy: str | None = None) -> uvicorn.Config:
    """uvicorn's settings; it logs nothing of requests, the gate does."""
    return uvicorn.Config(
        app,
        http=PromptProtocol,
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
    """All is done already: end without an error."""
