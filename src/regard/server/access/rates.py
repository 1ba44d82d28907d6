"""How often somebody may ask: a bucket for each, which fills up steadily."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable


class Rates:
    """The buckets of those who asked lately; at most `most` are kept, the last to ask.

    >>> rates = Rates(clock=lambda: 0.0)
    >>> [rates.wait("somebody", 2) for _ in range(3)]
    [0.0, 0.0, 30.0]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = 10_000) -> None:
        self.clock = clock
        self.most = most
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, who: str, per_minute: int) -> float:
        """0 if it may be done now, which then counts; else seconds until it may."""
        if not per_minute:
            return 0.0
        now = self.clock()
        left, at = self._buckets.pop(who, (float(per_minute), now))
        left = min(float(per_minute), left + (now - at) * per_minute / 60)
        allowed = left >= 1
        self._buckets[who] = (left - allowed, now)  # at the end: the last to ask
        while len(self._buckets) > self.most:
            del self._buckets[next(iter(self._buckets))]
        return 0.0 if allowed else (1 - left) * 60 / per_minute


def neighbourhood(address: str) -> str:
    """The address whose requests are counted; of IPv6 the network, which one home has to itself.

    >>> neighbourhood("192.0.2.7"), neighbourhood("2001:db8:1:2:3:4:5:6"), neighbourhood("pipe")
    ('192.0.2.7', '2001:db8:1:2::/64', 'pipe')
    >>> neighbourhood("::ffff:192.0.2.7")  # IPv4 by another name, not a network of all of it
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
