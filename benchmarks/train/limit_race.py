"""The share of the limit that training reaches: of the bare matrix products of the same batches.

Short rounds alternate: products, training, products, training, …, products. A round's share is the
speed of training over that of the products just before or just after, whichever was faster, so that
a slow moment of the machine is no part of the limit. The products run in the settings that were the
fastest in first rounds. A median share above 1 is an error: the products were not the fastest.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from benchmarks.train import peers
from benchmarks.train.contender import Lap
from benchmarks.train.task import Task
from regard.bench.row import Row
from regard.errors import InputError

SHORT = 3  # short rounds for each round of other races
TRIALS = 2  # first rounds of each setting
KEPT = 2  # settings that alternate with training


class NotALimitError(InputError):
    """Training was faster than its own matrix products."""


@dataclass(frozen=True)
class LimitRace:
    """The row of training against its matrix products."""

    name: str
    bar: float
    task: Callable[[], Task] = field(repr=False)

    def __call__(self) -> Row:
        """Measure the median share of short rounds, and the median speeds."""
        task = self.task()
        warn_if_busy(task.threads)
        steps = -(-len(task.timed) // SHORT)
        num_rounds = SHORT * task.rounds
        task = replace(task, timed=task.timed[:steps], rounds=num_rounds + 1 + TRIALS)
        with tempfile.TemporaryDirectory(prefix="regard-bench-") as name, ExitStack() as open_:
            ours = open_.enter_context(peers.regard(task, Path(name)))
            settings = peers.warmed(ours)["settings"]
            precision = settings.partition(",")[0]
            log(f"regard: {ours.lap().speed:,.0f} tokens/s at first ({settings})")
            settings_of_limit: list[peers.AnyContender] = []
            for start in peers.limit(task, Path(name), precision):
                limit: peers.AnyContender = start()  # one after another: each tries many forms
                open_.enter_context(limit)
                peers.warmed(limit)
                settings_of_limit.append(limit)
            limits = _fastest(settings_of_limit)
            products, training = [_fastest_lap(limits)], []
            for number in range(num_rounds):
                training.append(ours.lap())
                products.append(_fastest_lap(limits))
                log(
                    f"round {number + 1}  regard: {training[-1].speed:,.0f} tokens/s, products: "
                    f"{products[-1].speed:,.0f} tokens/s"
                )
        return limit_row(self, training, products)


def limit_row(race: LimitRace, training: Sequence[Lap], products: Sequence[Lap]) -> Row:
    """The row of rounds of training, with one of products before and after each."""
    limits = [max(before.speed, after.speed) for before, after in pairwise(products)]
    speeds = [lap.speed for lap in training]
    shares = [mine / limit for mine, limit in zip(speeds, limits, strict=True)]
    share, spread = statistics.median(shares), (min(shares), max(shares))
    if share > 1:
        raise NotALimitError(
            f"training ran at {share:.2f} ({spread[0]:.2f} to {spread[1]:.2f}) of the speed of its "
            "matrix products, so these are no limit on this machine; find a faster form of them "
            "(benchmarks/train/products.py)."
        )
    mine, limit = statistics.median(speeds), statistics.median(limits)
    return Row(race.name, mine, limit, share, ">=", race.bar, spread)


def warn_if_busy(threads: int) -> None:
    """Warn, since torch's threads wait for each other in every operation."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > threads / 2:
        log(f"this machine is busy (load {load:.1f}): measure again when it is not")


def log(line: str) -> None:
    """Write a line about what is being measured."""
    print(f"  {line}", file=sys.stderr, flush=True)


def _fastest(limits: Sequence[peers.AnyContender]) -> list[peers.AnyContender]:
    """The settings that are the fastest in some rounds in turn, the best first."""
    laps = [[limit.lap() for limit in limits] for _ in range(TRIALS)]
    best = [max(lap.speed for lap in of_one) for of_one in zip(*laps, strict=True)]
    for limit, speed in zip(limits, best, strict=True):
        log(f"{limit.name}: {speed:,.0f} tokens/s at first")
    order = sorted(range(len(limits)), key=lambda number: -best[number])
    return [limits[number] for number in order[:KEPT]]


def _fastest_lap(limits: Sequence[peers.AnyContender]) -> Lap:
    return max((limit.lap() for limit in limits), key=lambda lap: lap.speed)
