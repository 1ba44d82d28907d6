"""`python -m benchmarks serve`: a real server under load, and the gain of batching requests.

load        all clients ask for a while; every answer is compared with the model's answer to the
            same sentence alone; then all go away in the middle of a question
throughput  two servers, one with `--together 1`, asked in turn, round by round
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.serve.client import REFUSALS, Load, Outcome
from benchmarks.serve.process import Memory, Served, driven, freed_after
from benchmarks.serve.questions import Questions, ask_alone, demo_model, whose
from regard.bench.row import Row, print_table
from regard.errors import InputError

CLIENTS, SECONDS, ROUNDS = 200, 60.0, 5
WARMUP = 5.0  # seconds of the same load before anything counts
ROUND = 6.0  # seconds of a round of throughput
PATIENCE = 90.0  # seconds for the last answers
FLAT = 1.05  # median memory of the last third of the time over that of the first third
FASTER = 4.0
PARTS = ("load", "throughput")


@dataclass(frozen=True)
class Loaded:
    """What a server did under load.

    statuses        how many answers of each
    errors          answers with another status than 200, 429 or 503, or garbled, and faults logged
    lost, swapped   questions without an answer; with another question's answer
    reworded        answers in other words than the same sentence alone (rounding in a batch)
    per_second      answers with 200
    median, p95, p99   seconds from question to answer
    megabytes       the server's memory: medians of the first and the last third, and the most
    freed           seconds until no place was taken after all clients had gone away mid-question
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
    clients: int = CLIENTS,
    seconds: float = SECONDS,
) -> int:
    """Measure; 1 if a bar was missed, else 0."""
    parts = [part for part in PARTS if only.lower() in part]
    if not parts:
        raise InputError(f"no part's name contains {only!r}; there are: {', '.join(PARTS)}.")
    folder = Path(model) if model else demo_model()
    _warn_if_busy()
    _say(f"asking {folder} alone, sentence by sentence …")
    questions = ask_alone(folder, clients)
    rows: list[Row] = []
    made: dict[str, Any] = {
        "model": str(folder), "cores": os.cpu_count(), "busy": _busy(),
        "sentences": len(questions.all), "beam": questions.search.beam,
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="regard-bench-") as name:
        if "load" in parts:
            found = loaded(folder, questions, clients, seconds, Path(name))
            made["load"] = asdict(found)
            rows += bars(found)
        if "throughput" in parts:
            speeds = throughput(folder, questions, clients, repeats, Path(name))
            made["throughput"] = {"together": speeds[0], "one by one": speeds[1]}
            rows.append(faster(speeds, clients))
    if as_json:
        print(json.dumps({**made, "bars": [row.as_json() for row in rows]}, indent=1))
    else:
        if "load" in parts:
            _print(found)
        print_table("bars", rows)
    return 0 if all(row.holds for row in rows) else 1


def loaded(model: Path, questions: Questions, clients: int, seconds: float, folder: Path) -> Loaded:
    """A server with all clients for a while."""
    with Served(model, folder / "load.log") as server:
        _say(f"{clients} clients for {seconds:g} s …")
        driven(_load(server, questions, clients, WARMUP))
        with Memory(server) as memory:
            load = _load(server, questions, clients, seconds, patience=PATIENCE, leave=True)
            came = driven(load)
        freed = freed_after(server)
    return counted(came, questions, clients, seconds, memory.megabytes, server.faults(), freed)


