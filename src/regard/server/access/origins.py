"""Pages of other origins that may ask, and what the others are told."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response

LENGTHS = ("content-length", "content-type")


class Origins(CORSMiddleware):
    """CORS as Starlette does it; a refusal is a sentence, as everywhere."""

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code == 200:
            return answer
        headers = {name: value for name, value in answer.headers.items() if name not in LENGTHS}
        sentence = "pages of this origin may not ask this; --cors says which may."
        return JSONResponse({"error": sentence}, answer.status_code, headers)
