"""The page over HTTP, with the standard library's server: for this machine only.

    /                 the page; /page/… its files
    /updates?after=…  what the runs have gained since an earlier answer, whose `cursor` is given

It answers requests for its own address only, so that no other site that is open in the browser
can read from it under another name (DNS rebinding).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from regard.errors import InputError
from regard.folder import model_names
from regard.hosts import AllowedHosts
from regard.version import __version__
from regard.views.html import browser
from regard.watch.run_files import (
    Cursor,
    describe_run,
    files_of,
    read_addition,
    read_status,
    silent_seconds,
)

HOST = "127.0.0.1"
LINGER = 5.0  # seconds that an open page has to learn how the run ended
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class WatchedRuns:
    """Folders of runs, and what they have gained."""

    def __init__(self, folders: Sequence[str | PathLike[str]]) -> None:
        self.folders = [Path(folder) for folder in folders]
        self.names = model_names(folders)

    def updates(self, after: str) -> dict[str, Any]:
        """Return what was added after a cursor (empty: all), and the cursor after that."""
        places = _cursors(after, 2 * len(self.folders))
        runs, following, has_more = [], list[str](), False
        for number, (name, folder) in enumerate(zip(self.names, self.folders, strict=True)):
            status = read_status(folder)  # before the files: what they have now belongs to it
            parts = {}
            for index, (key, path) in enumerate(
                zip(("metrics", "samples"), files_of(folder), strict=True)
            ):
                added = read_addition(path, places[2 * number + index])
                following.append(f"{added.cursor.inode}.{added.cursor.offset}")
                has_more = has_more or added.has_more
                parts[key] = {"rows": added.rows, "whole": added.whole}
            known = {"about": describe_run(folder), "silent": silent_seconds(folder)}
            runs.append({"name": name, "folder": str(folder), **status, **known, **parts})
        return {"cursor": "_".join(following), "more": has_more, "runs": runs}


class StaticFile(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    etag: str


class WatchServer:
    """Serves the page of some runs from a thread, while it is entered.

    With `linger`, it stops only after an open page has learned how the run ended.
    """

    def __init__(
        self, folders: Sequence[str | PathLike[str]], port: int = 0, *, linger: bool = False
    ) -> None:
        self.linger = linger
        self.runs, self.files = WatchedRuns(folders), static_files()
        self.last_request, self.answered = -LINGER, threading.Event()
        try:
            self._server = _Server((HOST, port), _Handler)
        except OSError as error:
            raise InputError(
                f"port {port} of {HOST} cannot be listened at ({error.strerror}); give another "
                "port, or 0 for any."
            ) from error
        except OverflowError:
            raise InputError(f"the port must be from 0 to 65535, got {port}.") from None
        self._server.watch = self
        self.port = int(self._server.server_address[1])
        self.hosts = AllowedHosts((HOST, "localhost"), self.port)
        self.address = f"http://{HOST}:{self.port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop; with `linger`, first wait for one more request of a page that is open."""
        if self.linger and time.monotonic() - self.last_request < LINGER:
            self.answered.clear()
            self.answered.wait(LINGER)
        self._server.shutdown()
        self._server.server_close()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        while self._thread.is_alive():
            self._thread.join(1.0)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    watch: WatchServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    server: _Server

    def do_GET(self) -> None:
        """Answer a request for the page, one of its files, or updates."""
        watch = self.server.watch
        if not watch.hosts.allow(self.headers.get("Host", "")):
            self._answer(HTTPStatus.FORBIDDEN, b"", "text/plain")
            return
        url = urlsplit(self.path)
        name = "index.html" if url.path == "/" else url.path.removeprefix("/page/")
        if url.path == "/updates":
            watch.last_request = time.monotonic()
            after = parse_qs(url.query).get("after", [""])[0]
            body = json.dumps(watch.runs.updates(after)).encode()
            self._answer(HTTPStatus.OK, body, "application/json", {"Cache-Control": "no-store"})
            watch.answered.set()
        elif name in watch.files and url.path != "/page/index.html":
            file = watch.files[name]
            caching = {"ETag": file.etag, "Cache-Control": "no-cache"}
            fresh = self.headers.get("If-None-Match") == file.etag
            status = HTTPStatus.NOT_MODIFIED if fresh else HTTPStatus.OK
            self._answer(status, b"" if fresh else file.content, file.media_type, caching)
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"", "text/plain")

    do_HEAD = do_GET

    def _answer(
        self,
        status: HTTPStatus,
        body: bytes,
        media_type: str,
        extra_headers: dict[str, str] | None = None,
    ) -> None:
        headers = {
            "Content-Type": f"{media_type}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            **(extra_headers or {}),
        }
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):  # the page was closed
            self.close_connection = True

    def version_string(self) -> str:
        return f"regard/{__version__}"

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""


def static_files() -> dict[str, StaticFile]:
    """Return all files of the page by name; scripts and style of the views are one file each."""
    texts = {"view.js": browser.scripts(), "view.css": browser.style()}
    for file in files("regard.watch").joinpath("page").iterdir():
        if Path(file.name).suffix in TYPES:
            texts[file.name] = file.read_text("utf-8")
    return {name: _static_file(name, text.encode()) for name, text in texts.items()}


def _static_file(name: str, content: bytes) -> StaticFile:
    etag = f'"{sha256(content).hexdigest()[:32]}"'
    return StaticFile(content, TYPES[Path(name).suffix], etag)


def _cursors(text: str, count: int) -> list[Cursor]:
    """Parse the cursors of an earlier answer; of any other text, cursors at the beginning."""
    try:
        places = [Cursor(*map(int, part.split("."))) for part in text.split("_")]
    except (ValueError, TypeError):
        places = []
    valid = len(places) == count and all(place.offset >= 0 for place in places)
    return places if valid else [Cursor()] * count
