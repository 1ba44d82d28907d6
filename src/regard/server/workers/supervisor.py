"""The supervisor of a server's workers: starts them, and replaces who dies or hangs.

It runs nothing that a request could reach: it waits for messages, signals and deaths. Workers are
forked from it when it has imported everything and computed nothing, which takes a fraction of the
time and memory of new processes. Each is a process group of its own, so that the signals of a
terminal reach the supervisor only, and the processes that a worker has started end with it.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from types import FrameType

from regard.errors import InputError
from regard.server.http.log import log_event
from regard.server.workers.link import (
    BEAT,
    FAILED,
    GROWN,
    KEYS,
    MAX_REASON,
    RELOAD,
    RELOAD_OTHERS,
    RELOADED,
    STUCK_SECONDS,
)

TICK = 1.0  # seconds after which the supervisor looks without being told
MAX_FAILED_STARTS = 5  # in a row, without a worker that serves
BACKGROUND_PATIENCE = 3  # times as long without a heartbeat as other workers
MAX_PAUSE = 30.0  # before the next start
DRAIN_SECONDS = 9.5  # to finish what runs, so that the server has ended within ten
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass
class Worker:
    """A process, the supervisor's end of the link with it, and when it was last heard of."""

    process: ForkProcess
    channel: socket.socket
    heard: float
    connected: bool = True
    serving: bool = False
    replaced: bool = False  # it ends to be replaced, without an error
    reason: str = ""  # why it ends, as a sentence

    @property
    def pid(self) -> int:
        """Of the process, which is also its group's."""
        assert self.process.pid is not None
        return self.process.pid


