"""Many concurrent clients in one process, light enough to leave the machine to the server.

Each client keeps a connection and has sentences of its own; it sends the next request when it has
a response, or when its turn comes (`rate`). Translations that differ from the expected ones are
collected.

    python -m benchmarks.serve.client < task.json > outcome.json
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

HEAD = b"\r\n\r\n"
REFUSALS = (429, 503)


@dataclass(frozen=True)
class Load:
    """The task of a process of clients.

    sentences  of each client: (number, text, expected translation)
    seconds    time during which new requests are sent
    timeout    seconds to wait for the last responses after that; 0: do not wait
    rate       requests a second of all clients, whatever the responses; 0: each as fast as it can
    disconnect whether at the end each client sends one more request and disconnects
    addresses  the local address of each client; none: the system's choice
    """

    host: str
    port: int
    source: str
    target: str
    sentences: Sequence[Sequence[tuple[int, str, str]]]
    seconds: float
    timeout: float = 0.0
    rate: float = 0.0
    disconnect: bool = False
    addresses: Sequence[str] = ()


@dataclass
class Outcome:
    """The responses to all clients.

    statuses   number of responses by status
    wrong      (number of the sentence, translation) of those that were not as expected
    lost       requests without a response: connection failed or broken, or timeout
    malformed  responses that are no HTTP or no JSON
    seconds    latencies of responses with status 200
    moments    when these came, from the start
    """

    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    lost: int = 0
    malformed: int = 0
    num_requests: int = 0
    seconds: list[float] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)


class Client(asyncio.Protocol):
    """One connection.

    stopped       no more requests are sent
    disconnected  responses are no longer counted
    """

    def __init__(self, number: int, load: Load, outcome: Outcome, start: float) -> None:
        self.load, self.outcome, self.start = load, outcome, start
        self.local = (load.addresses[number], 0) if load.addresses else None
        self.sentences = load.sentences[number]
        self.requests = [_request(load, text) for _, text, _ in self.sentences]
        self.index = 0
        self.waiting = False
        self.stopped = False
        self.disconnected = False
        self.sent_at = 0.0
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._send_next()

    def _send_next(self) -> None:
        if not self.load.rate:
            self.send()

    def send(self) -> None:
        """Send the next request."""
        if self.stopped or self.transport is None or self.transport.is_closing():
            return
        self.waiting = True
        self.outcome.num_requests += 1
        self.sent_at = time.perf_counter()
        self.transport.write(self.requests[self.index])

    def data_received(self, data: bytes) -> None:
        if self.disconnected:  # the response is not counted
            return
        self.buffer += data
        head, separator, rest = self.buffer.partition(HEAD)
        if not separator:
            return
        length = _length(head)
        if len(rest) < length:
            return
        self.buffer = b""
        self.waiting = False
        if len(rest) > length:  # more than one response
            self.outcome.malformed += 1
        self._answered(int(head[9:12]), head, rest[:length])

    def connection_lost(self, exc: Exception | None) -> None:
        if self.waiting and not self.disconnected:
            self.outcome.lost += 1
        self.waiting = False
        self.transport = None

    def _answered(self, status: int, head: bytes, body: bytes) -> None:
        outcome, now = self.outcome, time.perf_counter()
        outcome.statuses[str(status)] += 1
        number, _, expected = self.sentences[self.index]
        if status == 200:
            outcome.seconds.append(now - self.sent_at)
            outcome.moments.append(now - self.start)
            try:
                text = json.loads(body)["translatedText"]
            except (ValueError, KeyError, TypeError):
                outcome.malformed += 1
            else:
                if text != expected:
                    outcome.wrong.append((number, text))
            self.index = (self.index + 1) % len(self.requests)
            self._send_next()
        elif status in REFUSALS:  # try again when the server allows it
            asyncio.get_running_loop().call_later(_retry_after(head), self.send)
        else:
            self.index = (self.index + 1) % len(self.requests)
            self._send_next()


async def run(load: Load) -> Outcome:
    """Run all clients concurrently."""
    loop = asyncio.get_running_loop()
    outcome, start = Outcome(), time.perf_counter()
    clients = [Client(n, load, outcome, start) for n in range(len(load.sentences))]

    async def connected(client: Client) -> None:
        try:
            await loop.create_connection(
                lambda: client, load.host, load.port, local_addr=client.local
            )
        except OSError:
            outcome.lost += 1

    await asyncio.gather(*map(connected, clients))
    end = start + load.seconds
    pacing = asyncio.ensure_future(_pace(clients, load.rate)) if load.rate else None
    while time.perf_counter() < end:
        await asyncio.sleep(min(0.2, max(0.0, end - time.perf_counter())))
        for client in clients:
            if client.transport is None:  # the server closed it, which is counted
                await connected(client)
    if pacing is not None:
        pacing.cancel()
    await _finish(clients, load.timeout, outcome)
    for client in clients:
        client.disconnected = True
    if load.disconnect:
        await _send_last(clients)
    for client in clients:
        if client.transport is not None:
            client.transport.abort()
    return outcome


async def _pace(clients: Sequence[Client], rate: float) -> None:
    """Have clients without an open request send one, at equal intervals."""
    start = time.perf_counter()
    for number in count():
        await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
        idle = [client for client in clients if not client.waiting]
        if idle:
            idle[number % len(idle)].send()


async def _finish(clients: Sequence[Client], timeout: float, outcome: Outcome) -> None:
    """Stop sending, wait for open requests, and count those without a response."""
    for client in clients:
        client.stopped = True
    end = time.perf_counter() + timeout
    while any(client.waiting for client in clients) and time.perf_counter() < end:
        await asyncio.sleep(0.02)
    if timeout:
        outcome.lost += sum(client.waiting for client in clients)


async def _send_last(clients: Sequence[Client]) -> None:
    """Send one more request, without time for all responses."""
    for client in clients:
        if client.transport is not None:
            client.transport.write(client.requests[client.index])
    await asyncio.sleep(0.05)


def _request(load: Load, text: str) -> bytes:
    fields = {"q": text, "source": load.source, "target": load.target}
    body = json.dumps(fields).encode()
    head = (
        f"POST /translate HTTP/1.1\r\nHost: {load.host}:{load.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _length(head: bytes) -> int:
    """The Content-Length, which the server always sends."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _retry_after(head: bytes) -> float:
    """Retry-After in seconds, at most one: a sleeping client is no load."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"retry-after":
            return min(1.0, float(value))
    return 1.0


def main() -> None:
    """Read a load from stdin, run its clients, write the outcome to stdout."""
    settings: dict[str, Any] = json.load(sys.stdin)
    json.dump(vars(asyncio.run(run(Load(**settings)))), sys.stdout)


if __name__ == "__main__":
    main()
