"""Median run time and peak memory."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from regard.errors import InputError

_PEAK = """
from regard.bench.clock import own_peak_megabytes
from {module} import {function}
{function}({arguments})
print(own_peak_megabytes())
"""


def seconds(
    runs: Sequence[Callable[[], object]], repeats: int, *, warm: bool = True
) -> list[float]:
    """Median seconds of each of `runs`, timed in turn so that noise affects all alike."""
    for run in runs if warm else ():
        run()
    taken: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, times in zip(runs, taken, strict=True):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]


def own_peak_megabytes() -> float:
    """Peak resident memory of this process.

    Linux keeps `ru_maxrss` across exec, so a child would start with its parent's peak; VmHWM in
    /proc is the process's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024
    import resource

    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def peak_megabytes(function: Callable[..., object], *arguments: object) -> float:
    """Peak resident memory of a fresh process that calls a module-level function."""
    code = _PEAK.format(
        module=function.__module__,
        function=function.__name__,
        arguments=", ".join(map(repr, arguments)),
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise InputError(f"measuring the memory of {function.__name__} failed: {lines[-1]}")
    return float(done.stdout)
