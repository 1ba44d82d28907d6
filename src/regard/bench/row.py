"""A benchmark result: ours and the peer's figure, their ratio, and the bar."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_SENSE: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Row:
    """`ratio` is compared with the bar, e.g. "<= 1.05"; without a peer, `ours` is."""

    name: str
    ours: float
    peer: float | None
    ratio: float | None
    sense: str
    bar: float
    spread: tuple[float, float] | None = None
    """The smallest and the largest ratio of the rounds, where they were measured."""

    @property
    def holds(self) -> bool:
        """Whether the bar is reached."""
        measured = self.ours if self.ratio is None else self.ratio
        return _SENSE[self.sense](measured, self.bar)

    def as_json(self) -> dict[str, Any]:
        """The row as a dictionary for JSON."""
        spread = {} if self.spread is None else {"spread": list(self.spread)}
        return {
            "name": self.name,
            "ours": self.ours,
            "peer": self.peer,
            "ratio": self.ratio,
            **spread,
            "bar": f"{self.sense} {self.bar:g}",
            "holds": self.holds,
        }


def print_table(title: str, rows: list[Row]) -> None:
    """Print the rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("what")
    for column in ("regard", "peer", "ratio", "bar"):
        table.add_column(column, justify="right")
    table.add_column("holds", justify="center")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.ours:.4g}",
            "–" if row.peer is None else f"{row.peer:.4g}",
            "–" if row.ratio is None else f"{row.ratio:.3g}{_spread(row)}",
            f"{'≤' if row.sense == '<=' else '≥'} {row.bar:g}",
            "[green]yes[/]" if row.holds else "[red]no[/]",
        )
    Console().print(table)


def _spread(row: Row) -> str:
    return "" if row.spread is None else f" ({row.spread[0]:.3g} to {row.spread[1]:.3g})"
