"""The training loop: updates until the limits of a run are reached or its target is met.

An update depends only on the settings, the weights and its number: the order of the data and
dropout are drawn from the seed and the step. So a run that continues from its checkpoint makes
exactly the updates that it would have made without the interruption.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from regard.cores import cores
from regard.folder import WEIGHTS, load_weights, put_weights, save_weights
from regard.training.averaging import Averaging
from regard.training.checkpoint import RunState, saving
from regard.training.logs.memory import resident_bytes
from regard.training.logs.status import StatusFile
from regard.training.optimizers.nonfinite import (
    check_divergence,
    is_finite,
    note_update,
    skipped_line,
)
from regard.training.optimizers.schedule import ScheduleProgress, learning_rate
from regard.training.processes.ranks import ALONE, Ranks
from regard.training.report import Log, Reporter, Silent
from regard.training.run_checkpoints import RunCheckpoints
from regard.training.stopping import Interruption, Stopping
from regard.training.task import Task, TrainData
from regard.training.update import Updater
from regard.training.validation import VALIDATIONS, Validator
from regard.worker_pool import WorkerPool

LOG_SECONDS = 5.0  # between two lines of figures


@dataclass(frozen=True)
class TrainOutcome:
    """How a run ended: finished or interrupted, and the figures of the weights that are kept."""

    finished: bool
    step: int
    seconds: float
    epochs: float
    validation: dict[str, Any]
    tokens_per_second: float


class Trainer:
    """Trains one network, in a folder or, without one, in memory only."""

    def __init__(
        self,
        task: Task,
        network: nn.Module,
        data: TrainData,
        folder: Path | None = None,
        reporter: Reporter | None = None,
        ranks: Ranks = ALONE,
        spent: float = 0.0,
    ) -> None:
        """`spent` seconds of the time budget were used to read and prepare the corpus."""
        self.task, self.data, self.folder, self.ranks = task, data, folder, ranks
        self.settings = settings = data.run.training
        self.reporter = reporter or Silent()
        self.updater = Updater(task, network, data, ranks)
        self.network = self.updater.network
        self.averaging = Averaging(self.network, self.updater.parameters, settings, folder)
        self.checkpoints = RunCheckpoints(self.updater, self.averaging, ranks, folder)
        self.validator = Validator(data.dev, settings, folder, self.reporter)
        self.stopping = Stopping(settings, data.train, self.validator)
        self.interruption = Interruption(self.reporter)
        self.state = RunState(seconds=spent)
        self.num_tokens, self.update_seconds = 0, 1e-9

    def resume(self, folder: Path) -> bool:
        """Load the newest checkpoint of a folder; whether there was one."""
        state = self.checkpoints.load(folder, self.reporter.say)
        self.state = state or self.state
        return state is not None

    def train(self) -> TrainOutcome:
        """Train until the run is over or interrupted; the best weights are in the folder then."""
        self.updater.trained_network.train()
        with ExitStack() as stack:
            status = stack.enter_context(StatusFile(self.folder))
            stack.enter_context(saving(self.folder))
            log = Log(self.folder, self.settings.tensorboard, self.state.step, self.reporter.say)
            stack.callback(log.close)
            stack.callback(self.reporter.close)
            pool = stack.enter_context(self.updater.workers(self.state.cursor))
            stack.enter_context(self.interruption)
            status.finished = self._run(pool, log)
        self.network.eval()
        return self.outcome(status.finished)

    def _run(self, pool: WorkerPool, log: Log) -> bool:
        """Make updates; True if the run is over, False if it was interrupted."""
        state, stopping, leads = self.state, self.stopping, self.ranks.leads
        begun = time.monotonic() - state.seconds
        state.num_validations = int(stopping.share(state) * VALIDATIONS)
        saved = logged = time.monotonic()
        while (rate := self._next_rate()) is not None:
            figures = self.update(pool, rate)
            now = time.monotonic()
            state.seconds = figures["seconds"] = now - begun
            self._report(figures)
            if now - logged >= LOG_SECONDS or state.step == 1:
                log.write(state.step, figures | {"memory": resident_bytes()})
                logged = now
            finite = leads and not state.nonfinite  # else the weights may have diverged
            validates, due, interrupted = self.ranks.any(
                finite and self.validator.should_validate(state, stopping.share(state)),
                finite and time.monotonic() - saved >= 60 * self.settings.checkpoint_minutes,
                self.interruption.requested,
            )
            if validates:
                self.validate(pool)
                state.seconds = time.monotonic() - begun
                (interrupted,) = self.ranks.any(self.interruption.requested)
            if interrupted or validates or due:
                self.save_checkpoint()
                saved = time.monotonic()
            self.validator.report(log)
            if interrupted:
                return False
        self._finish(pool, log)
        return True

    def update(self, pool: WorkerPool, rate: float | None = None) -> dict[str, Any]:
        """Make one update, at the learning rate of the schedule by default; return its figures."""
        start = time.monotonic()
        state = self.state
        rate = self.learning_rate() if rate is None else rate
        loss, norm, count = self.updater.update(pool, state, rate)
        note_update(state, is_finite(loss, norm))
        if state.nonfinite:
            self.reporter.say(skipped_line(state, self.learning_rate()))
            with self.ranks.together():
                if self.ranks.leads:
                    check_divergence(state, self.folder, self.settings.learning_rate)
        self.averaging.update(state.step)
        self.num_tokens += count
        self.update_seconds += time.monotonic() - start
        speed = self.num_tokens / self.update_seconds
        return {"step": state.step, "loss": loss, "norm": norm, "tokens_per_second": speed}

    def learning_rate(self) -> float:
        """Return the learning rate of the next update."""
        progress = ScheduleProgress(self.state.step, self.stopping.schedule_share(self.state))
        return learning_rate(self.settings, progress) * self.state.rate_factor

    def _next_rate(self) -> float | None:
        """Return the leader's learning rate of the next update; None if the run is over."""
        over, rate = self.ranks.agreed(self.stopping.is_over(self.state), self.learning_rate())
        return None if over else rate

    def validate(self, pool: WorkerPool) -> None:
        """Validate the averaged weights; the leader does, with the cores of those that wait."""
        if self.averaging.num_checkpoints:
            self.save_checkpoint()  # these weights are to be among those averaged
        sharded = self.updater.sharded
        if not (self.ranks.leads or sharded):
            return
        share, device = self.stopping.share(self.state), self.updater.device
        with ExitStack() as stack:
            stack.enter_context(self._averaged())
            if self.ranks.number > 1 and device.type == "cpu":
                pool = stack.enter_context(WorkerPool(cores(self.settings.threads)))
            if self.ranks.leads:
                self.validator.validate(self.network, device, pool, self.state, share)

    def save_checkpoint(self) -> None:
        """Write a checkpoint, if the run has a folder."""
        self.checkpoints.save(self.state)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Give the network its averaged weights inside the context; gather them if it is cut."""
        with self.averaging.averaged():
            if self.updater.sharded:
                self.updater.sharded.gather_into(self.network)
                if self.averaging.num_checkpoints and self.ranks.leads:
                    self.averaging.apply()
            yield

    def outcome(self, finished: bool) -> TrainOutcome:
        """Return how the run stands, with the figures of the weights kept."""
        state, speed = self.state, self.num_tokens / self.update_seconds
        validation = (self.folder and state.best_validation) or state.last_validation
        epochs = self.data.train.epochs_done(state.cursor)
        return TrainOutcome(finished, state.step, state.seconds, epochs, validation, speed)

    def _report(self, figures: dict[str, Any]) -> None:
        figures["rate"] = self.learning_rate()
        planned = self.stopping.schedule_share(self.state)
        share = self.stopping.share(self.state) if planned >= 1 else planned
        seconds_left = self.state.seconds * (1 - share) / max(share, 1e-6)
        figures.update(share=share, seconds_left=seconds_left)
        self.reporter.update(share, seconds_left, figures)

    def _finish(self, pool: WorkerPool, log: Log) -> None:
        """Validate and save the last weights, then give the network the best ones."""
        self.save_checkpoint()
        leads = self.ranks.leads
        validated = self.state.last_validation.get("step") == self.state.step
        validates, unvalidated = self.ranks.any(
            leads and (not validated or self.validator.weights_missing),
            leads and self.data.dev is None,
        )
        if validates:
            self.validate(pool)
        self.state.ended = self.stopping.limits
        self.save_checkpoint()
        self.validator.report(log)
        if unvalidated and (self.folder or self.updater.sharded):
            with self._averaged():
                if self.folder:
                    save_weights(self.folder / WEIGHTS, self.network.state_dict())
        if not self.folder:
            self.averaging.apply()
            return
        put_weights(self.network, load_weights(self.folder / WEIGHTS), str(self.folder))
