"""Where a run is, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from regard.training.place import Place


@dataclass
class State:
    """Where a run is; with the tensors, all that a checkpoint holds.

    `ended` has the limits (minutes, steps, epochs) that the run came to, once it has.
    """

    step: int = 0
    place: Place = field(default_factory=Place)
    seconds: float = 0.0
    looks: int = 0
    best: list[float] | None = None
    since_best: int = 0
    target_met: bool = False
    ended: list[float | None] | None = None
    last_look: dict[str, Any] = field(default_factory=dict)
    best_look: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a run ended: over, or stopped by hand; after how many updates and seconds."""

    finished: bool
    step: int
    seconds: float
    epochs: float
    look: dict[str, Any]
    tokens_per_second: float
