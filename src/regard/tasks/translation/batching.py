"""Windows of lines that are translated together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Result = TypeVar("Result")

MAX_LINES = 4096
FIRST_CHARACTERS, MIN_CHARACTERS, MAX_CHARACTERS = 16_000, 4_000, 1_000_000  # of a window of lines
SECONDS = 4.0  # that a window should take


def windows(
    lines: Iterable[str | None],
    max_lines: int = MAX_LINES,
    max_characters: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[list[str]]:
    """The lines in order, some at a time; None ends a window, and an empty one follows it.

    None is given while no other line is ready: what was read before is wanted now.

    Lines of similar length share batches only within a window, so it must not be too small; no
    line is returned before its window is done, so it must not be too large. A window has as many
    characters as were translated in `SECONDS` recently: from when one is yielded until the next
    is requested; or `max_characters`, which makes the windows the same in every run.
    """
    budget = max_characters or FIRST_CHARACTERS
    window: list[str] = []
    size = 0
    for line in lines:
        if line is not None:
            window.append(line)
            size += len(line)
            if size < budget and len(window) < max_lines:
                continue
        if window:
            start = clock()
            yield window
            budget = max_characters or _budget(budget, size, clock() - start)
            window, size = [], 0
        if line is None:
            yield []
    if window:
        yield window


def _budget(budget: int, size: int, seconds: float) -> int:
    """The characters of the next window, at most four times as many as before.

    >>> _budget(8_000, 8_000, 2.0), _budget(8_000, 8_000, 0.1), _budget(8_000, 50, 0.1)
    (16000, 32000, 8000)
    """
    if size < budget // 2:  # too small a window to measure the speed
        return budget
    fitting = int(SECONDS * size / max(seconds, 1e-6))
    return max(MIN_CHARACTERS, min(fitting, 4 * budget, MAX_CHARACTERS))


def overlapped(
    groups: Iterable[list[str]],
    begin: Callable[..., Callable[[], list[Result]]],
    first: int,
    max_lines: int,
) -> Iterator[list[Result]]:
    """The results of windows of lines, each searched while the one before is written.

    An empty window says that no line is ready, so that the one before is finished at once. Lines
    that are translated one by one are answered before the next is read.
    """
    pending: Callable[[], list[Result]] | None = None
    numbered = iter(groups)
    while True:
        try:
            window = next(numbered, None)
        except BaseException:  # of the input: what was read before it is not lost
            if pending is not None:
                yield pending()
            raise
        begun = begin(window, first=first) if window else None
        if pending is not None:
            yield pending()
        if window is None:
            return
        first += len(window)
        pending = begun
        if pending is not None and max_lines == 1:
            yield pending()
            pending = None
