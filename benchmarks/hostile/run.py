"""`python -m benchmarks hostile`: a server as users start it, beside the worst requests known.

    quiet   five honest clients alone
    burst   the same beside the attackers
    after   until memory is back, or some time is over
    end     the attackers again, and SIGTERM in the middle

Every client has a local address of its own, as if it were another computer.
"""

from __future__ import annotations

import json
import math
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.hostile.attackers import Attack, Report
from benchmarks.hostile.attacks import Requests, ordinary_requests
from benchmarks.serve.client import Load
from benchmarks.serve.process import ServerProcess, run_clients, seconds_until_idle
from benchmarks.serve.sentences import ReferenceSentences, demo_model, owner, translate_alone
from regard.bench.row import Row, print_table
from regard.errors import InputError
from regard.server.access.keys import make_key

MINUTES = 10.0
HONEST = 5
RATE = 10.0  # requests a second of all honest clients
QUIET = 30.0  # seconds, at most
ATTACKERS = 3  # addresses
TIMEOUT = 90.0  # seconds for the last responses
REST = 60.0  # seconds for memory to come back
EVERY = 0.1  # seconds between checks of the server's health
LAST = 5.0  # seconds of attack before SIGTERM
SLOWEST = 8  # rows of requests that are printed


@dataclass
class HostileFigures:
    """What was measured.

    quiet, beside   seconds of the honest clients' responses, alone and beside the attackers
    statuses        of the honest clients' requests beside the attackers
    swapped         responses that are another client's
    health          seconds of each request for the server's health; infinite without a response
    megabytes       of the server and its children: before, at most, and after
    drained         seconds from SIGTERM to the end of the process
    failed          responses with 500
    errors          in the log
    """

    quiet: list[float]
    beside: list[float]
    statuses: Counter[str]
    lost: int
    swapped: int
    health: list[float]
    megabytes: tuple[float, float, float]
    drained: float
    failed: int
    errors: list[str]
    attacks: Report


def report(
    *,
    as_json: bool,
    model: str | None = None,
    minutes: float = MINUTES,
    serve: str = "",
) -> list[Row]:
    """Measure, print, and return the bars."""
    folder = Path(model) if model else demo_model()
    _log(f"translating with {folder}, sentence by sentence …")
    sentences = translate_alone(folder, HONEST)
    with tempfile.TemporaryDirectory(prefix="regard-bench-") as name:
        figures = measure(folder, sentences, 60 * minutes, Path(name), shlex.split(serve))
    rows = bars(figures)
    if as_json:
        attacks = asdict(figures.attacks)
        result = {
            "model": str(folder),
            "honest": dict(figures.statuses),
            "attacks": attacks,
            "megabytes": figures.megabytes,
            "bars": [row.as_json() for row in rows],
        }
        print(json.dumps(result, indent=1))
    else:
        _print(figures)
        print_table("bars", rows)
    return rows


def measure(
    model: Path,
    sentences: ReferenceSentences,
    seconds: float,
    folder: Path,
    options: Sequence[str] = (),
) -> HostileFigures:
    """Run a server through all phases."""
    keys = folder / "keys"
    make_key(keys, "somebody")
    with ServerProcess(model, folder / "log", "--keys", str(keys), *options) as server:
        _warm_up(server, sentences)
        quiet = run_clients(_honest(server, sentences, min(QUIET, seconds)))
        before = tree_megabytes(server.process.pid)
        _log(f"{quantile(quiet.seconds, 0.95):.3f} s (95 %) alone, {before:.0f} MB")
        with HealthProbe(server) as probe, Attacking(server, sentences, seconds) as attacking:
            beside = run_clients(_honest(server, sentences, seconds, timeout=TIMEOUT))
        after = _rest(server, before)
        with Attacking(server, sentences, 2 * LAST):
            time.sleep(LAST)
            drained = _terminate(server)
        assert attacking.report is not None
        attacks = attacking.report
        failed = sum(counts.get("500", 0) for counts in attacks.statuses.values())
        return HostileFigures(
            quiet.seconds,
            beside.seconds,
            beside.statuses,
            beside.lost,
            sum(owner(number, text, sentences) == "another" for number, text in beside.wrong),
            probe.seconds,
            (before, max(probe.megabytes, default=before), after),
            drained,
            failed + beside.statuses["500"],
            [line for line in server.log.read_text("utf-8").splitlines() if '"error"' in line],
            attacks,
        )


