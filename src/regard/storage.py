"""Files written as a whole or not at all: a kill at any moment leaves the old one or the new."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_path(path: str | PathLike[str]) -> Iterator[Path]:
    """A name to write to; it becomes `path` only if all goes well and all is on the disk.

    A link is written through. A device or a pipe cannot be replaced: it is written to as it is.
    """
    final = Path(path)
    final = final.resolve() if final.is_symlink() else final
    if final.exists() and not (final.is_file() or final.is_dir()):
        yield final
        return
    draft = final.with_name(f".{final.name}.{os.getpid()}.part")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(final)
    except OSError as error:
        if error.filename == str(draft):  # a name that nobody gave
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(final.parent)


@contextmanager
def atomic_open(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write bytes to, which takes the place of `path` only if all goes well."""
    with atomic_path(path) as draft, draft.open("wb") as file:
        yield file


def replace_file(path: str | PathLike[str], data: bytes | str) -> None:
    """Put `data` (text as UTF-8) at `path`."""
    with atomic_open(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def sync_folder(folder: Path) -> None:
    """Make new names in a folder last, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
