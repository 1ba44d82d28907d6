"""Many clients at once in one process, lean enough to leave the machine to the server.

Each client has a connection that it keeps, and questions that no other client asks; it asks the
next one when it has its answer. An answer that is not word for word the expected one is kept.

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
from typing import Any

HEAD = b"\r\n\r\n"
REFUSALS = (429, 503)


@dataclass(frozen=True)
class Load:
    """What a process of clients is to do.

    questions  of each client: (number, text, expected answer)
    seconds    for which new questions are asked
    patience   seconds to wait for the last answers after that; 0: they are not waited for
    leave      whether at the end each client asks once more and goes away in the middle of it
    """

    host: str
    port: int
    source: str
    target: str
    questions: Sequence[Sequence[tuple[int, str, str]]]
    seconds: float
    patience: float = 0.0
    leave: bool = False


@dataclass
class Outcome:
    """What came back.

    statuses  how often each
    wrong     (number of the question, answer) of those that were not as expected
    lost      questions without an answer: a broken connection or none at all, or none in time
    garbled   answers that are no HTTP or no JSON
    seconds   latencies of answers with status 200
    moments   when they came, from the start
    """

    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    lost: int = 0
    garbled: int = 0
    asked: int = 0
    seconds: list[float] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)


class Client(asyncio.Protocol):
    """One connection.

    over  no more is to be asked
    left  the client goes away, and what it still waits for is not lost
    """

    def __init__(self, number: int, load: Load, outcome: Outcome, start: float) -> None:
        self.load, self.outcome, self.start = load, outcome, start
        self.questions = load.questions[number]
        self.requests = [_request(load, text) for _, text, _ in self.questions]
        self.place = 0
        self.waiting = False
        self.over = False
        self.left = False
        self.asked_at = 0.0
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Send the next question."""
        if self.over or self.transport is None or self.transport.is_closing():
            return
        self.waiting = True
        self.outcome.asked += 1
        self.asked_at = time.perf_counter()
        self.transport.write(self.requests[self.place])

    def data_received(self, data: bytes) -> None:
        if self.left:  # an answer that nobody waits for is not counted
            return
        self.buffer += data
        head, found, rest = self.buffer.partition(HEAD)
        if not found:
            return
        length = _length(head)
        if len(rest) < length:
            return
        self.buffer = b""
        self.waiting = False
        if len(rest) > length:  # more than was asked for
            self.outcome.garbled += 1
        self._answered(int(head[9:12]), head, rest[:length])

    def connection_lost(self, exc: Exception | None) -> None:
        if self.waiting and not self.left:
            self.outcome.lost += 1
        self.waiting = False
        self.transport = None

    def _answered(self, status: int, head: bytes, body: bytes) -> None:
        outcome, now = self.outcome, time.perf_counter()
        outcome.statuses[str(status)] += 1
        number, _, expected = self.questions[self.place]
        if status == 200:
            outcome.seconds.append(now - self.asked_at)
            outcome.moments.append(now - self.start)
            try:
                answer = json.loads(body)["translatedText"]
            except (ValueError, KeyError, TypeError):
                outcome.garbled += 1
            else:
                if answer != expected:
                    outcome.wrong.append((number, answer))
            self.place = (self.place + 1) % len(self.requests)
            self.ask()
        elif status in REFUSALS:  # the same again, when it is welcome
            asyncio.get_running_loop().call_later(_retry_after(head), self.ask)
        else:
            self.place = (self.place + 1) % len(self.requests)
            self.ask()


async def run(load: Load) -> Outcome:
    """All clients at once; what came back."""
    loop = asyncio.get_running_loop()
    outcome, start = Outcome(), time.perf_counter()
    clients = [Client(n, load, outcome, start) for n in range(len(load.questions))]

    async def connected(client: Client) -> None:
        try:
            await loop.create_connection(lambda: client, load.host, load.port)
        except OSError:  # nobody is there
            outcome.lost += 1

    await asyncio.gather(*map(connected, clients))
    end = start + load.seconds
    while time.perf_counter() < end:
        await asyncio.sleep(min(0.2, max(0.0, end - time.perf_counter())))
        for client in clients:
            if client.transport is None:  # the server broke it off, which is counted
                await connected(client)
    await _finish(clients, load.patience, outcome)
    for client in clients:
        client.left = True
    if load.leave:
        await _leave(clients)
    for client in clients:
        if client.transport is not None:
            client.transport.abort()
    return outcome


async def _finish(clients: Sequence[Client], patience: float, outcome: Outcome) -> None:
    """Ask no more; wait for what was asked, and count what does not come."""
    for client in clients:
        client.over = True
    end = time.perf_counter() + patience
    while any(client.waiting for client in clients) and time.perf_counter() < end:
        await asyncio.sleep(0.02)
    if patience:
        outcome.lost += sum(client.waiting for client in clients)


async def _leave(clients: Sequence[Client]) -> None:
    """Ask once more, and go away before there can be an answer to all."""
    for client in clients:
        if client.transport is not None:
            client.transport.write(client.requests[client.place])
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
    """Of the answer's body; ours always say it."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _retry_after(head: bytes) -> float:
    """Seconds, but no more than one: a client that sleeps is no load."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"retry-after":
            return min(1.0, float(value))
    return 1.0


def main() -> None:
    """Read a load, be its clients, write what came back."""
    given: dict[str, Any] = json.load(sys.stdin)
    json.dump(vars(asyncio.run(run(Load(**given)))), sys.stdout)


if __name__ == "__main__":
    main()
