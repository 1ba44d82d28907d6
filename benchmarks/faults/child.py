"""`regard …` in processes that can be killed: forked from one that has imported torch already.

A new Python takes seconds to import torch, which a hundred kills would pay a hundred times.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.faults.failing_io import FailingIO
from regard.errors import InputError

OPERATION = "operation: "
"""Begins the lines about writes, syncs and renames."""
PATIENCE = 300.0  # seconds until a process that does nothing is given up
POLL = 0.0005
_context = get_context("forkserver")
_context.set_forkserver_preload(
    [
        "regard.tasks.translation.task",
        "regard.training.run",
        "rich.progress",
        "sacrebleu.metrics",
        "scipy.special",
        "torch._dynamo",
    ]
)


class Child:
    """A process of `regard`; what it prints goes to a file."""

    def __init__(
        self,
        words: Sequence[object],
        log: Path,
        nan_losses: bool = False,
        fail_at: int | None = None,
    ) -> None:
        """Begin the process.

        nan_losses  whether the loss of some batches is NaN, the same ones in every process
        fail_at     number of the write, sync or rename that fails; 0 only lists them at the end
        """
        self.log = log
        log.write_bytes(b"")
        arguments = [str(word) for word in words]
        self._process = _context.Process(
            target=_run, args=(arguments, str(log), nan_losses, fail_at)
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code; negative for a signal, None while the process runs."""
        return self._process.exitcode

    @property
    def printed(self) -> str:
        """What the process has printed so far."""
        return self.log.read_text("utf-8", errors="replace")

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process is over."""
        if self.code is None:
            os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait for the end of the process; return its exit code."""
        self._process.join(PATIENCE)
        if self.code is None:
            self.send(signal.SIGKILL)
            self._process.join()
            raise InputError(f"a process did not end within {PATIENCE:.0f} s; see {self.log}.")
        assert self.code is not None
        return self.code

    def wait_until(self, condition: Callable[[], Any]) -> bool:
        """Wait until the condition holds; False if the process ends before."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if self.code is not None:
                return bool(condition())
            if time.monotonic() > end:
                self.send(signal.SIGKILL)
                raise InputError(f"nothing happened within {PATIENCE:.0f} s; see {self.log}.")
            time.sleep(POLL)
        return True


def _run(words: Sequence[str], log: str, nan_losses: bool, fail_at: int | None) -> None:
    """What the new process does."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    for number in (1, 2):
        os.dup2(file, number)
    sys.stdout = os.fdopen(1, "w", 1, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8")
    sys.argv = ["-m", *words]
    import torch

    from regard.cli import main

    torch.set_num_threads(1)
    if nan_losses:
        _inject_nan()
    if fail_at is None:
        code = main(list(words))
    else:
        with FailingIO(fail_at) as faults:
            code = main(list(words))
        shown = [faults.failed] if fail_at else faults.operations
        print(*(f"{OPERATION}{operation}" for operation in shown if operation), sep="\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _inject_nan() -> None:
    """Make the loss NaN for about one batch in twelve, chosen by the labels in it."""
    from regard.tasks.text.task import TextTask

    objective = TextTask.objective

    def faulty(self: TextTask, run: Any, network: Any, batch: Any, scale: float) -> Any:
        loss = objective(self, run, network, batch, scale)
        return loss * float("nan") if int(batch.labels.sum()) % 12 == 0 else loss

    TextTask.objective = faulty  # type: ignore[method-assign]


def operations(printed: str) -> list[str]:
    """Return the writes, syncs and renames that a process has listed."""
    lines = printed.splitlines()
    return [line.removeprefix(OPERATION) for line in lines if line.startswith(OPERATION)]


def one_sentence(printed: str) -> str:
    """Return the sentence that a refused command ends with; an error if it is not exactly one."""
    lines = [line for line in printed.splitlines() if line.startswith("regard: ")]
    if "Traceback" in printed or len(lines) != 1 or not lines[0].endswith("."):
        raise InputError(f"not one clear sentence: {' | '.join(printed.splitlines()[-4:])}")
    return lines[0]
