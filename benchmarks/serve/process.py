"""A `regard serve` of one's own, as a process: its address, its memory, what it says of itself."""

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


class Served:
    """The command, on a free port of this computer, until the `with` ends."""

    def __init__(self, model: Path, log: Path, *options: str) -> None:
        words = ["serve", "--model", str(model), "--port", "0", *options]
        self.log = log
        with log.open("w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "regard", *words],
                stdout=subprocess.PIPE, stderr=said, encoding="utf-8",
            )  # fmt: skip
        assert self.process.stdout is not None
        found = _ADDRESS.search(self.process.stdout.readline())
        if found is None:
            self.__exit__(None, None, None)
            lines = log.read_text("utf-8").strip().splitlines() or ["it said nothing"]
            raise InputError(f"`regard {' '.join(words)}` did not start: {lines[-1]}")
        self.host, self.port = found[1], int(found[2])

    def __enter__(self) -> Served:
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
        """Memory that is resident now."""
        return resident_megabytes(self.process.pid)

    def waiting(self) -> int:
        """Requests that have a place in the queue, as the server's metrics say."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{self.host}:{self.port}/metrics", timeout=30) as answer:
            found = _WAITING.search(answer.read().decode())
        assert found is not None
        return int(float(found[1]))

    def faults(self) -> int:
        """Lines of the log that tell of an error."""
        return sum('"level": "error"' in line for line in self.log.open(encoding="utf-8"))


def resident_megabytes(process: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024
    said = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True)
    return float(said.stdout) / 1024


class Memory:
    """Samples a server's memory in the background while the `with` lasts."""

    def __init__(self, server: Served, every: float = 0.25) -> None:
        self.server, self.every = server, every
        self.megabytes: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(self.every):
            self.megabytes.append(self.server.megabytes())


def driven(load: Load) -> Outcome:
    """What a process of clients brings back."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.serve.client"],
        input=json.dumps(asdict(load)), capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise InputError(f"the clients failed: {lines[-1]}")
    found = json.loads(done.stdout)
    found["statuses"] = Counter(found["statuses"])
    found["wrong"] = [(number, answer) for number, answer in found["wrong"]]
    return Outcome(**found)


def freed_after(server: Served, most: float = 30.0) -> float:
    """Seconds until nothing waits any more; `most` if something still does."""
    start = time.perf_counter()
    while server.waiting():
        if time.perf_counter() - start > most:
            return most
        time.sleep(0.05)
    return time.perf_counter() - start
