"""Atomic writes, after a crash all or nothing of the new file or folder; checksums of files."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from stat import S_IMODE
from threading import get_ident
from typing import BinaryIO

from regard.errors import BusyError, InputError
from regard.write_lock import LOCK, draft_beside, lock_beside, write_lock


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
    with errors_name(path):
        with _draft(final) as draft:
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(final)
        sync_folder(final.parent)


@contextmanager
def _draft(final: Path) -> Iterator[Path]:
    """The temporary path for a file, which no other process writes; removed if it is left.

    It has the same name for all processes, so that what a killed one has left is written over.
    Only while another one writes the same file, it has the name of this process.
    """
    with ExitStack() as stack:
        draft = draft_beside(final)
        try:
            stack.enter_context(write_lock(lock_beside(final), final))
        except (BusyError, OSError):
            draft = final.with_name(f".{final.name}.{os.getpid()}-{get_ident()}.part")
        stack.callback(draft.unlink, missing_ok=True)
        yield draft


@contextmanager
def errors_name(path: str | PathLike[str]) -> Iterator[None]:
    """Have the system's errors name the path that is written, and no temporary one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        nameless = error.filename is None and error.errno is not None  # of a write or a sync
        parts = Path(str(error.filename)).parts
        start = f".{Path(path).name}."
        if nameless or any(part.startswith(start) and part.endswith(".part") for part in parts):
            error.filename = str(path)
        raise


@contextmanager
def default_mode(path: Path) -> Iterator[None]:
    """Have a file that the block writes with the rights of one that `open` makes.

    safetensors gives it to its owner only, so that no other user could serve a model.
    """
    path.touch()
    mode = S_IMODE(path.stat().st_mode)
    yield
    path.chmod(mode)


@contextmanager
def atomic_open(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write bytes to, which replaces `path` if the block succeeds."""
    with atomic_path(path) as draft, draft.open("wb") as file:
        yield file


def replace_file(path: str | PathLike[str], data: bytes | str) -> None:
    r"""Write `data` to `path` atomically; text as UTF-8, and a byte that is none as \udcff."""
    with atomic_open(path) as file:
        file.write(data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that new names in it survive a crash, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def atomic_folder(path: str | PathLike[str], *, replace: bool = False) -> Iterator[Path]:
    """A temporary folder whose files are synced, and renamed to `path` if the block succeeds.

    One process at a time does so. Without `replace`, `path` must not be there yet, or be an empty
    folder.
    """
    final = Path(path).absolute()
    draft = draft_beside(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    with write_lock(lock_beside(final), path), errors_name(path):
        if not replace:
            check_new_folder(path)
        shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed
        try:
            draft.mkdir()
            yield draft
            _sync_all(draft)
            if replace:
                replace_folder(draft, final)
            else:
                draft.replace(final)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        sync_folder(final.parent)


def replace_folder(draft: Path, final: Path) -> None:
    """Give a folder the name of another, which is removed; if that fails, it stays."""
    old = final.with_name(f".{final.name}.old")
    shutil.rmtree(old, ignore_errors=True)  # of a process that was killed
    if final.exists():
        final.replace(old)
    try:
        draft.replace(final)
    except OSError:
        if old.exists():
            old.replace(final)
        raise
    shutil.rmtree(old, ignore_errors=True)


def check_new_folder(path: str | PathLike[str]) -> None:
    """Raise an error unless a folder can be made at `path`; one that is empty may be there."""
    check_name(path)
    final = Path(path)
    if (final / LOCK).is_file():
        with write_lock(final / LOCK, path):
            pass  # it is that of a process that was killed, and is removed
    if final.is_dir() and any(final.iterdir()):
        raise InputError(f"{path}: there are files in it already; give another folder.")
    if final.exists() and not final.is_dir():
        raise InputError(f"{path}: this is a file; give a folder that is not there yet.")
    home = next(parent for parent in final.absolute().parents if parent.exists())
    if not home.is_dir():
        raise InputError(f"{home}: this is a file; give another folder.")
    if not os.access(home, os.W_OK | os.X_OK):
        raise InputError(f"{home}: this folder cannot be written to; give another one.")


def check_name(folder: str | PathLike[str]) -> None:
    """Raise an error if a folder has a name that is not UTF-8: weights in it cannot be read."""
    try:
        str(Path(folder).absolute()).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{folder}: the name of this folder is not UTF-8; give another."
        ) from error


def _sync_all(folder: Path) -> None:
    """Sync a folder with all that is in it."""
    for path in (*folder.rglob("*"), folder):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        elif path.is_dir():
            sync_folder(path)


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
