"""How the C library gives memory back to the system: training asks it not to.

An update allocates and frees the same sizes again and again. Given back in between, each page has
to be cleared by the system when it is next written to.
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of settings in malloc.h
_LARGEST = 32 << 20  # bytes: the most that glibc takes for blocks that it keeps
_KEPT = 1 << 30  # bytes that are free and kept


def keep_freed_memory() -> None:
    """Keep freed blocks of up to 32 MB for the next allocation, where the C library is glibc."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_TRIM_THRESHOLD, _KEPT)
