"""Validation: figures of the development set, and which weights are the best so far."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from regard.config import TrainingSettings
from regard.folder import WEIGHTS, save_weights
from regard.training.checkpoint import RunState
from regard.training.logs.samples import ValidationSample
from regard.training.report import Log, Reporter
from regard.worker_pool import WorkerPool

VALIDATIONS = 10  # in a run, unless settings say otherwise
MIN_INTERVAL = 15  # with a time budget, time between two validations, in units of a validation's


@dataclass(frozen=True)
class ValidationResult:
    """Figures of the development set.

    loss        mean loss of a label, in nats, without smoothing
    perplexity  e^loss
    accuracy    share of labels predicted exactly
    samples     what the model made of some examples
    """

    loss: float
    perplexity: float
    accuracy: float
    samples: tuple[ValidationSample, ...] = field(default=(), kw_only=True, repr=False)

    def figures(self) -> dict[str, Any]:
        """Return all figures by name, without the samples."""
        names = (one.name for one in fields(self) if one.name != "samples")
        return {name: getattr(self, name) for name in names}

    @property
    def goodness(self) -> tuple[float, float]:
        """What is compared between validations; larger is better."""
        return 0.0, -self.loss

    @property
    def compared_by(self) -> str:
        """What `goodness` is, for the log."""
        return "the loss"

    @property
    def exact_match(self) -> float | None:
        """Share of examples that are predicted exactly, for `training.target_exact_match`."""
        return None

    def summary(self) -> list[str]:
        """Return the figures that are printed during training."""
        return [f"dev loss {self.loss:.3f}", f"perplexity {self.perplexity:.2f}"]


def perplexity(loss: float) -> float:
    """Return e^loss, bounded."""
    return math.exp(min(loss, 50.0))


class DevelopmentSet(Protocol):
    """The development set of any kind of model."""

    def validate(self, network: Any, device: torch.device, pool: WorkerPool) -> ValidationResult:
        """Measure the network, which is in evaluation mode."""
        ...


class Validator:
    """Decides when to validate, keeps the best result, and saves the weights that had it."""

    def __init__(
        self,
        dev: DevelopmentSet | None,
        settings: TrainingSettings,
        folder: Path | None,
        reporter: Reporter,
    ) -> None:
        self.dev, self.settings, self.folder, self.reporter = dev, settings, folder, reporter
        self.seconds = 0.0  # that the last validation took
        self._ended_at = 0.0
        self._unreported: tuple[int, float, ValidationResult, bool] | None = None

    @property
    def weights_missing(self) -> bool:
        """Whether the folder has no weights yet."""
        return self.folder is not None and not (self.folder / WEIGHTS).is_file()

    def should_validate(self, state: RunState, share: float) -> bool:
        """Whether to validate after this update; `share` of the run is over."""
        if self.dev is None or share >= 1:  # the last validation comes after the last update
            return False
        if self.settings.validate_every:
            return state.step % self.settings.validate_every == 0
        if int(share * VALIDATIONS) <= state.num_validations:
            return False
        timed = self.settings.minutes is not None  # then validations must not use up the budget
        return not timed or state.seconds - self._ended_at >= MIN_INTERVAL * self.seconds

    def validate(
        self,
        network: nn.Module,
        device: torch.device,
        pool: WorkerPool,
        state: RunState,
        share: float,
    ) -> None:
        """Measure the weights as they are, and save them if they are the best so far.

        `report` prints the result, once the state of the run is saved too.
        """
        if self.dev is None:
            return
        started = time.monotonic()
        network.eval()
        try:
            result = self.dev.validate(network, device, pool)
        finally:
            network.train()
        goodness, compared_by = list(result.goodness), result.compared_by
        target, exact = self.settings.target_exact_match, result.exact_match
        if target is not None and exact is not None:
            goodness, compared_by = [1.0, exact], "exact matches"
            decayed = state.step >= (self.settings.schedule_steps or 0)
            state.target_met = decayed and exact >= target  # the last updates generalize best
        better = state.best is None or goodness > state.best or self.weights_missing
        if better and self.folder:
            save_weights(self.folder / WEIGHTS, network.state_dict())
        self._unreported = (state.step, state.seconds, result, better)
        if not state.last_validation:
            self.reporter.say(f"(best) marks the weights that are kept; by {compared_by}.")
        state.since_best = 0 if better else state.since_best + 1
        state.last_validation = {"step": state.step, **result.figures()}
        if better:
            state.best, state.best_validation = goodness, state.last_validation
        state.num_validations = max(state.num_validations + 1, int(share * VALIDATIONS))
        self.seconds = time.monotonic() - started
        self._ended_at = state.seconds + self.seconds

    def report(self, log: Log) -> None:
        """Print and log the last validation, if that has not been done."""
        if self._unreported is None:
            return
        step, seconds, result, better = self._unreported
        self._unreported = None
        line = "  ".join([f"step {step}", *result.summary()])
        self.reporter.say(f"{line}  (best)" if better else line)
        figures = {f"dev_{name}": value for name, value in result.figures().items()}
        log.write(step, {**figures, "seconds": seconds})
        log.write_samples(step, seconds, result.samples)
