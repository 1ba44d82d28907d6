"""What is fuzzed: a function of bytes, what it begins with, and what it may raise."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import regard
from regard.errors import InputError

PACKAGE = str(Path(regard.__file__).parent)


@dataclass(frozen=True)
class Target:
    """A reader that meets any bytes.

    read       may return, or raise an `InputError`; anything else is a finding
    seeds      inputs to begin with
    words      what `read` has rules for, which the fuzzer puts into inputs
    max_bytes  of an input
    """

    read: Callable[[bytes], object]
    seeds: Sequence[bytes]
    words: Sequence[bytes] = ()
    max_bytes: int = 2048


MakeTarget = Callable[[Path], Target]
"""Makes a target; the folder is its own, for files."""


def failure(read: Callable[[bytes], object], data: bytes) -> Exception | None:
    """The unexpected exception, if reading raises one."""
    try:
        read(data)
    except InputError:
        pass
    except Exception as error:
        return error
    return None


def failure_name(error: Exception) -> str:
    """The exception and the last line of regard that it came through: `KeyError-po-57`."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(PACKAGE)
    ]
    place = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}" if frames else "outside"
    return f"{type(error).__name__}-{place}"
