"""What the workers of one server share: rates of clients, translated files, counts for metrics."""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import tempfile
from pathlib import Path

from regard.server.access.rates import RateLimiter

PID = struct.Struct("q")


class SharedState:
    """Made before the workers are, which inherit it.

    num_workers        that answer short requests; the rest are background workers
    rates, wrong_keys  of clients, in shared memory
    pids               of all workers, in shared memory
    folder             private, for files that the workers write
    """

    def __init__(self, num_workers: int = 1, num_background: int = 0) -> None:
        self.num_workers = num_workers
        self.rates, self.wrong_keys = RateLimiter(), RateLimiter()
        self._pids = mmap.mmap(-1, (num_workers + num_background) * PID.size)
        self.folder = Path(tempfile.mkdtemp(prefix="regard-serve-"))  # only its owner may enter
        self._opened = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
        for folder in (self.files, self.metrics):
            folder.mkdir()

    @property
    def files(self) -> Path:
        """The folder of translated files."""
        return self.folder / "files"

    @property
    def metrics(self) -> Path:
        """The folder in which each worker counts."""
        return self.folder / "metrics"

    @property
    def background(self) -> Path:
        """The socket of the background workers, in the folder that all processes have open.

        The path of a socket has at most 107 bytes, which the path of the folder may exceed.
        """
        return Path(f"/proc/self/fd/{self._opened}/background")

    @property
    def pids(self) -> list[int]:
        """The process of each worker; 0: none."""
        return [pid for (pid,) in PID.iter_unpack(self._pids[:])]

    def set_pid(self, number: int, pid: int) -> None:
        """Note the process of a worker."""
        PID.pack_into(self._pids, number * PID.size, pid)

    def remove(self) -> None:
        """Remove the folder with all files."""
        shutil.rmtree(self.folder, ignore_errors=True)
