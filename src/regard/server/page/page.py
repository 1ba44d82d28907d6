"""The page at `/`: its files as they are, each with a tag by which a browser knows it again.

Everything comes from here: the policy lets the page load scripts, styles and answers from this
server only, and run nothing that is written into it.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.server.http.errors import RefusalError
from regard.views.html import browser

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


class Part(NamedTuple):
    """A file of the page: what it says, its kind, and its tag."""

    content: bytes
    kind: str
    tag: str


def parts() -> dict[str, Part]:
    """All files of the page, by name; those of the view are put together."""
    found = {"view.js": browser.scripts(), "view.css": browser.style()}
    for file in files("regard.server.page").joinpath("front").iterdir():
        if file.name.endswith(tuple(KINDS)):
            found[file.name] = file.read_text("utf-8")
    return {name: _part(name, text) for name, text in found.items()}


def routes() -> APIRouter:
    """The page and its files."""
    api = APIRouter(include_in_schema=False)
    known = parts()

    @api.api_route("/", methods=["GET", "HEAD"])
    async def page(request: Request) -> Response:
        return _answer(request, known["index.html"])

    @api.api_route("/page/{name}", methods=["GET", "HEAD"])
    async def part(request: Request, name: str) -> Response:
        if name not in known or name == "index.html":
            raise RefusalError(404, "there is nothing here; see /spec.")
        return _answer(request, known[name])

    return api


def _part(name: str, text: str) -> Part:
    content = text.encode()
    kind = KINDS[name[name.rindex(".") :]]
    return Part(content, kind, f'"{sha256(content).hexdigest()[:32]}"')


def _answer(request: Request, part: Part) -> Response:
    """The file, or that the browser has it already."""
    headers = {
        "ETag": part.tag,
        "Cache-Control": "no-cache",  # keep it, and ask each time whether it is still the same
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    tags = request.headers.get("if-none-match", "").split(",")
    if part.tag in (tag.strip().removeprefix("W/") for tag in tags):
        return Response(status_code=304, headers=headers)
    return Response(part.content, media_type=part.kind, headers=headers)
