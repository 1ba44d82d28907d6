"""A contender's clock: steps in rounds, each begun at the benchmark's word and reported to it.

A contender runs in a process of its own. It says one line of JSON when it is warm, waits for a
line, makes a round of steps, says what they took, and so on. Needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


class Rounds:
    """Told of every step after it; stands still between rounds."""

    def __init__(self, warmup: int, steps: int, rounds: int) -> None:
        self.warmup, self.steps, self.rounds = warmup, steps, rounds
        self._done, self._begun = 0, 0.0
        self._tokens, self._loss = 0, 0.0
        # what a contender prints must not get between the lines
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        if not warmup:
            raise ValueError("a contender needs at least one warm-up step, but 0 came.")

    def step(self, tokens: int, loss: float, **about: Any) -> None:
        """A step is over, with so many target tokens, at that mean loss of a token."""
        now = time.perf_counter()
        self._done += 1
        self._tokens, self._loss = self._tokens + tokens, self._loss + loss * tokens
        timed = self._done - self.warmup
        if timed < 0 or timed % self.steps:
            return
        if timed == 0:
            self._say({"about": about})
        else:
            mean = self._loss / max(1, self._tokens)
            self._say({"seconds": now - self._begun, "tokens": self._tokens, "loss": mean})
        if timed < self.steps * self.rounds:
            if not sys.stdin.readline():
                sys.exit("the benchmark is gone")
            self._tokens, self._loss = 0, 0.0
            self._begun = time.perf_counter()

    def _say(self, line: dict[str, Any]) -> None:
        print(json.dumps(line), file=self._lines, flush=True)
