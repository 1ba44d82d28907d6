"""The benchmark's side of a contender: its process, its rounds and its errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from regard.errors import InputError


@dataclass(frozen=True)
class Lap:
    """One round of one contender: its seconds, its target tokens, and their mean loss."""

    seconds: float
    tokens: int
    loss: float

    @property
    def speed(self) -> float:
        """Target tokens per second."""
        return self.tokens / self.seconds


class ContenderError(InputError):
    """A contender's process ended early; the message says how."""


class Contender:
    """A process that trains in rounds (see `rounds`); its stderr goes to `log`."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.log = name, log
        with log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **(environment or {})},
                text=True,
                encoding="utf-8",
            )

    def warm(self) -> dict[str, Any]:
        """Wait for the end of the warm-up; the contender's settings."""
        about: dict[str, Any] = self._line()["about"]
        return about

    def lap(self) -> Lap:
        """Run one round."""
        self.start_lap()
        return self.end_lap()

    def start_lap(self) -> None:
        """Begin a round without waiting for its end."""
        assert self._process.stdin is not None
        try:
            print(file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise self._ended() from None

    def end_lap(self) -> Lap:
        """Wait for the end of the round that was started."""
        return Lap(**self._line())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None and kind is not None:
            self._process.kill()
        self._process.communicate()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        read: dict[str, Any] = json.loads(line)
        return read

    def _ended(self) -> ContenderError:
        code = self._process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return ContenderError(f"{self.name} ended with {how}" + (f": {lines[-1]}" if lines else ""))


class Together:
    """Contenders that train at the same time, each on its part of every batch.

    They exchange no gradients, so no data-parallel training of the same loop is faster.
    """

    def __init__(self, name: str, contenders: Sequence[Contender]) -> None:
        self.name, self._contenders = name, contenders

    def warm(self) -> dict[str, Any]:
        """Wait for the end of all warm-ups; the settings of the first."""
        abouts = [contender.warm() for contender in self._contenders]
        return abouts[0]

    def lap(self) -> Lap:
        """Run one round of all: the time of the slowest, the tokens of all."""
        for contender in self._contenders:
            contender.start_lap()
        laps = [contender.end_lap() for contender in self._contenders]
        tokens = sum(lap.tokens for lap in laps)
        loss = sum(lap.loss * lap.tokens for lap in laps) / tokens
        return Lap(max(lap.seconds for lap in laps), tokens, loss)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for contender in self._contenders:
            contender.__exit__(kind, error, trace)