class HealthProbe:
    """Polls a server's health and samples its memory; a context manager."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.seconds: list[float] = []
        self.megabytes: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._probe, daemon=True)

    def __enter__(self) -> HealthProbe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _probe(self) -> None:
        while not self._over.wait(EVERY):
            self.seconds.append(health_seconds(self.server.host, self.server.port))
            if len(self.seconds) % 5 == 0:
                self.megabytes.append(tree_megabytes(self.server.process.pid))


class Attacking:
    """A process of attackers, as a context manager; its report is there afterwards."""

    def __init__(
        self, server: ServerProcess, sentences: ReferenceSentences, seconds: float
    ) -> None:
        addresses = [f"127.0.1.{number}" for number in range(1, ATTACKERS + 1)]
        self.attack = Attack(
            server.host,
            server.port,
            sentences.source,
            sentences.target,
            sentences.all[0][1],
            addresses,
            seconds,
        )
        self.report: Report | None = None

    def __enter__(self) -> Attacking:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.hostile.attackers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(self.attack)))
        self._process.stdin.close()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            text = output.read()
        if self._process.wait():
            raise InputError("the attackers failed; their output is above.")
        self.report = Report(**json.loads(text))


def health_seconds(host: str, port: int) -> float:
    """Seconds until a server answers on a new connection that it is healthy; else infinite."""
    start = time.perf_counter()
    request = f"GET /health HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
    try:
        with socket.create_connection((host, port), timeout=30) as connection:
            connection.sendall(request.encode())
            answer = connection.recv(4096)
    except OSError:
        answer = b""
    return time.perf_counter() - start if b" 200 " in answer[:20] else math.inf


def tree_megabytes(process: int) -> float:
    """Resident memory of a process and all its descendants."""
    parents, resident = dict[int, int](), dict[int, float]()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except (OSError, ValueError):  # it is over
            continue
        number = int(status.parent.name)
        parents[number] = int(lines["PPid"])
        resident[number] = float(lines.get("VmRSS", "0 kB").split()[0]) / 1024
    total, tree = 0.0, [process]
    while tree:
        number = tree.pop()
        total += resident.get(number, 0.0)
        tree += [child for child, parent in parents.items() if parent == number]
    return total


def bars(figures: HostileFigures) -> list[Row]:
    """The bars."""
    quiet, beside = (quantile(seconds, 0.95) for seconds in (figures.quiet, figures.beside))
    answered = figures.statuses["200"] / max(1, figures.statuses.total() + figures.lost)
    before, _, after = figures.megabytes
    return [
        Row(
            "honest clients: p95 (s) beside the attackers, over alone",
            beside,
            quiet,
            beside / max(quiet, 1e-9),
            "<=",
            3,
        ),
        Row(
            "honest clients: share of requests answered with 200", answered, None, None, ">=", 0.99
        ),
        Row("honest clients: swapped answers", figures.swapped, None, None, "<=", 0),
        Row("/health: p99 (ms)", 1000 * quantile(figures.health, 0.99), None, None, "<=", 100),
        Row(
            "/health: largest (ms)",
            1000 * max(figures.health, default=math.inf),
            None,
            None,
            "<=",
            1000,
        ),
        Row(
            "responses with 500, and errors in the log",
            figures.failed + len(figures.errors),
            None,
            None,
            "<=",
            0,
        ),
        Row("memory (MB) after over before", after, before, after / before, "<=", 1.1),
        Row("SIGTERM in the middle: seconds until the end", figures.drained, None, None, "<=", 10),
    ]


def quantile(numbers: Sequence[float], share: float) -> float:
    """The quantile by nearest rank; infinite of none."""
    ordered = sorted(numbers)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.inf


def _warm_up(server: ServerProcess, sentences: ReferenceSentences) -> None:
    """Have the server load whatever it loads when it is first needed."""
    make = Requests(server.host, server.port, sentences.source, sentences.target)
    for name, request in ordinary_requests(make, sentences.all[0][1]).items():
        with socket.create_connection((server.host, server.port), timeout=TIMEOUT) as connection:
            connection.sendall(request)
            answer = connection.recv(65_536)
        if b" 200 " not in answer[:20]:
            raise InputError(f"an ordinary request ({name}) failed: {answer[-200:]!r}")


def _honest(
    server: ServerProcess, sentences: ReferenceSentences, seconds: float, timeout: float = 0.0
) -> Load:
    return Load(
        server.host,
        server.port,
        sentences.source,
        sentences.target,
        sentences.dealt(HONEST),
        seconds,
        timeout,
        RATE,
        addresses=[f"127.0.2.{n}" for n in range(1, HONEST + 1)],
    )


def _rest(server: ServerProcess, before: float) -> float:
    """Wait until the queue is empty and memory is back; the least memory seen in that time."""
    seconds_until_idle(server)
    end = time.monotonic() + REST
    least = tree_megabytes(server.process.pid)
    while least > before and time.monotonic() < end:
        time.sleep(1.0)
        least = min(least, tree_megabytes(server.process.pid))
    return least


def _terminate(server: ServerProcess) -> float:
    """Seconds from SIGTERM to the end of the process."""
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    try:
        server.process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        server.process.kill()
    return time.monotonic() - start


def _print(figures: HostileFigures) -> None:
    statuses = sum(map(Counter, figures.attacks.statuses.values()), Counter[str]())
    before, most, after = figures.megabytes
    print(
        f"honest: {_listed(figures.statuses)}, {figures.lost} lost\n"
        f"attackers: {_listed(statuses)}\n"
        f"memory {before:.0f} MB before, {most:.0f} MB at most, {after:.0f} MB after\n"
        f"{len(figures.errors)} errors in the log"
    )
    for line in figures.errors[:5]:
        print(f"  {line[:1000]}")
    print("slowest until the response:")
    slowest = figures.attacks.slowest
    for name in sorted(slowest, key=lambda name: -slowest[name])[:SLOWEST]:
        print(f"  {name}: {slowest[name]:.1f} s ({_listed(figures.attacks.statuses[name])})")


def _listed(statuses: Mapping[str, int]) -> str:
    return ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))


def _log(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)
