"""Rate limits: a token bucket for each client, which fills steadily."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable


class RateLimiter:
    """The buckets of recent clients; at most `max_clients` are kept, the latest.

    >>> rates = RateLimiter(clock=lambda: 0.0)
    >>> [rates.wait("client", 2) for _ in range(3)]
    [0.0, 0.0, 30.0]
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, max_clients: int = 10_000
    ) -> None:
        self.clock = clock
        self.max_clients = max_clients
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, client: str, per_minute: int) -> float:
        """0 if a request is allowed now, which then counts; else the seconds until one is.

        `client` is a name or an address, of which the network counts.
        """
        if not per_minute:
            return 0.0
        client = client_network(client)
        now = self.clock()
        left, last = self._buckets.pop(client, (float(per_minute), now))
        left = min(float(per_minute), left + (now - last) * per_minute / 60)
        allowed = left >= 1
        self._buckets[client] = (left - allowed, now)  # at the end: the latest client
        while len(self._buckets) > self.max_clients:
            del self._buckets[next(iter(self._buckets))]
        return 0.0 if allowed else (1 - left) * 60 / per_minute


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
