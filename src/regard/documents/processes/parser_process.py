"""One process that reads and writes documents, seen from its parent."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from regard.cancellation import CancelledWorkError, cancellation
from regard.documents.processes.messages import CHUNK, HEAD, Message, decode

COMMAND = ("-P", "-m", "regard.documents.processes.parser")
START_SECONDS = 60.0
"""Time in which a process must be ready, on a busy machine too."""
CANCELLED_SECONDS = 1.0
"""Time in which cancelled work may still finish, which costs less than another process."""
CHECK_SECONDS = 0.25
"""Time between checks of whether the work is cancelled."""


class ParserTimeoutError(Exception):
    """The process took longer than it may."""


class ParserDiedError(Exception):
    """The process ended without an answer; `code` is its exit code, of a signal below 0."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class ParserAnswerError(Exception):
    """The answer is larger than it may be, or is none."""


class ParserProcess:
    """A process that is started when it is needed, and again after it was killed.

    prepared  whether it imports all readers before it is ready
    ticket    the number of the documents that it may still have
    """

    def __init__(self, *, prepared: bool = False) -> None:
        self.prepared = prepared
        self.ticket = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False

    @property
    def pid(self) -> int | None:
        """The process's number; None if there is none."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process, unless it runs; it starts up while this one continues."""
        if self._process is not None and self._process.poll() is None:
            return
        self.kill()
        self._process = subprocess.Popen(
            [sys.executable, *COMMAND, *(["--prepared"] if self.prepared else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for the parent
        )
        assert self._process.stdin
        os.set_blocking(self._process.stdin.fileno(), False)

    def ask(self, parts: Sequence[bytes], seconds: float, max_answer: int) -> Message:
        """Send a message and receive the answer; after an error the process must be killed."""
        self.start()
        if not self._ready:
            with suppress(ParserTimeoutError, ParserDiedError):
                self._ready = bool(self._receive(_Deadline(START_SECONDS), CHUNK))
            if not self._ready:
                code = self._exit_code()
                raise ChildProcessError(
                    f"the process that reads documents did not start (exit code {code})."
                )
        deadline = _Deadline(seconds)
        for part in parts:
            self._send(part, deadline)
        return self._receive(deadline, max_answer)

    def interrupt(self) -> None:
        """End the process at once; a caller that waits for its answer gets an error."""
        if self._process is not None:
            self._process.kill()

    def kill(self) -> None:
        """End the process at once and drop it; no caller may be waiting for its answer."""
        self.ticket, self._ready = 0, False
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            assert stream
            stream.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)

    def _send(self, part: bytes, deadline: _Deadline) -> None:
        assert self._process and self._process.stdin
        pipe, rest = self._process.stdin.fileno(), memoryview(part)
        while rest:
            deadline.wait(pipe, select.POLLOUT)
            try:
                rest = rest[os.write(pipe, rest[:CHUNK]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise ParserDiedError(self._exit_code()) from None

    def _receive(self, deadline: _Deadline, max_answer: int) -> Message:
        begun = self._read(HEAD.size, b"", deadline)
        length, size = HEAD.unpack_from(begun)
        if length + size > max_answer:
            raise ParserAnswerError
        end = HEAD.size + length
        whole = self._read(end + size, begun, deadline)
        try:
            return Message(decode(whole[HEAD.size : end]), whole[end:])
        except ValueError as error:
            raise ParserAnswerError from error

    def _read(self, size: int, begun: bytes, deadline: _Deadline) -> bytes:
        """So many bytes, or more that have arrived already, from those that were begun with."""
        assert self._process and self._process.stdout
        pipe, parts, missing = self._process.stdout.fileno(), [begun], size - len(begun)
        while missing > 0:
            deadline.wait(pipe, select.POLLIN)
            part = os.read(pipe, CHUNK)
            if not part:
                raise ParserDiedError(self._exit_code())
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _exit_code(self) -> int | None:
        """The exit code of a process that has closed its pipes, or should have."""
        assert self._process
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(1)
        return None


class _Deadline:
    """Waits for pipes until a deadline, which comes soon after the work is cancelled."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._is_cancelled = cancellation()
        self._cancelled = False

    def wait(self, pipe: int, event: int) -> None:
        """Wait until a pipe can be read or written, or is closed."""
        poll = select.poll()
        poll.register(pipe, event)
        while True:
            now = time.monotonic()
            if not self._cancelled and self._is_cancelled():
                self._cancelled, self._end = True, min(self._end, now + CANCELLED_SECONDS)
            left = self._end - now
            if left <= 0:
                raise CancelledWorkError if self._cancelled else ParserTimeoutError
            if poll.poll(1000 * min(left, CHECK_SECONDS)):
                return
