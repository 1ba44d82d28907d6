"""One process at a time writes a folder: a lock that ends with the process that holds it.

The lock is the kernel's (`flock`) on a file with the process and its computer in it: a process that
is killed leaves the file, which nobody holds then. Where files cannot be locked (other systems,
some network file systems), the file itself is the lock, and must be removed after a kill.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from regard.errors import BusyError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # not a POSIX system
    flock = None  # type: ignore[assignment]  # a function elsewhere

LOCK = ".lock"
"""In a folder that is written in place."""

_locked_files: set[int] = set()  # files that are locked, which forked processes must not keep open


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Be the only process that writes into a folder, which is made if it is missing.

    It is removed again if nothing was written into it.
    """
    home = folder.resolve()
    missing = [path for path in (home, *home.parents) if not path.exists()]
    with ExitStack() as stack:
        if missing or all(path.name == LOCK for path in home.iterdir()):
            home.parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # nothing can be made beside it, by others neither
                stack.enter_context(write_lock(lock_beside(home), folder))
                shutil.rmtree(draft_beside(home), ignore_errors=True)  # of a process that is dead
        handle = _lock_inside(home, folder)
    try:
        yield
    finally:
        _release(home / LOCK, handle)
        with suppress(OSError):  # one that is not empty ends it
            for path in missing:
                path.rmdir()


@contextmanager
def write_lock(path: Path, place: object) -> Iterator[None]:
    """Hold a lock file; if another process does, the error says that it writes `place`."""
    handle = _acquire(path, place)
    try:
        yield
    finally:
        _release(path, handle)


def lock_beside(path: Path) -> Path:
    """The lock file of a file or folder that appears as a whole."""
    return path.with_name(f".{path.name}.lock")


def draft_beside(path: Path) -> Path:
    """The temporary name of a file or folder that appears as a whole, written under its lock."""
    return path.with_name(f".{path.name}.part")


def try_flock(handle: int) -> bool | None:
    """Lock an open file; False if another process has locked it, None if none can be locked."""
    if flock is None:
        return None
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_open_file(handle: int, path: Path) -> bool:
    """Whether an open file is still what a path names."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _lock_inside(home: Path, place: object) -> int:
    """Lock a folder, which is made if it is missing."""
    while True:
        home.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # removed by a process that wrote nothing into it
            return _acquire(home / LOCK, place)


def _acquire(path: Path, place: object) -> int:
    """Open and lock a file."""
    while True:
        handle, created = _open(path)
        locked = try_flock(handle)
        if locked is False or (locked is None and not created):
            sentence = f"{place}: {_holder(handle)} is writing it; wait until that ends"
            hint = f" (if it has ended, remove {path})" if locked is None else ""
            os.close(handle)
            raise BusyError(f"{sentence}{hint}.")
        if _is_open_file(handle, path):
            break
        os.close(handle)  # the process that held it has removed it
    _locked_files.add(handle)
    with suppress(OSError):  # a disk that is full
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()} {platform.node()}\n".encode())
    return handle


def _open(path: Path) -> tuple[int, bool]:
    """Open a lock file; whether it was made for that."""
    while True:
        with suppress(FileExistsError):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
        with suppress(FileNotFoundError):  # removed meanwhile
            return os.open(path, os.O_RDWR), False


def _release(path: Path, handle: int) -> None:
    """Remove and close a lock file."""
    if handle in _locked_files:  # else this is a forked process, and the lock is its parent's
        _locked_files.remove(handle)
        if flock is None:  # such a system removes no open file
            os.close(handle)
        with suppress(OSError):
            path.unlink()
        if flock is not None:
            os.close(handle)


def _holder(handle: int) -> str:
    """The number of the process that has locked a file, if the file has it."""
    os.lseek(handle, 0, os.SEEK_SET)
    note = os.read(handle, 300).decode(errors="replace")
    number, _, computer = note.strip().partition(" ")
    if not number.isdecimal():  # it is about to write that
        return "another process"
    elsewhere = f" on {computer}" if computer != platform.node() else ""
    return f"process {number}{elsewhere}"


def _close_in_child() -> None:
    """Have a forked process hold no locks, so that they end with its parent."""
    for handle in _locked_files:
        os.close(handle)
    _locked_files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
