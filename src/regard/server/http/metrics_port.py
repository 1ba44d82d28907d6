"""`/metrics` on a port of its own, which no client of the translations needs to reach."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST

from regard.server.access.foreign_pages import ForeignPages
from regard.version import __version__

SECONDS = 10  # that a client may be silent
MAX_CONNECTIONS = 16  # at once; more are closed


@contextmanager
def serving_metrics(
    listener: socket, text: Callable[[], bytes], foreign: ForeignPages
) -> Iterator[None]:
    """Answer `GET /metrics` from a thread, while the context lasts.

    A thread answers also when the server itself is too busy to.
    """
    server = _MetricsServer(listener, text, foreign)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _MetricsServer(ThreadingHTTPServer):
    """A server on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listener: socket, text: Callable[[], bytes], foreign: ForeignPages) -> None:
        super().__init__(listener.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()  # the one that was made for us
        self.socket = listener
        self.text, self.foreign = text, foreign
        self._free = threading.Semaphore(MAX_CONNECTIONS)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether a connection may have a thread."""
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, and leave its place to another one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing of a connection that broke."""


class _Handler(BaseHTTPRequestHandler):
    timeout = SECONDS
    server: _MetricsServer

    def do_GET(self) -> None:
        """The metrics, a refusal, or 404."""
        refusal = self.server.foreign.refusal(self.command, self.headers)
        if refusal is not None:
            self._answer(refusal.status, f"{refusal.sentence}\n".encode())
        elif self.path.partition("?")[0] != "/metrics":
            self._answer(HTTPStatus.NOT_FOUND, b"there is only /metrics here.\n")
        else:
            self._answer(HTTPStatus.OK, self.server.text(), CONTENT_TYPE_LATEST)

    do_HEAD = do_GET

    def _answer(
        self, status: int, content: bytes, media_type: str = "text/plain; charset=utf-8"
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def version_string(self) -> str:
        return f"regard/{__version__}"

    def log_message(self, *arguments: Any) -> None:
        """Log nothing: it would be a line every few seconds."""