class Supervisor:
    """Keeps a number of workers running.

    num_background  of them, the last ones, end when the others have ended, whose requests they
                    answer
    run_worker  runs in each of them, with its number and its end of the link
    on_start    is called when all serve for the first time
    on_stop     is called before they drain
    set_pid     receives a worker's number and process, 0 when it has ended
    """

    def __init__(
        self,
        num_workers: int,
        run_worker: Callable[[int, socket.socket], None],
        *,
        num_background: int = 0,
        on_start: Callable[[Sequence[int]], None] = lambda pids: None,
        on_stop: Callable[[], None] = lambda: None,
        set_pid: Callable[[int, int], None] = lambda number, pid: None,
        stuck_seconds: float = STUCK_SECONDS,
    ) -> None:
        self.num_workers = num_workers
        self.first_background = num_workers - num_background
        self.run_worker = run_worker
        self.on_start, self.on_stop, self.set_pid = on_start, on_stop, set_pid
        self.stuck_seconds = stuck_seconds
        self._workers: dict[int, Worker] = {}
        self._next_start = dict.fromkeys(range(num_workers), 0.0)
        self._failed_starts = 0
        self._started = False
        self._stopping = False
        self._reloads: deque[int] = deque()
        self._reloading: Worker | None = None
        self._signals: deque[int] = deque()
        self._last_step = time.monotonic()

    def run(self) -> None:
        """Supervise until SIGTERM or SIGINT, then let the workers finish what runs."""
        with self._receiving_signals() as wakeup:
            try:
                gc.collect()
                gc.freeze()  # else the workers' collectors would write to all shared pages
                while not self._stopping:
                    self._start_missing()
                    self._step(wakeup)
                self._drain(wakeup)
            finally:
                for number, worker in list(self._workers.items()):
                    self._kill(worker)
                    self._forget(number, worker)

    def _start_missing(self) -> None:
        """Start the workers whose time has come; the first one alone, which may prepare models."""
        now = time.monotonic()
        for number in range(self.num_workers):
            if number in self._workers or self._next_start[number] > now:
                continue
            if not self._started and number and not self._workers[0].serving:
                break
            self._start(number)

    def _start(self, number: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        others = [worker.channel for worker in self._workers.values()]
        process = get_context("fork").Process(
            target=self._run_forked, args=(number, theirs, (ours, *others)), name=f"worker-{number}"
        )
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until it has handlers
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            theirs.close()
        worker = Worker(process, ours, time.monotonic())
        with suppress(OSError):  # both do it, as either may be first
            os.setpgid(worker.pid, worker.pid)
        self._workers[number] = worker
        self.set_pid(number, worker.pid)
        if self._started:
            log_event("worker started", worker=number + 1, pid=worker.pid)

    def _run_forked(
        self, number: int, channel: socket.socket, inherited: Sequence[socket.socket]
    ) -> None:
        """What the new process does."""
        with suppress(OSError):
            os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for end in inherited:  # or the workers would not notice when the supervisor has ended
            end.close()
        self.run_worker(number, channel)

    def _step(self, wakeup: socket.socket) -> None:
        """Wait for something to happen, and handle it."""
        channels = [worker.channel for worker in self._workers.values() if worker.connected]
        wait([wakeup, *channels], TICK)
        with suppress(BlockingIOError):
            wakeup.recv(4096)
        now = time.monotonic()
        pause = now - self._last_step
        self._last_step = now
        for number, worker in list(self._workers.items()):
            if pause > 2 * TICK:  # this process was stopped, perhaps all were: nothing was missed
                worker.heard += pause
            self._receive(number, worker, now)
        for number, worker in list(self._workers.items()):
            if _has_ended(worker.pid):
                self._end(number, worker)
            elif worker.serving and now - worker.heard > self._patience(number):
                seconds = round(now - worker.heard, 1)
                log_event(
                    "worker killed: its event loop hangs",
                    level=logging.ERROR,
                    worker=number + 1,
                    pid=worker.pid,
                    seconds=seconds,
                )
                worker.reason = "a worker hung and was killed."
                self._kill(worker)
        while self._signals:
            self._handle(self._signals.popleft())
        self._continue_reloads()

    def _receive(self, number: int, worker: Worker, now: float) -> None:
        """Read all messages of a worker."""
        while worker.connected:
            try:
                message = worker.channel.recv(MAX_REASON)
            except OSError:  # mostly that there is none
                return
            worker.heard = now
            if message == BEAT and not worker.serving:
                worker.serving = True
                self._failed_starts = 0
                self._announce()
            elif message == RELOADED and worker is self._reloading:
                self._reloading = None
            elif message == RELOAD_OTHERS:
                self._reload(other for other in range(self.num_workers) if other != number)
            elif message == GROWN:
                worker.replaced = True
            elif message.startswith(FAILED):
                worker.reason = message[len(FAILED) :].decode("utf-8", "replace")
            elif not message:
                worker.connected = False

    def _announce(self) -> None:
        """Say so when all workers serve for the first time."""
        workers = [self._workers.get(number) for number in range(self.num_workers)]
        if not self._started and all(worker and worker.serving for worker in workers):
            self._started = True
            self.on_start([worker.pid for worker in workers if worker])

    def _end(self, number: int, worker: Worker) -> None:
        """A worker's process has ended: have another one take its place, or give up."""
        self._kill(worker)  # what it has started, before its number may be given to another process
        self._forget(number, worker)
        if self._stopping:
            return
        if worker.replaced:
            log_event("worker replaced: it has grown", worker=number + 1, pid=worker.pid)
            return
        how = _how_it_ended(worker)
        self._failed_starts += not worker.serving
        serving = any(other.serving for other in self._like(number))
        if not self._started or (self._failed_starts >= MAX_FAILED_STARTS and not serving):
            raise InputError(how if worker.reason else f"the server cannot start: {how}.")
        log_event("worker ended", level=logging.ERROR, worker=number + 1, pid=worker.pid, how=how)
        if worker.serving:
            return
        pause = min(MAX_PAUSE, 2.0**self._failed_starts)
        self._next_start[number] = time.monotonic() + pause

    def _patience(self, number: int) -> float:
        """Seconds without a heartbeat; a background worker may have to wait for its turn."""
        return self.stuck_seconds * (1 if number < self.first_background else BACKGROUND_PATIENCE)

    def _like(self, number: int) -> list[Worker]:
        """The workers that do what one of a number does."""
        background = number >= self.first_background
        return [
            worker
            for other, worker in self._workers.items()
            if (other >= self.first_background) is background
        ]

    def _handle(self, number: int) -> None:
        if number == signal.SIGHUP:
            self._reload(range(self.num_workers))
        elif number in (signal.SIGTERM, signal.SIGINT):
            if self._stopping:  # asked twice
                for worker in self._workers.values():
                    self._kill(worker)
            self._stopping = True

    def _reload(self, numbers: Iterator[int] | range) -> None:
        """Have workers read the keys at once, and the models one after another."""
        for number in numbers:
            if number in self._workers:
                self._send(self._workers[number], KEYS)
            if number not in self._reloads:
                self._reloads.append(number)

    def _continue_reloads(self) -> None:
        if self._reloading is not None and self._reloading in self._workers.values():
            return
        self._reloading = None
        while self._reloads and self._reloading is None:
            worker = self._workers.get(self._reloads.popleft())
            if worker is not None:  # else its successor reads them anyway
                self._send(worker, RELOAD)
                self._reloading = worker

    def _drain(self, wakeup: socket.socket) -> None:
        """Let the workers finish what runs; kill those that take too long."""
        self.on_stop()
        end = time.monotonic() + DRAIN_SECONDS
        for number in (0, self.num_workers - 1):
            ending = self._like(number)
            for worker in ending:
                worker.process.terminate()
            while any(worker in self._workers.values() for worker in ending):
                if time.monotonic() > end:
                    break
                self._step(wakeup)
        for number, worker in self._workers.items():
            log_event(
                "worker killed: it did not finish",
                level=logging.ERROR,
                worker=number + 1,
                pid=worker.pid,
                seconds=DRAIN_SECONDS,
            )

    def _send(self, worker: Worker, message: bytes) -> None:
        with suppress(OSError):  # it is ending
            worker.channel.send(message)

    def _kill(self, worker: Worker) -> None:
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)

    def _forget(self, number: int, worker: Worker) -> None:
        worker.process.join()
        worker.channel.close()
        del self._workers[number]
        self.set_pid(number, 0)

    @contextmanager
    def _receiving_signals(self) -> Iterator[socket.socket]:
        """Collect signals; a socket that each writes to."""
        wakeup, writer = socket.socketpair()
        wakeup.setblocking(False)
        writer.setblocking(False)

        def receive(number: int, _: FrameType | None) -> None:
            self._signals.append(number)

        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        handlers = {number: signal.signal(number, receive) for number in SIGNALS}
        try:
            yield wakeup
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before)
            wakeup.close()
            writer.close()


def _has_ended(pid: int) -> bool:
    """Whether a process has ended; it stays a zombie, whose number is given to nobody else."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # `multiprocessing` looked first, as it does at every start
        return True


def _how_it_ended(worker: Worker) -> str:
    """What a worker said, or how its process ended."""
    if worker.reason:
        return worker.reason
    code = worker.process.exitcode or 0
    when = "" if worker.serving else " before it could serve"
    if code >= 0:
        return f"a worker ended with exit code {code}{when}"
    name = signal.Signals(-code).name
    memory = "; perhaps there was too little memory" if name == "SIGKILL" else ""
    return f"a worker was ended by {name}{when}{memory}"
