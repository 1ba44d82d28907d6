"""Errors and warnings about a user's input; the command line prints them as one sentence."""

from __future__ import annotations

import traceback
from typing import Any

FRAMES = 6


class InputError(ValueError):
    """Invalid input: one sentence with what was wrong, where, and what to do. Exit code 2."""


class StorageError(InputError):
    """A file could not be written: the disk is full, or a limit on files is reached."""


class BusyError(InputError):
    """Another process is writing what this one was to write."""


class InputWarning(UserWarning):
    """Part of the input was skipped: one sentence with what, where, and why."""


def error_fields(error: BaseException) -> dict[str, Any]:
    """An exception's type and the last frames of its traceback; its message may quote texts."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "places": places}
