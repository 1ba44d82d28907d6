"""`python -m benchmarks serve`: a real server under load, and the gain of batching requests.

load        all clients send requests for a while; every translation is compared with the model's
            translation of the sentence alone; then all disconnect in the middle of a request
throughput  two servers, one with `--together 1`, and the bare engine in its best setting, which
            gets the same sentences in one call: measured in turn, round by round
latency     requests at a steady rate, and one after the other
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.model_names import row_prefix
from benchmarks.serve.client import REFUSALS, Load, Outcome
from benchmarks.serve.process import MemorySampler, ServerProcess, run_clients, seconds_until_idle
from benchmarks.serve.sentences import (
    ReferenceSentences,
    demo_model,
    owner,
    translate_alone,
)
from regard.bench.row import Row, print_table
from regard.errors import InputError

CLIENTS, SECONDS, ROUNDS = 200, 60.0, 5
WARMUP = 5.0  # seconds of the same load before anything counts
ROUND = 6.0  # seconds of a round of throughput
ENGINE_SENTENCES, ENGINE_BATCH = 2048, 32
TIMEOUT = 90.0  # seconds for the last responses
FLAT = 1.05  # median memory of the last third of the time over that of the first third
FASTER = 4.0
OF_ENGINE = 0.6
RATE, OF_ALONE = 10.0, 1.5  # requests a second, and their p95 over that of one after the other
PARTS = ("load", "throughput", "latency")


@dataclass(frozen=True)
class LoadFigures:
    """Figures of a server under load.

    statuses        responses by status
    errors          responses malformed or of a status other than 200, 429, 503; logged errors
    lost, swapped   requests without a response; with another request's translation
    reworded        translations that differ from that of the sentence alone (rounding in a batch)
    per_second      responses with 200
    median, p95, p99   seconds from request to response
    megabytes       the server's memory: medians of the first and the last third, and the maximum
    freed           seconds until the queue was empty after all clients had disconnected
    """

    clients: int
    seconds: float
    asked: int
    statuses: dict[str, int]
    errors: int
    lost: int
    swapped: int
    reworded: int
    per_second: float
    median: float
    p95: float
    p99: float
    megabytes: tuple[float, float, float]
    freed: float


def report(
    only: str,
    repeats: int,
    *,
    as_json: bool,
    model: str | None = None,
    source: str | None = None,
    clients: int = CLIENTS,
    seconds: float = SECONDS,
) -> list[Row]:
    """Measure and print, and return the bars."""
    parts = [part for part in PARTS if only.lower() in part]
    if not parts:
        raise InputError(f"no part's name contains {only!r}; choose from {', '.join(PARTS)}.")
    folder = Path(model) if model else demo_model()
    _warn_if_busy()
    _log(f"translating with {folder}, sentence by sentence …")
    sentences = translate_alone(folder, clients, source=Path(source) if source else None)
    rows: list[Row] = []
    result: dict[str, Any] = {
        "model": str(folder),
        "cores": os.cpu_count(),
        "busy": _busy(),
        "sentences": len(sentences.all),
        "beam": sentences.search.beam,
    }
    with tempfile.TemporaryDirectory(prefix="regard-bench-") as name:
        if "load" in parts:
            figures = run_load(folder, sentences, clients, seconds, Path(name))
            result["load"] = asdict(figures)
            rows += bars(figures)
        if "throughput" in parts:
            speeds = throughput(folder, sentences, clients, repeats, Path(name))
            result["throughput"] = speeds
            rows += [
                speedup("engine", speeds, clients, OF_ENGINE, row_prefix(model)),
                speedup("one by one", speeds, clients, FASTER, row_prefix(model)),
            ]
        if "latency" in parts:
            rows.append(latency(folder, sentences, seconds, Path(name)))
    if as_json:
        print(json.dumps({**result, "bars": [row.as_json() for row in rows]}, indent=1))
    else:
        if "load" in parts:
            _print(figures)
        print_table("bars", rows)
    return rows


def run_load(
    model: Path, sentences: ReferenceSentences, clients: int, seconds: float, folder: Path
) -> LoadFigures:
    """Run a server with all clients for a while."""
    with ServerProcess(model, folder / "load.log") as server:
        _log(f"{clients} clients for {seconds:g} s …")
        run_clients(_load(server, sentences, clients, WARMUP))
        with MemorySampler(server) as memory:
            load = _load(server, sentences, clients, seconds, timeout=TIMEOUT, disconnect=True)
            outcome = run_clients(load)
        freed = seconds_until_idle(server)
    return load_figures(
        outcome, sentences, clients, seconds, memory.megabytes, server.num_errors(), freed
    )


def load_figures(
    outcome: Outcome,
    sentences: ReferenceSentences,
    clients: int,
    seconds: float,
    megabytes: Sequence[float],
    num_errors: int,
    freed: float,
) -> LoadFigures:
    """The figures of the clients' outcome."""
    expected = {"200", *map(str, REFUSALS)}
    unexpected = sum(n for status, n in outcome.statuses.items() if status not in expected)
    wrong = Counter(owner(number, text, sentences) for number, text in outcome.wrong)
    third = max(1, len(megabytes) // 3)
    first, last = megabytes[:third], megabytes[-third:]
    return LoadFigures(
        clients,
        seconds,
        outcome.num_requests,
        dict(sorted(outcome.statuses.items())),
        unexpected + outcome.malformed + num_errors,
        outcome.lost,
        wrong["another"],
        wrong["own"],
        _per_second(outcome, seconds),
        _quantile(outcome.seconds, 0.5),
        _quantile(outcome.seconds, 0.95),
        _quantile(outcome.seconds, 0.99),
        (statistics.median(first), statistics.median(last), max(megabytes)),
        freed,
    )


def bars(figures: LoadFigures) -> list[Row]:
    """The bars of the load test."""
    what = f"{figures.clients} clients, {figures.seconds:g} s"
    first, last, _ = figures.megabytes
    return [
        Row(f"{what}: errors (no 200, 429 or 503)", figures.errors, None, None, "<=", 0),
        Row(f"{what}: lost answers", figures.lost, None, None, "<=", 0),
        Row(f"{what}: swapped answers", figures.swapped, None, None, "<=", 0),
        Row(f"{what}: share answered with 200", _share(figures), None, None, ">=", 0.5),
        Row(f"{what}: MB, last third over first third", last, first, last / first, "<=", FLAT),
        Row(
            f"{what} then gone: seconds until all places are free",
            figures.freed,
            None,
            None,
            "<=",
            10,
        ),
    ]


def throughput(
    model: Path, sentences: ReferenceSentences, clients: int, rounds: int, folder: Path
) -> dict[str, list[float]]:
    """Translations per second of each round: batched, one by one, and by the bare engine."""
    speeds: dict[str, list[float]] = {"together": [], "one by one": [], "engine": []}
    with (
        ServerProcess(model, folder / "together.log") as together,
        ServerProcess(model, folder / "alone.log", "--together", "1") as alone,
        bare_engine(model, sentences) as engine,
    ):
        servers = {"together": together, "one by one": alone}
        for server in servers.values():
            run_clients(_load(server, sentences, clients, WARMUP))
        for number in range(rounds):
            for name, server in servers.items():
                seconds_until_idle(server)
                outcome = run_clients(_load(server, sentences, clients, ROUND))
                speeds[name].append(_per_second(outcome, ROUND))
            speeds["engine"].append(engine())
            last = ", ".join(f"{name} {values[-1]:.0f}" for name, values in speeds.items())
            _log(f"round {number + 1}: {last} translations/s")
    return speeds


@contextmanager
def bare_engine(model: Path, sentences: ReferenceSentences) -> Iterator[Callable[[], float]]:
    """A function that measures sentences per second of the engine in its best setting."""
    from benchmarks.decode.sides import Side, bare_ctranslate2
    from regard.tasks import load
    from regard.tasks.translation.translator import Translator

    translator = load(model, engine="torch")
    assert isinstance(translator, Translator)
    texts = [text for _, text, _ in islice(cycle(sentences.all), ENGINE_SENTENCES)]

    def speed(side: Side) -> float:
        start = time.perf_counter()
        side.translate(texts, sentences.search.beam, ENGINE_BATCH)
        return len(texts) / (time.perf_counter() - start)

    with bare_ctranslate2(translator, int8=True) as sides:
        best = max(sides, key=speed)
        yield lambda: speed(best)


def speedup(
    peer: str, speeds: dict[str, list[float]], clients: int, bar: float, prefix: str = ""
) -> Row:
    """The median ratio of the rounds, of answers over what another one translates."""
    together, peer_speeds = speeds["together"], speeds[peer]
    ratio = statistics.median(a / max(b, 1e-9) for a, b in zip(together, peer_speeds, strict=True))
    name = f"{prefix}{clients} clients, answers/s together over {peer}"
    return Row(name, statistics.median(together), statistics.median(peer_speeds), ratio, ">=", bar)


def latency(model: Path, sentences: ReferenceSentences, seconds: float, folder: Path) -> Row:
    """p95 of requests at a steady rate, over that of requests one after the other."""
    with ServerProcess(model, folder / "latency.log") as server:
        run_clients(_load(server, sentences, 1, WARMUP))
        alone = run_clients(_load(server, sentences, 1, min(seconds, ROUND)))
        steady = run_clients(_load(server, sentences, 8, seconds, timeout=TIMEOUT, rate=RATE))
    ours, peer = (_quantile(outcome.seconds, 0.95) for outcome in (steady, alone))
    name = f"/translate: p95 (s) at {RATE:g} requests/s over one after the other"
    return Row(name, ours, peer, ours / max(peer, 1e-9), "<=", OF_ALONE)


def _load(
    server: ServerProcess,
    sentences: ReferenceSentences,
    clients: int,
    seconds: float,
    *,
    timeout: float = 0.0,
    rate: float = 0.0,
    disconnect: bool = False,
) -> Load:
    return Load(
        server.host,
        server.port,
        sentences.source,
        sentences.target,
        sentences.dealt(clients),
        seconds,
        timeout,
        rate,
        disconnect,
    )


def _per_second(outcome: Outcome, seconds: float) -> float:
    """Responses per second while requests were sent."""
    return sum(moment <= seconds for moment in outcome.moments) / seconds


def _share(figures: LoadFigures) -> float:
    return figures.statuses.get("200", 0) / max(1, sum(figures.statuses.values()))


def _quantile(numbers: Sequence[float], share: float) -> float:
    """The quantile by nearest rank; 0 of none."""
    ordered = sorted(numbers)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _print(figures: LoadFigures) -> None:
    statuses = ", ".join(f"{count} × {status}" for status, count in figures.statuses.items())
    first, last, most = figures.megabytes
    print(
        f"{figures.clients} clients, {figures.seconds:g} s: {figures.asked:,} requests, "
        f"{statuses}; {figures.per_second:.0f} responses/s\n"
        f"latency {figures.median:.3f} s (median), {figures.p95:.3f} s (95 %), {figures.p99:.3f} s "
        f"(99 %)\n"
        f"translations that differ from those alone: {figures.reworded} (rounding in a batch)\n"
        f"memory {first:.0f} MB (first third), {last:.0f} MB (last third), {most:.0f} MB (maximum)"
    )


def _busy() -> float:
    """Load average of the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _warn_if_busy() -> None:
    load = _busy()
    if load > (os.cpu_count() or 1) / 2:
        _log(f"this machine is busy (load {load:.1f}): measure again when it is not")


def _log(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)
