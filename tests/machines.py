"""The test suite as other machines would run it, one row each: `make test-machines`.

Other instructions add in another order, one core or a busy one interleaves processes in another
way, another order of tests leaves another state behind, and other draws try other examples. The
verdict must be the same in all of them. `python tests/machines.py NAME …` runs some rows only, with
more options of pytest if any; what pytest printed is in build/machines.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "machines"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "not slow", "--dist", "worksteal")
ROW = "{:9} {:31} {:>6} {:>6} {:>7}  {}"


@dataclass(frozen=True)
class Machine:
    """How the suite is started, and beside what."""

    setting: str
    env: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()  # the command that starts pytest
    options: tuple[str, ...] = ()
    workers: str = "auto"
    busy: int = 0  # processes beside it that never rest


def machines(seed: int) -> dict[str, Machine]:
    """Each machine by its name; the seed is for what is drawn."""
    seeded = f"--randomly-seed={seed}"
    profile = ("--hypothesis-profile=random", f"--hypothesis-seed={seed}")
    return {
        "default": Machine("ATEN_CPU_CAPABILITY=default", {"ATEN_CPU_CAPABILITY": "default"}),
        "avx2": Machine("ATEN_CPU_CAPABILITY=avx2", {"ATEN_CPU_CAPABILITY": "avx2"}),
        "mkl": Machine("MKL_CBWR=COMPATIBLE", {"MKL_CBWR": "COMPATIBLE"}),
        "onednn": Machine("ONEDNN_MAX_CPU_ISA=SSE41", {"ONEDNN_MAX_CPU_ISA": "SSE41"}),
        "one-core": Machine("taskset -c 0", before=("taskset", "-c", "0"), workers="1"),
        "busy": Machine("a busy process per core", busy=os.cpu_count() or 1),
        "order": Machine(f"random order, seed {seed}", options=("-p", "randomly", seeded)),
        "draws": Machine(f"hypothesis, seed {seed}", options=profile),
    }


@contextlib.contextmanager
def busy(number: int) -> Iterator[None]:
    """So many processes that compute until the end."""
    processes = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(name: str, machine: Machine, more: tuple[str, ...]) -> bool:
    """Run the suite, print its row, and say whether it is green."""
    report = OUT / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = (
        *machine.before,
        *PYTEST,
        "-n",
        machine.workers,
        f"--junitxml={report}",
        *machine.options,
        *more,
    )
    start = time.monotonic()
    with busy(machine.busy), (OUT / f"{name}.log").open("w", encoding="utf-8") as log:
        code = subprocess.run(
            command, stdout=log, stderr=log, cwd=ROOT, env={**os.environ, **machine.env}
        ).returncode
    seconds = time.monotonic() - start
    passed, failed = counts(report) if report.is_file() else (0, 0)
    verdict = "red" if code else "green"
    print(ROW.format(name, machine.setting, passed, failed, round(seconds), verdict), flush=True)
    return code == 0


def counts(report: Path) -> tuple[int, int]:
    """How many tests passed and failed, of a report in JUnit's format."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    tests, failures, errors, skipped = (
        sum(int(suite.get(key, 0)) for suite in suites)
        for key in ("tests", "failures", "errors", "skipped")
    )
    return tests - failures - errors - skipped, failures + errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(machines(0)))
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    given, more = parser.parse_known_args()
    chosen = machines(given.seed)
    if unknown := set(given.names) - set(chosen):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(chosen)}.")
    OUT.mkdir(parents=True, exist_ok=True)
    print(ROW.format("name", "setting", "passed", "failed", "seconds", "verdict"), flush=True)
    green = [run(name, chosen[name], tuple(more)) for name in given.names or chosen]
    return 0 if all(green) else 1


if __name__ == "__main__":
    sys.exit(main())
