"""Settings of the C library's allocator: training keeps freed memory, a server gives it back.

An update allocates and frees the same sizes again and again. Given back in between, each page has
to be cleared by the system when it is next written to. A server allocates much for a burst of
requests, which the library would keep for the next one in each thread's arena.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of settings in malloc.h
_LARGEST = 32 << 20  # bytes: the most that glibc takes for blocks that it keeps
_KEPT = 1 << 30  # bytes that are free and kept


def give_back_memory() -> None:
    """Give freed pages of all arenas back to the system, where the C library is glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def resident_bytes() -> int:
    """Memory of this process that is in use; 0 where the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def keep_freed_memory() -> None:
    """Keep freed blocks of up to 32 MB for the next allocation, where the C library is glibc."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_TRIM_THRESHOLD, _KEPT)
