"""`regard serve` as a process: its address, memory, metrics and log."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from benchmarks.serve.client import Load, Outcome
from regard.errors import InputError

_ADDRESS = re.compile(r"at http://([\d.]+):(\d+)")
_WAITING = re.compile(r"^regard_waiting_requests (\S+)", re.MULTILINE)


class ServerProcess:
    """The command on a free local port, as a context manager."""

    def __init__(self, model: Path, log: Path, *options: str) -> None:
        arguments = ["serve", "--model", str(model), "--port", "0", *options]
        self.log = log
        with log.open("w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "regard", *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
            )
        assert self.process.stdout is not None
        match = _ADDRESS.search(self.process.stdout.readline())
        if match is None:
            self.__exit__(None, None, None)
            lines = log.read_text("utf-8").strip().splitlines() or ["no output"]
            raise InputError(f"`regard {' '.join(arguments)}` did not start: {lines[-1]}")
        self.host, self.port = match[1], int(match[2])

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def megabytes(self) -> float:
        """Memory of the server's processes now; what they share counts once."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        if not children.exists():
            return resident_megabytes(pid)
        return sum(map(proportional_megabytes, [pid, *map(int, children.read_text().split())]))

    def waiting(self) -> int:
        """Requests in the queue, by the server's metrics."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{self.host}:{self.port}/metrics", timeout=30) as response:
            match = _WAITING.search(response.read().decode())
        assert match is not None
        return int(float(match[1]))

    def num_errors(self) -> int:
        """Number of errors in the log."""
        return sum('"level": "error"' in line for line in self.log.open(encoding="utf-8"))


def proportional_megabytes(process: int) -> float:
    """Resident memory of a process, with its part of what it shares; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return float(next(line.split()[1] for line in lines if line.startswith("Pss:"))) / 1024


def resident_megabytes(process: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024
    output = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True
    )
    return float(output.stdout) / 1024


class MemorySampler:
    """Samples a server's memory in the background, as a context manager."""

    def __init__(self, server: ServerProcess, every: float = 0.25) -> None:
        self.server, self.every = server, every
        self.megabytes: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> MemorySampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(self.every):
            self.megabytes.append(self.server.megabytes())


def run_clients(load: Load) -> Outcome:
    """Run a process of clients; its outcome."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.serve.client"],
        input=json.dumps(asdict(load)),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise InputError(f"the clients failed: {lines[-1]}")
    fields = json.loads(done.stdout)
    fields["statuses"] = Counter(fields["statuses"])
    fields["wrong"] = [(number, text) for number, text in fields["wrong"]]
    return Outcome(**fields)


def seconds_until_idle(server: ServerProcess, limit: float = 30.0) -> float:
    """Seconds until the queue is empty; at most `limit`."""
    start = time.perf_counter()
    while server.waiting():
        if time.perf_counter() - start > limit:
            return limit
        time.sleep(0.05)
    return time.perf_counter() - start