def counted(
    came: Outcome,
    questions: Questions,
    clients: int,
    seconds: float,
    megabytes: Sequence[float],
    faults: int,
    freed: float,
) -> Loaded:
    """What came back, as figures."""
    fine = {"200", *map(str, REFUSALS)}
    strange = sum(count for status, count in came.statuses.items() if status not in fine)
    wrong = Counter(whose(number, answer, questions) for number, answer in came.wrong)
    third = max(1, len(megabytes) // 3)
    first, last = megabytes[:third], megabytes[-third:]
    return Loaded(
        clients,
        seconds,
        came.asked,
        dict(sorted(came.statuses.items())),
        strange + came.garbled + faults,
        came.lost,
        wrong["another"],
        wrong["own"],
        _per_second(came, seconds),
        _quantile(came.seconds, 0.5),
        _quantile(came.seconds, 0.95),
        _quantile(came.seconds, 0.99),
        (statistics.median(first), statistics.median(last), max(megabytes)),
        freed,
    )


def bars(found: Loaded) -> list[Row]:
    """What must hold under load."""
    what = f"{found.clients} clients, {found.seconds:g} s"
    first, last, _ = found.megabytes
    return [
        Row(f"{what}: errors (no 200, 429 or 503)", found.errors, None, None, "<=", 0),
        Row(f"{what}: lost answers", found.lost, None, None, "<=", 0),
        Row(f"{what}: swapped answers", found.swapped, None, None, "<=", 0),
        Row(f"{what}: share answered with 200", _share(found), None, None, ">=", 0.5),
        Row(f"{what}: MB, last third over first third", last, first, last / first, "<=", FLAT),
        Row(f"{what} then gone: seconds until all places are free", found.freed, None, None,
            "<=", 10),
    ]  # fmt: skip


def throughput(
    model: Path, questions: Questions, clients: int, rounds: int, folder: Path
) -> tuple[list[float], list[float]]:
    """Answers a second with requests put together, and one by one, of each round."""
    speeds: tuple[list[float], list[float]] = [], []
    with (
        Served(model, folder / "together.log") as together,
        Served(model, folder / "alone.log", "--together", "1") as alone,
    ):
        for server in (together, alone):
            driven(_load(server, questions, clients, WARMUP))
        for number in range(rounds):
            for server, own in zip((together, alone), speeds, strict=True):
                freed_after(server)
                came = driven(_load(server, questions, clients, ROUND))
                own.append(_per_second(came, ROUND))
            _say(f"round {number + 1}: {speeds[0][-1]:.0f} and {speeds[1][-1]:.0f} answers/s")
    return speeds


def faster(speeds: tuple[list[float], list[float]], clients: int) -> Row:
    """The median ratio of the rounds."""
    together, alone = speeds
    ratio = statistics.median(a / max(b, 1e-9) for a, b in zip(together, alone, strict=True))
    name = f"{clients} clients: answers/s together over one by one"
    return Row(name, statistics.median(together), statistics.median(alone), ratio, ">=", FASTER)


def _load(server: Served, questions: Questions, clients: int, seconds: float, **more: Any) -> Load:
    return Load(
        server.host, server.port, questions.source, questions.target,
        questions.dealt(clients), seconds, **more,
    )  # fmt: skip


def _per_second(came: Outcome, seconds: float) -> float:
    """Answers that came while questions were asked."""
    return sum(moment <= seconds for moment in came.moments) / seconds


def _share(found: Loaded) -> float:
    return found.statuses.get("200", 0) / max(1, sum(found.statuses.values()))


def _quantile(numbers: Sequence[float], share: float) -> float:
    """The smallest number that is not exceeded by this share of them; 0 of none."""
    ordered = sorted(numbers)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _print(found: Loaded) -> None:
    said = ", ".join(f"{count} × {status}" for status, count in found.statuses.items())
    first, last, most = found.megabytes
    print(
        f"{found.clients} clients, {found.seconds:g} s: {found.asked:,} questions, {said}; "
        f"{found.per_second:.0f} answers/s\n"
        f"latency {found.median:.3f} s (median), {found.p95:.3f} s (95 %), {found.p99:.3f} s "
        f"(99 %)\n"
        f"in other words than alone: {found.reworded} (rounding in a batch may turn a tie)\n"
        f"memory {first:.0f} MB (first third), {last:.0f} MB (last third), {most:.0f} MB (most)"
    )


def _busy() -> float:
    """How many others want to work on this machine, on average of the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _warn_if_busy() -> None:
    load = _busy()
    if load > (os.cpu_count() or 1) / 2:
        _say(f"this machine is busy (load {load:.1f}): measure again when it is not")


def _say(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)
