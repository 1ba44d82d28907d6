"""The process of the attackers: every worst request again and again, and odd connections.

python -m benchmarks.hostile.attackers < task.json > outcome.json
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.hostile.attacks import Requests, worst_requests

PAUSE = 0.02  # seconds between a response and the next request of the same kind
LIMIT = 75.0  # seconds after which a response is given up
CROWD = 520  # connections of one client at once
SLOW = 20  # connections that send a byte now and then


@dataclass(frozen=True)
class Attack:
    """The task of the process of attackers.

    sentence   an ordinary one
    addresses  local ones, which the attackers use in turn
    seconds    for which they attack
    """

    host: str
    port: int
    source: str
    target: str
    sentence: str
    addresses: Sequence[str]
    seconds: float


@dataclass
class Report:
    """What the attackers have seen.

    statuses  of each request, by its name: status, or what happened instead
    slowest   seconds until the response, by the name of the request
    """

    statuses: dict[str, dict[str, int]] = field(default_factory=dict)
    slowest: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, status: str, seconds: float) -> None:
        """Count a response."""
        counts = self.statuses.setdefault(name, {})
        counts[status] = counts.get(status, 0) + 1
        self.slowest[name] = max(seconds, self.slowest.get(name, 0.0))


class Attackers:
    """All attackers of one process."""

    def __init__(self, attack: Attack) -> None:
        self.attack, self.report = attack, Report()
        self.make = Requests(attack.host, attack.port, attack.source, attack.target)
        self.end = time.monotonic() + attack.seconds

    async def run(self) -> Report:
        """Attack until the time is over."""
        requests = worst_requests(self.make, self.attack.sentence)
        addresses = self.attack.addresses
        tasks = [
            self._repeat(name, request, addresses[number % len(addresses)])
            for number, (name, request) in enumerate(requests.items())
        ]
        head = requests["sentences"]
        tasks += [self._crowd(requests["500 texts"]), self._endless_body(), self._never_read()]
        tasks += [self._drip(head) for _ in range(SLOW)]
        running = [asyncio.ensure_future(task) for task in tasks]
        await asyncio.wait(running, timeout=max(0.0, self.end - time.monotonic()))
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return self.report

    async def _connect(
        self, address: str | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        local = (address or self.attack.addresses[0], 0)
        return await asyncio.open_connection(
            self.attack.host, self.attack.port, local_addr=local, limit=1 << 20
        )

    async def _repeat(self, name: str, request: bytes, address: str) -> None:
        """Send a request again and again."""
        while True:
            await self._exchange(name, request, address)
            await asyncio.sleep(PAUSE)

    async def _exchange(self, name: str, request: bytes, address: str | None = None) -> None:
        start = time.monotonic()
        try:
            async with asyncio.timeout(LIMIT):
                status = await self._status(request, address)
        except TimeoutError:
            status = "no response"
        except (OSError, asyncio.IncompleteReadError):
            status = "closed"
        self.report.add(name, status, time.monotonic() - start)

    async def _status(self, request: bytes, address: str | None) -> str:
        """Send a request, read the whole response, and return its status."""
        reader, writer = await self._connect(address)
        try:
            writer.write(request)
            first = await reader.readline()
            while await reader.read(1 << 16):
                pass
        finally:
            writer.close()
        return first[9:12].decode("latin-1") or "closed"

    async def _crowd(self, request: bytes) -> None:
        """Many connections at once, all with a request that takes time."""
        while True:
            await asyncio.gather(
                *(self._exchange("520 connections", request) for _ in range(CROWD))
            )
            await asyncio.sleep(1.0)

    async def _drip(self, request: bytes) -> None:
        """Send a byte of a request's head now and then."""
        while True:
            with suppress(OSError):
                _, writer = await self._connect()
                try:
                    for byte in request[:200]:
                        writer.write(bytes([byte]))
                        await asyncio.sleep(0.5)
                        if writer.is_closing():
                            break
                finally:
                    writer.close()
            await asyncio.sleep(PAUSE)

    async def _endless_body(self) -> None:
        """Announce a large body, or none, and send much more than the server takes."""
        begin = f"POST /translate HTTP/1.1\r\nHost: {self.make.host}\r\n"
        kind = "Content-Type: application/json\r\n"
        while True:
            for header, block in (
                ("Content-Length: 1000000000\r\n\r\n", b"[" * 65_536),
                ("Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"[" * 65_536 + b"\r\n"),
            ):
                with suppress(OSError):
                    _, writer = await self._connect()
                    try:
                        writer.write((begin + kind + header).encode())
                        for _ in range(64):
                            if writer.is_closing():
                                break
                            writer.write(block)
                            await writer.drain()
                            await asyncio.sleep(PAUSE)
                    finally:
                        writer.close()
            await asyncio.sleep(PAUSE)

    async def _never_read(self) -> None:
        """Ask for the page many times on one connection, and read no response."""
        while True:
            with suppress(OSError):
                _, writer = await self._connect()
                transport = writer.transport
                assert isinstance(transport, asyncio.ReadTransport)
                try:
                    transport.pause_reading()
                    writer.write(self.make.get("/spec") * 200)
                    await asyncio.sleep(10.0)
                finally:
                    writer.close()
            await asyncio.sleep(PAUSE)


def main() -> None:
    """Read an attack from stdin, run it, write the report to stdout."""
    settings: dict[str, Any] = json.load(sys.stdin)
    json.dump(asdict(asyncio.run(Attackers(Attack(**settings)).run())), sys.stdout)


if __name__ == "__main__":
    main()
