"""The limits of a server."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.errors import InputError
from regard.hosts import LOOPBACK, is_host_name


@dataclass(frozen=True)
class ServerSettings:
    """The limits of a server.

    characters    maximum of one request, all its texts together
    texts         maximum of one request
    waiting       requests that may wait; one more gets a 503
    per_address   requests of one address that are received or answered at once; 0: no limit
    together      sentences that are translated together, of any requests; 1: one by one
    linger        seconds that an idle server waits for more requests before it starts
    timeout       seconds after which a request gets a 503
    rate          requests a minute of one key or address; 0: no limit
    wrong_keys    requests a minute of one address that carry a wrong key; 0: no limit
    key_required  whether a request without a key is refused
    parse_seconds for which a document or a page may be read, and as many for writing it; each
                  megabyte of it has a tenth more
    parse_memory  bytes that this may take; each byte of the document has a hundred more
    keep_files    seconds for which a translated file can be downloaded
    cors          origins whose pages may use the server; * is all
    hosts         names that the server answers to, as `hosts.AllowedHosts` takes them
    metrics       whether /metrics is there
    """

    characters: int = 20_000
    texts: int = 500
    waiting: int = 512
    per_address: int = 256
    together: int = 256
    linger: float = 0.002
    timeout: float = 60.0
    rate: int = 0
    wrong_keys: int = 60
    key_required: bool = False
    parse_seconds: float = 10.0
    parse_memory: int = 1 << 30
    keep_files: float = 1800.0
    cors: tuple[str, ...] = ()
    hosts: tuple[str, ...] = LOOPBACK
    metrics: bool = True

    def __post_init__(self) -> None:
        positive = "characters", "texts", "waiting", "together", "timeout", "parse_seconds"
        for name in (*positive, "parse_memory"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name} must be a number above 0, got {getattr(self, name)}.")
        for name in ("linger", "rate", "wrong_keys", "per_address"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}.")
        for name in self.hosts:
            if not is_host_name(name):
                raise InputError(
                    "a host must be a name without scheme and port, as example.org or "
                    f"*.example.org, got {name!r}."
                )

    @property
    def body_bytes(self) -> int:
        """Most bytes of a request: JSON may take six for a character, a form nine."""
        return 65_536 + 12 * self.characters
