"""The number of processor cores to use."""

from __future__ import annotations

import os


def cores(requested: int = 0) -> int:
    """Return the number of cores to use: as requested, or all that this process may run on."""
    if requested:
        return requested
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
