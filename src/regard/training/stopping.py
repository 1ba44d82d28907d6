"""When a run ends: by time, updates, epochs, patience, target or a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from regard.config import TrainingSettings
from regard.training.checkpoint import RunState
from regard.training.report import Reporter
from regard.training.task import BatchSource
from regard.training.validation import Validator

END_SHARE, END_SECONDS = 0.04, 10.0  # of the budget, at most: what follows the last validation


def end_seconds(minutes: float) -> float:
    """Return the part of a time budget that is for writing the model."""
    return min(END_SECONDS, END_SHARE * 60 * minutes)


class Stopping:
    """Compares the state of a run with the limits of its settings."""

    def __init__(
        self, settings: TrainingSettings, source: BatchSource, validator: Validator
    ) -> None:
        self.settings, self.source, self.validator = settings, source, validator
        self.limits = [settings.minutes, settings.steps, settings.epochs]

    def is_over(self, state: RunState) -> bool:
        """Whether a limit is reached, patience is used up, or the target is met."""
        patience = self.settings.patience
        out_of_patience = bool(patience) and state.since_best >= patience
        return self.share(state) >= 1 or out_of_patience or state.target_met

    def has_ended(self, state: RunState) -> bool:
        """Whether the run was finished within the limits that it has now."""
        return state.ended == self.limits or state.target_met

    def share(self, state: RunState) -> float:
        """Return the share of the run that is over, by the limit that is nearest."""
        minutes, steps, epochs = self.limits
        shares = [0.0]
        if minutes is not None:
            shares.append(state.seconds / max(1e-9, 60 * minutes - self._reserved(minutes)))
        if steps is not None:
            shares.append(state.step / steps)
        if epochs is not None:
            shares.append(self.source.epochs_done(state.cursor) / max(1e-9, epochs))
        return min(1.0, max(shares))

    def schedule_share(self, state: RunState) -> float:
        """Return the share of the schedule that is over: by its updates, or sooner by the run."""
        planned = self.settings.schedule_steps
        return max(self.share(state), min(1.0, state.step / planned) if planned else 0.0)

    def _reserved(self, minutes: float) -> float:
        """Seconds of the budget for the last validation and for writing the model."""
        return self.validator.seconds + end_seconds(minutes) if self.validator.dev else 0.0


@contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM is a KeyboardInterrupt, so that all that is open is closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Interruption:
    """Inside, Ctrl-C or SIGTERM asks the run to save and stop; a second Ctrl-C stops it at once."""

    def __init__(self, reporter: Reporter) -> None:
        self.requested = False
        self._reporter = reporter
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            signals = (signal.SIGINT, signal.SIGTERM)
            self._handlers = {number: signal.signal(number, self._request) for number in signals}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _request(self, number: int, frame: object) -> None:
        if self.requested:
            if number == signal.SIGTERM:  # may come twice: to the group and to each process
                return
            raise KeyboardInterrupt
        self.requested = True
        self._reporter.say("Stopping after this update …")
