"""Rate limits: a token bucket for each client, which fills steadily.

The buckets are in memory that forked processes share, so that a client has one rate, whichever
worker of a server answers it.
"""

from __future__ import annotations

import fcntl
import hashlib
import ipaddress
import mmap
import secrets
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BUCKET = struct.Struct("16sdd")  # hash of the client, requests left, time of the last one
EMPTY = bytes(16)
WAYS = 8  # buckets in which a client's may be: the oldest of them is given up for a new client
LOCK_TRIES, LOCK_PAUSE = 100, 0.0001


class RateLimiter:
    """The buckets of recent clients, about `max_clients`.

    >>> rates = RateLimiter(clock=lambda: 0.0)
    >>> [rates.wait("client", 2) for _ in range(3)]
    [0.0, 0.0, 30.0]
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, max_clients: int = 10_000
    ) -> None:
        self.clock = clock
        self._num_sets = -(-max_clients // WAYS)
        self._table = mmap.mmap(-1, self._num_sets * WAYS * BUCKET.size)
        self._lock = tempfile.TemporaryFile()  # noqa: SIM115  # without a name; all workers have it
        self._secret = secrets.token_bytes(16)  # nobody can choose addresses of one set

    def wait(self, client: str, per_minute: int) -> float:
        """0 if a request is allowed now, which then counts; else the seconds until one is.

        `client` is a name or an address, of which the network counts.
        """
        if not per_minute:
            return 0.0
        digest = hashlib.blake2b(
            client_network(client).encode("utf-8", "surrogatepass"),
            digest_size=16,
            key=self._secret,
        ).digest()
        now = self.clock()
        with self._locked():
            offset, left, last = self._find(digest, float(per_minute), now)
            left = min(float(per_minute), left + max(0.0, now - last) * per_minute / 60)
            allowed = left >= 1
            BUCKET.pack_into(self._table, offset, digest, left - allowed, now)
        return 0.0 if allowed else (1 - left) * 60 / per_minute

    def _find(self, digest: bytes, full: float, now: float) -> tuple[int, float, float]:
        """A client's bucket, or a full one in place of an empty or the oldest one of its set."""
        start = int.from_bytes(digest[:8]) % self._num_sets * WAYS * BUCKET.size
        end = start + WAYS * BUCKET.size
        ages = []
        for offset in range(start, end, BUCKET.size):
            other, left, last = BUCKET.unpack_from(self._table, offset)
            if other == digest:
                return offset, left, last
            ages.append((other != EMPTY, last, offset))
        return min(ages)[2], full, now

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Exclude other processes; not for ever, as one may have been stopped in here.

        The system unlocks what a killed process has locked.
        """
        for _ in range(LOCK_TRIES):
            try:
                fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(LOCK_PAUSE)
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)


def client_network(address: str) -> str:
    """The address that requests are counted by; of IPv6 the /64 network, which one home has.

    >>> client_network("192.0.2.7"), client_network("2001:db8:1:2:3:4:5:6"), client_network("pipe")
    ('192.0.2.7', '2001:db8:1:2::/64', 'pipe')
    >>> client_network("::ffff:192.0.2.7")  # IPv4 in the form of IPv6
    '192.0.2.7'
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), 64), strict=False))
