"""The number of processor cores to use, and whether libraries have threads of their own on them."""

from __future__ import annotations

import os

_threaded_libraries: set[str] = set()


def cores(requested: int = 0) -> int:
    """Return the number of cores to use: as requested, or all that this process may run on."""
    if requested:
        return requested
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def note_threads(library: str) -> None:
    """Note that a library has started threads in this process."""
    _threaded_libraries.add(library)


def threaded_libraries() -> frozenset[str]:
    """The libraries that were passed to `note_threads`."""
    return frozenset(_threaded_libraries)
