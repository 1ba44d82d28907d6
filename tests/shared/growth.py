"""Growth of a function's CPU time with the length of its input."""

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
