"""Lines in windows that are translated at once: large enough for full batches, done in seconds.

Lines of like length share batches only within a window, so that it must not be too small; nobody
sees a line before its window is done, so that it must not be too large. A window has as many
characters as were translated in `SECONDS` lately.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

MOST_LINES = 4096
SECONDS = 4.0
FIRST_CHARACTERS = 16_000
LEAST_CHARACTERS = 4_000
MOST_CHARACTERS = 1_000_000


def windows(
    lines: Iterable[str | None],
    most: int = MOST_LINES,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[list[str]]:
    """The lines in order, some at a time; None ends a window, as no other line is ready yet.

    The time from when a window is handed out until the next is asked for is what it took.
    """
    budget = FIRST_CHARACTERS
    window: list[str] = []
    size = 0
    for line in lines:
        if line is not None:
            window.append(line)
            size += len(line)
            if size < budget and len(window) < most:
                continue
        if window:
            begun = clock()
            yield window
            budget = _budget(budget, size, clock() - begun)
            window, size = [], 0
    if window:
        yield window


def _budget(budget: int, size: int, seconds: float) -> int:
    """The characters of the next window, at most four times as many as before.

    >>> _budget(8_000, 8_000, 2.0), _budget(8_000, 8_000, 0.1), _budget(8_000, 50, 0.1)
    (16000, 32000, 8000)
    """
    if size < budget // 2:  # a small window tells little of the speed
        return budget
    fitting = int(SECONDS * size / max(seconds, 1e-6))
    return max(LEAST_CHARACTERS, min(fitting, 4 * budget, MOST_CHARACTERS))
