"""The learning rate: warm-up, decay, and shorter cycles after the schedule's end."""

from __future__ import annotations

import math
from typing import NamedTuple

from regard.config import TrainingSettings

CYCLES = 4  # a cycle after the schedule's end is this part of the schedule


class ScheduleProgress(NamedTuple):
    """Position in the schedule: updates made, and the share of it (0 to 1) that is over."""

    step: int
    share: float


def learning_rate(settings: TrainingSettings, progress: ScheduleProgress) -> float:
    """Return the rate of the update after `progress`.

    It rises linearly over the warm-up (in updates, or below 1 a share of the run), then falls by
    1/√step, along a half cosine or linearly to zero, or is constant. A run that continues after
    `schedule_steps` has shorter cycles, each falling linearly from `restart_rate` to zero.

    >>> run = TrainingSettings(steps=100, learning_rate=1.0, warmup=10, schedule="linear")
    >>> [round(learning_rate(run, ScheduleProgress(n, n / 100)), 2) for n in (0, 9, 55, 99)]
    [0.1, 1.0, 0.5, 0.01]
    """
    planned = settings.schedule_steps
    if planned and settings.restart_rate and progress.step >= planned:
        cycle = max(1, planned // CYCLES)
        left = 1 - (progress.step - planned) % cycle / cycle
        return settings.learning_rate * settings.restart_rate * left
    by_share = settings.warmup < 1
    begun = progress.share / settings.warmup if by_share and settings.warmup else 1.0
    if not by_share:
        begun = (progress.step + 1) / settings.warmup
    if begun < 1:  # never exactly zero, or the first update by share would do nothing
        return settings.learning_rate * max(begun, 1e-3)
    return settings.learning_rate * _after(settings, progress, begun, by_share)


def _after(
    settings: TrainingSettings, progress: ScheduleProgress, begun: float, by_share: bool
) -> float:
    """Return the factor of the rate after the warm-up; `begun` is in units of the warm-up."""
    if settings.schedule == "constant":
        return 1.0
    if settings.schedule == "inverse_sqrt":
        return 1 / math.sqrt(begun)
    start = settings.warmup if by_share else _share_of_warmup(settings, progress)
    left = 1 - min(1.0, max(0.0, (progress.share - start) / max(1e-9, 1 - start)))
    return left if settings.schedule == "linear" else (1 - math.cos(math.pi * left)) / 2


def _share_of_warmup(settings: TrainingSettings, progress: ScheduleProgress) -> float:
    """Estimate the share of the run that a warm-up in updates takes."""
    return min(1.0, progress.share * settings.warmup / (progress.step + 1))
