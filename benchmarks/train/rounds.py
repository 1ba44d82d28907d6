"""A contender's side of the protocol: rounds of steps, started and timed on request.

A contender runs in its own process. It writes a line of JSON after its warm-up, waits for a line,
runs a round of steps, writes its time, and so on. Uses the standard library only.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


class Rounds:
    """Counts the steps and waits between rounds."""

    def __init__(self, warmup: int, steps: int, rounds: int) -> None:
        self.warmup, self.steps, self.rounds = warmup, steps, rounds
        self._done, self._begun = 0, 0.0
        self._tokens, self._loss = 0, 0.0
        # a contender's own output must not mix with the protocol
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        if not warmup:
            raise ValueError("warmup must be at least 1, got 0.")

    def step(self, tokens: int, loss: float, **about: Any) -> None:
        """Count a finished step with its target tokens and mean loss per token."""
        now = time.perf_counter()
        self._done += 1
        self._tokens, self._loss = self._tokens + tokens, self._loss + loss * tokens
        timed = self._done - self.warmup
        if timed < 0 or timed % self.steps:
            return
        if timed == 0:
            self._write({"about": about})
        else:
            mean = self._loss / max(1, self._tokens)
            self._write({"seconds": now - self._begun, "tokens": self._tokens, "loss": mean})
        if timed < self.steps * self.rounds:
            if not sys.stdin.readline():
                sys.exit("the benchmark ended")
            self._tokens, self._loss = 0, 0.0
            self._begun = time.perf_counter()

    def _write(self, line: dict[str, Any]) -> None:
        print(json.dumps(line), file=self._lines, flush=True)
