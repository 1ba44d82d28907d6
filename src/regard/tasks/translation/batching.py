"""Sentences of similar length together, as our own engine searches them; windows of lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from regard.config import SearchOptions

MANY_SENTENCES = 64  # per core, from which on each core takes whole groups of sentences
MAX_LINES = 4096
FIRST_CHARACTERS, MIN_CHARACTERS, MAX_CHARACTERS = 16_000, 4_000, 1_000_000  # of a window of lines
SECONDS = 4.0  # that a window should take


def length_groups(
    lengths: Sequence[int], settings: SearchOptions, num_cores: int = 1
) -> list[list[int]]:
    """Indices of sentences of similar length, as many together as `batch_tokens` allows.

    Many sentences make at least as many groups as there are cores. A deterministic search has
    each sentence by itself.
    """
    width = settings.n_best if settings.sample else settings.beam
    most = settings.batch_tokens
    if settings.deterministic:
        return [[index] for index in range(len(lengths))]
    if len(lengths) >= num_cores * MANY_SENTENCES:
        most = min(most, -(-(sum(lengths) + len(lengths)) * width // num_cores))
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        full = not groups or (len(groups[-1]) + 1) * (lengths[index] + 1) * width > most
        if full:
            groups.append([])
        groups[-1].append(index)
    return groups[::-1]  # the longest first, so that the last ones to finish are short


def windows(
    lines: Iterable[str | None],
    max_lines: int = MAX_LINES,
    max_characters: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[list[str]]:
    """The lines in order, some at a time; None ends a window, as no other line is ready yet.

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
