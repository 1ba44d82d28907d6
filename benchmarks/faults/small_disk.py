"""A disk that is full: a small tmpfs if it can be mounted, else a limit on the size of files."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.faults.child import POLL, Child

SIZE = 16 << 20  # bytes of the small disk: some checkpoints of the tiny model
FILE_LIMIT = 4096  # bytes that a file may have when the disk counts as full


class SmallDisk(ABC):
    """A place for runs that can be full."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def fill(self, child: Child) -> None:
        """Leave no space for what the process writes."""

    @abstractmethod
    def empty(self) -> None:
        """Make room again."""


class MountedDisk(SmallDisk):
    """A tmpfs that is really full."""

    def fill(self, child: Child) -> None:
        """Write until the disk takes no more; what a save in progress gives back, too."""
        block = bytes(1 << 16)
        size = len(block)
        with (self.path / "filler").open("ab", buffering=0) as file:
            while child.code is None:
                try:
                    file.write(block[:size])
                except OSError:
                    size = size // 2 or len(block)
                    time.sleep(POLL if size == len(block) else 0)

    def empty(self) -> None:
        """Remove what fills the disk."""
        (self.path / "filler").unlink(missing_ok=True)


class LimitedFiles(SmallDisk):
    """A process that may write small files only, where nothing can be mounted."""

    def fill(self, child: Child) -> None:
        """Limit the size of the process's files."""
        if child.code is None:
            hard = resource.prlimit(child.pid, resource.RLIMIT_FSIZE)[1]
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (FILE_LIMIT, hard))

    def empty(self) -> None:
        """Do nothing: the next process has no limit."""


@contextmanager
def small_disk(path: Path) -> Iterator[SmallDisk]:
    """Open a place below `path` that can be full."""
    path.mkdir()
    mounted = os.geteuid() == 0 and not _run(
        "mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", path
    )
    if not mounted:
        yield LimitedFiles(path)
        return
    try:
        yield MountedDisk(path)
    finally:
        _run("umount", "--lazy", path)


def _run(*words: object) -> int:
    try:
        return subprocess.run([*map(str, words)], capture_output=True).returncode
    except OSError:  # no such program
        return 1
