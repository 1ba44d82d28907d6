"""The page at `/`: its files, each with an ETag, so that a browser can cache it.

The policy lets the page load scripts, styles and responses from this server only, and run no
inline script.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.server.http.errors import ApiError
from regard.views.html import browser

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
MEDIA_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
MODULES = "<!-- modules -->"  # where the page names the scripts to load ahead


class PageFile(NamedTuple):
    """A file of the page: its content, media type and ETag."""

    content: bytes
    media_type: str
    etag: str


def page_files() -> dict[str, PageFile]:
    """All files of the page by path; the view's own scripts and styles are one file each."""
    css = f"{browser.style()}\n{browser.read('stages/stages.css')}"
    texts = {"view.js": browser.scripts(*browser.STAGES), "view.css": css}
    front = files("regard.server.page").joinpath("front")
    for folder in (front, *filter(lambda entry: entry.is_dir(), front.iterdir())):
        before = "" if folder is front else f"{folder.name}/"
        for file in folder.iterdir():
            if file.name.endswith(tuple(MEDIA_TYPES)):
                texts[before + file.name] = file.read_text("utf-8")
    modules = sorted(path for path in texts if "/" in path and path.endswith(".js"))
    preload = "\n".join(f'<link rel="modulepreload" href="page/{path}">' for path in modules)
    texts["index.html"] = texts["index.html"].replace(MODULES, preload)
    return {path: _page_file(path, text) for path, text in texts.items()}


def routes() -> APIRouter:
    """The page and its files."""
    api = APIRouter(include_in_schema=False)
    known = page_files()

    @api.api_route("/", methods=["GET", "HEAD"])
    async def page(request: Request) -> Response:
        return _respond(request, known["index.html"])

    @api.api_route("/page/{path:path}", methods=["GET", "HEAD"])
    async def page_file(request: Request, path: str) -> Response:
        if path not in known or path == "index.html":
            raise ApiError(404, "there is nothing here; see /spec.")
        return _respond(request, known[path])

    return api


def _page_file(path: str, text: str) -> PageFile:
    content = text.encode()
    media_type = MEDIA_TYPES[path[path.rindex(".") :]]
    return PageFile(content, media_type, f'"{sha256(content).hexdigest()[:32]}"')


def _respond(request: Request, file: PageFile) -> Response:
    """The file, or 304 if the browser has it."""
    headers = {
        "ETag": file.etag,
        "Cache-Control": "no-cache",  # cache it, but check each time whether it is still the same
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    etags = request.headers.get("if-none-match", "").split(",")
    if file.etag in (etag.strip().removeprefix("W/") for etag in etags):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)
