"""Memory that a run takes."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path


def resident_bytes() -> int | None:
    """Return the resident memory of this process and what its child processes have of their own.

    Where the system does not tell, the most that this process has had; else None.
    """
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        own, _ = _pages("self")
        children = (_pages(child.pid) for child in multiprocessing.active_children())
        return page * (own + sum(resident - shared for resident, shared in children))
    except (OSError, AttributeError, ValueError):
        return _peak()


def _pages(process: int | str | None) -> tuple[int, int]:
    """Return the resident and the shared pages of a process."""
    fields = Path(f"/proc/{process}/statm").read_text("ascii").split()
    return int(fields[1]), int(fields[2])


def _peak() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
