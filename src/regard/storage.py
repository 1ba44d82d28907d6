"""Atomic writes, after a crash all or nothing of the new file or folder; checksums of files."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_path(path: str | PathLike[str]) -> Iterator[Path]:
    """A temporary path that is synced and renamed to `path` if the block succeeds.

    A link is followed. A device or a pipe cannot be replaced: its own path is given.
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
        if error.filename == str(draft):  # report the path that the caller gave
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(final.parent)


@contextmanager
def atomic_open(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write bytes to, which replaces `path` if the block succeeds."""
    with atomic_path(path) as draft, draft.open("wb") as file:
        yield file


def replace_file(path: str | PathLike[str], data: bytes | str) -> None:
    """Write `data` (text as UTF-8) to `path` atomically."""
    with atomic_open(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that new names in it survive a crash, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def atomic_folder(path: str | PathLike[str]) -> Iterator[Path]:
    """A temporary folder whose files are synced, and renamed to `path` if the block succeeds.

    `path` must not be there yet, or be an empty folder.
    """
    final = Path(path).absolute()
    draft = final.with_name(f".{final.name}.{os.getpid()}.part")
    try:
        draft.mkdir(parents=True)
        yield draft
        for file in draft.rglob("*"):
            if file.is_file():
                with file.open("rb+") as written:
                    os.fsync(written.fileno())
        draft.replace(final)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    sync_folder(final.parent)


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
