"""A row of a benchmark that is to be measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from regard.bench.row import Row


@dataclass(frozen=True)
class Measurement:
    """A row to be measured."""

    name: str
    measure: Callable[[], tuple[float, float | None]]  # ours and the peer's
    sense: str
    bar: float
    faster: bool = False  # the ratio is the speed-up, peer / ours

    def __call__(self) -> Row:
        """Measure the row."""
        ours, peer = self.measure()
        ratio = None if peer is None else peer / ours if self.faster else ours / peer
        return Row(self.name, ours, peer, ratio, self.sense, self.bar)
