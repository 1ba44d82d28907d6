"""Tokenisers' files, written as a whole or not at all."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from regard.errors import InputError


def replace_file(path: str | PathLike[str], data: bytes) -> None:
    """Put `data` at `path`; a kill at any moment leaves the old file or the new one, whole."""
    final = Path(path)
    draft = final.with_name(f".{final.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(final)
    finally:
        draft.unlink(missing_ok=True)


def file_bytes(path: str | PathLike[str]) -> bytes:
    """The whole file; that it cannot be read is an `InputError`."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: the tokeniser cannot be read ({error.strerror}); "
            "check the path of the model folder."
        ) from error
