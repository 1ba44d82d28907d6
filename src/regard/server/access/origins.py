"""Pages of other origins that may use the server (CORS)."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response

LENGTH_HEADERS = ("content-length", "content-type")


class OriginMiddleware(CORSMiddleware):
    """Starlette's CORS; a refusal is JSON with a sentence, like all others."""

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == 200:
            return response
        headers = {
            name: value for name, value in response.headers.items() if name not in LENGTH_HEADERS
        }
        sentence = "pages of this origin may not do this; --cors sets which may."
        return JSONResponse({"error": sentence}, response.status_code, headers)
