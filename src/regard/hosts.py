"""Which names a server answers to, as `regard serve` and `regard watch` compare a Host header.

The owner of a page can let its name point to this computer (DNS rebinding). For a browser, page and
server are then of one origin, and the page may read every response; but its requests carry that
name as their Host. Names of this computer cannot be such a name, and neither can addresses, which
are not looked up.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

LOOPBACK = ("localhost", "127.0.0.0/8", "::1")
ADDRESSES = ("0.0.0.0/0", "::/0")
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::([0-9]{1,5}))?")


class AllowedHosts:
    """Names that a server answers to.

    names  a name, `*.example.org` (every name below it), an address or network of addresses, or `*`
           (all)
    port   that a Host must have; None: any, as a tunnel or a container may listen at another one

    >>> hosts = AllowedHosts(["localhost", "*.example.org", "127.0.0.0/8"])
    >>> [hosts.allow(host) for host in ("LOCALHOST:80", "a.example.org", "127.0.0.1:5000")]
    [True, True, True]
    >>> [hosts.allow(host) for host in ("example.org", "[::1]", "evil.example", "a b")]
    [False, False, False, False]
    """

    def __init__(self, names: Iterable[str], port: int | None = None) -> None:
        names = [name.lower().removesuffix(".") for name in names]
        networks = {name: _network(name) for name in names}
        self._all = "*" in names
        self._networks = tuple(network for network in networks.values() if network is not None)
        self._names = frozenset(name for name in names if networks[name] is None)
        self._endings = tuple(name[1:] for name in names if name.startswith("*."))
        self._port = port

    def allow(self, host: str) -> bool:
        """Whether the server answers to a request with this Host."""
        parts = split_host(host)
        if parts is None:
            return self._all
        name, port = parts
        if self._port is not None and port != self._port:
            return False
        if self._all or name in self._names or name.endswith(self._endings):
            return True
        network = _network(name)
        return network is not None and any(
            network.network_address in allowed for allowed in self._networks
        )


def split_host(host: str) -> tuple[str, int | None] | None:
    """The name of a Host header, in lower case, and its port; None if it is malformed.

    >>> split_host("Example.org.:8080"), split_host("[::1]"), split_host("user@example.org")
    (('example.org', 8080), ('::1', None), None)
    """
    match = _HOST.fullmatch(host.lower())
    if match is None:
        return None
    name = match[1].strip("[]").removesuffix(".")
    return name, None if match[2] is None else int(match[2])


def is_host_name(name: str) -> bool:
    """Whether `AllowedHosts` understands a name.

    >>> [is_host_name(name) for name in ("*", "*.example.org", "::1", "10.0.0.0/8", "a-b.example")]
    [True, True, True, True, True]
    >>> [is_host_name(name) for name in ("", "https://example.org", "example.org:80", "a*b", "*.")]
    [False, False, False, False, False]
    """
    name = name.lower()
    if name == "*" or _network(name) is not None:
        return True
    parts = split_host(name.removeprefix("*."))
    return parts is not None and parts[0] != "" and parts[1] is None


def default_hosts(host: str, address: str, machine: str) -> tuple[str, ...]:
    """What a server answers to unless its options name other hosts.

    host     the name or address that it is to listen at
    address  where it listens
    machine  this computer's name, to which it answers unless it listens at a loopback address

    >>> default_hosts("127.0.0.1", "127.0.0.1", "box")
    ('localhost', '127.0.0.0/8', '::1', '127.0.0.1')
    >>> default_hosts("", "0.0.0.0", "box.lan")
    ('localhost', '127.0.0.0/8', '::1', '0.0.0.0/0', '::/0', 'box.lan', 'box', 'box.local')
    """
    names: tuple[str, ...] = LOOPBACK
    if not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        short = machine.partition(".")[0]
        names = (*names, *ADDRESSES, machine, short, f"{short}.local")
    return tuple(dict.fromkeys(name for name in (*names, host) if is_host_name(name)))


def _network(name: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """An address or a network of addresses, if it is one."""
    try:
        return ipaddress.ip_network(name)
    except ValueError:
        return None
