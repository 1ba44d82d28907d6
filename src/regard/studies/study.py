"""What a study takes and what it returns.

A study is a module with a function `run(options) -> Findings`; `regard.studies.STUDIES` lists
them. It measures the claims of one subject and reports for each what was claimed, what was measured
and whether it holds; a claim that does not hold is a result like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.views.charts.panels import Bilingual, Panel, Words


def ignore(_: str) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class StudyOptions:
    """How to run a study.

    quick   smaller sizes, fewer seeds: seconds instead of minutes, for tests and a trial
    seed    the first random seed; a study of several seeds counts up from it
    data    the user's own data, for the studies that take it
    models  folder in which trained models are kept for the studies that share them; None: each
            study trains its own
    report  is called with a short text at each step, to show progress
    """

    quick: bool = False
    seed: int = 0
    data: Path | None = None
    models: Path | None = None
    report: Callable[[str], None] = field(default=ignore, compare=False)

    def seeds(self, full: int, quick: int = 1) -> range:
        """The seeds of a study that trains `full` times, or `quick` times with `quick`."""
        return range(self.seed, self.seed + (quick if self.quick else full))


@dataclass(frozen=True)
class Claim:
    """A claim of the documents: what is claimed, what was measured, and whether it holds."""

    claimed: Bilingual
    measured: Bilingual
    holds: bool


@dataclass(frozen=True)
class FindingsTable:
    """A table of a study; cells are words or numbers, which are rounded when written."""

    title: Words
    columns: Sequence[Words]
    rows: Sequence[Sequence[Words | float | int | None]]


@dataclass(frozen=True)
class Findings:
    """The result of a study.

    caption  one sentence under the figure that describes it
    values   the numbers behind it, as JSON
    """

    caption: Bilingual
    claims: Sequence[Claim]
    tables: Sequence[FindingsTable]
    panels: Sequence[Panel]
    values: dict[str, Any]
