"""Tokenisers' files."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from regard.errors import InputError


def file_bytes(path: str | PathLike[str]) -> bytes:
    """The whole file; that it cannot be read is an `InputError`."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: the tokeniser cannot be read ({error.strerror}); "
            "check the path of the model folder."
        ) from error
