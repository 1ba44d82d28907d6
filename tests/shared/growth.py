"""Growth of a function's CPU time with the length of its input."""

import gc
import math
import signal
import statistics
import time
from collections.abc import Callable

FACTOR = 10
LINEAR = 40
"""More than linear work takes for an input ten times as long, far less than quadratic (100)."""


def growth(run: Callable[[int], object], size: int) -> float:
    """CPU time of `run(size)` over that of `run(size / 10)`, the better of two."""

    def seconds(number: int) -> float:
        start = time.process_time()
        run(number)
        return time.process_time() - start

    small = statistics.median(seconds(size // FACTOR) for _ in range(3))
    large = min(seconds(size) for _ in range(2))
    return large / max(small, 1e-3)


TIMES, MOST = 64, 100
"""An input so many times as long may take so many times the CPU time."""
SOON = 1e-3
"""CPU seconds that nothing of a few thousand characters takes if it is read more than once."""
PATIENCE = 20
"""CPU seconds after which what takes for ever is stopped."""


class TooSlowError(Exception):
    """A run was stopped."""


def steepness(run: Callable[[str], object], long: str, short: str) -> float:
    """CPU time for a text over that for one that is shorter by TIMES; 0 for what takes no time.

    The smallest of up to twelve, since other processes can only make it larger. What takes too
    long is stopped and infinite; it must run in the main thread for that.
    """
    ratio = math.inf
    for _ in range(12):
        large = _cpu_seconds(lambda: run(long))
        if large < SOON:
            return 0.0
        if large == math.inf:
            break
        small = _cpu_seconds(lambda: [run(short) for _ in range(TIMES)])
        ratio = min(ratio, large / max(small, 1e-6) * TIMES)
        if ratio <= MOST:
            break
        gc.collect()  # what other tests have left scatters the objects of the next try
    return ratio


def _cpu_seconds(run: Callable[[], object]) -> float:
    """CPU time of a run, without that of the collector of cycles, which comes when it likes.

    Of this thread: while a timer of the process runs, its own clock has a resolution of 4 ms.
    """
    before = signal.signal(signal.SIGPROF, _stop)
    gc.disable()
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    start = time.thread_time()
    try:
        run()
        return time.thread_time() - start
    except TooSlowError:
        return math.inf
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()


def _stop(*_: object) -> None:
    raise TooSlowError
