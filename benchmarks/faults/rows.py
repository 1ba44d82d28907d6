"""`python -m benchmarks faults`: is anything lost, and does each fault end in one clear sentence?

The sentences are printed to the standard error; the rows count what went wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.faults.io_cases import OPERATIONS
from benchmarks.faults.kills import Kills
from benchmarks.faults.run_cases import CORPUS, NOT_FINITE, TERMINATION, failures
from benchmarks.faults.storage_cases import CHECKPOINTS, DISK
from benchmarks.faults.workspace import Workspace
from benchmarks.measurement import Measurement

GROUPS = {
    "disk full while saving": DISK,
    "damaged checkpoint": CHECKPOINTS,
    "every write, sync and rename fails once": OPERATIONS,
    "corpus changes or vanishes": CORPUS,
    "NaN loss": NOT_FINITE,
    "SIGTERM": TERMINATION,
}


def measurements(repeats: int, kills: int = 100, seed: int = 0) -> Iterator[Measurement]:
    """The rows: the kills, and the cases of every other fault that went wrong."""
    workspace = Workspace(seed)
    killed = Kills(workspace, kills)

    def row(name: str, count: str, sense: str, bar: float) -> Measurement:
        def measure() -> tuple[float, None]:
            figures = killed.figures
            counts = {
                "kills": figures.kills,
                "saves": figures.during["checkpoint"] + figures.during["other file"],
                "lost": len(figures.lost),
                "unequal": len(figures.unequal),
                "unclear": len(figures.unclear),
            }
            return float(counts[count]), None

        return Measurement(f"SIGKILL: {name}", measure, sense, bar)

    yield row("kills at random moments", "kills", ">=", kills)
    yield row("of them while a file was written", "saves", ">=", kills // 5)
    yield row("times that saved work was lost", "lost", "<=", 0)
    yield row("runs that end other than an uninterrupted one", "unequal", "<=", 0)
    yield row("processes that failed to resume", "unclear", "<=", 0)
    for name, cases in GROUPS.items():
        yield Measurement(
            f"{name}: cases of {len(cases)} that went wrong",
            lambda name=name, cases=cases: (float(failures(name, cases, workspace)), None),  # type: ignore[misc]
            "<=",
            0,
        )
