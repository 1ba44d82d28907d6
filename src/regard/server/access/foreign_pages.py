"""Refuse what pages of other sites ask of the server, through the browser of somebody near it.

Such a page can send requests to addresses that its author cannot reach: to this computer, to a
server behind a firewall. Browsers say where a request comes from, in headers that no page can set:

- Host, the name in the page's address bar if that name points to this server (DNS rebinding);
- Origin, the page's own address, in every request that could change something or read the response;
- Sec-Fetch-Site, whether the page is of this server, in requests over TLS or to this computer.

Programs send no Origin and no Sec-Fetch-Site, and so are not concerned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from urllib.parse import urlsplit

from regard.hosts import AllowedHosts, split_host
from regard.server.http.errors import ApiError

PORTS = {"http": 80, "https": 443}


class RequestHeaders(Protocol):
    """Headers by name, in any case."""

    def get(self, name: str, /) -> str | None:
        """The value of a header."""


class ForeignPages:
    """Decides which requests come from pages that may not use the server.

    hosts    names that the server answers to, as `AllowedHosts` takes them
    origins  other origins whose pages may use it; * is all
    """

    def __init__(self, hosts: Iterable[str], origins: Iterable[str] = ()) -> None:
        self.hosts = AllowedHosts(hosts)
        self.origins = frozenset(origins)

    def refusal(self, method: str, headers: RequestHeaders) -> ApiError | None:
        """The error that a request gets; None if it may be answered."""
        host = headers.get("host") or ""
        if host and not self.hosts.allow(host):  # every browser sends one
            return _wrong_host(host)
        origin = headers.get("origin")
        if self._is_allowed(origin) or _is_preflight(method, headers):
            return None
        site = headers.get("sec-fetch-site")
        if site is not None:
            own = site in ("same-origin", "none") or _is_visit(method, headers)
        else:
            own = origin is None or is_origin_of(origin, host)
        if own:
            return None
        return ApiError(
            403,
            "pages of this origin may not use the server; `regard serve --cors` sets which may.",
        )

    def _is_allowed(self, origin: str | None) -> bool:
        return "*" in self.origins or origin in self.origins


def is_origin_of(origin: str, host: str) -> bool:
    """Whether a page of an origin has a server's name and port.

    The scheme does not count: behind a proxy that ends TLS, a page of https is served over http.

    >>> is_origin_of("https://example.org", "example.org")
    True
    >>> is_origin_of("http://127.0.0.1:3000", "127.0.0.1:5000")
    False
    >>> is_origin_of("null", "example.org")
    False
    """
    try:
        parts = urlsplit(origin)
    except ValueError:  # "http://[" for one
        return False
    page, server = split_host(parts.netloc), split_host(host)
    if page is None or server is None or parts.scheme not in PORTS:
        return False
    default = PORTS[parts.scheme]
    return (page[0], page[1] or default) == (server[0], server[1] or default)


def _is_preflight(method: str, headers: RequestHeaders) -> bool:
    """Whether a browser asks for permission only; the CORS middleware has the answer."""
    return method == "OPTIONS" and headers.get("access-control-request-method") is not None


def _is_visit(method: str, headers: RequestHeaders) -> bool:
    """Whether a link of another page was followed, which then can read nothing of the response."""
    return (
        method in ("GET", "HEAD")
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _wrong_host(host: str) -> ApiError:
    parts = split_host(host)
    if parts is None:
        return ApiError(400, "the Host of the request is no name of a server.")
    return ApiError(
        421,
        f"this server does not answer to the name {parts[0]}; `regard serve --allowed-host "
        f"{parts[0]}` lets it.",
    )
