"""Progress on stderr: a bar on a terminal, a log line at intervals elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class LineProgress:
    """Shows how many lines (or other units) are done, and how many per second.

    total  the number of units, None if unknown
    label  the name of the work
    done   units that were done before
    every  seconds between two log lines
    """

    def __init__(
        self,
        total: int | None,
        *,
        unit: str = "lines",
        label: str = "",
        done: int = 0,
        every: float = 10.0,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from rich.console import Console

        self.total, self.unit, self.done, self.every = total, unit, done, every
        self._label = f"{label}: " if label else ""
        self.console = console or Console(stderr=True, highlight=False)
        self._clock = clock
        self._before, self._begun, self._logged_at = done, clock(), clock()
        self._logged = False
        self._bar: Progress | None = None

    def advance(self, count: int) -> None:
        """Count some more units as done."""
        self.done += count
        if self.console.is_terminal:
            self._show()
        elif self._clock() - self._logged_at >= self.every:
            self._logged_at, self._logged = self._clock(), True
            self.console.print(self._text(), soft_wrap=True)

    def __exit__(self, *_: object) -> None:
        """Remove the bar; if anything was shown, print a summary."""
        if self._bar is not None:
            self._bar.stop()
        if self._bar is not None or self._logged:
            seconds = self._clock() - self._begun
            took = timedelta(seconds=round(seconds))
            self.console.print(
                f"{self._label}{self.done - self._before:,} {self.unit} in {took} "
                f"({self._rate():,.0f} {self.unit}/s)",
                soft_wrap=True,
            )

    def __enter__(self) -> LineProgress:
        if self.console.is_terminal:
            self._show()
        return self

    def _rate(self) -> float:
        return (self.done - self._before) / max(1e-9, self._clock() - self._begun)

    def _text(self) -> str:
        rate = self._rate()
        of = f" of {self.total:,}" if self.total is not None else ""
        text = f"{self._label}{self.done:,}{of} {self.unit}, {rate:,.0f} {self.unit}/s"
        if self.total is None or not rate:
            return text
        return f"{text}, {timedelta(seconds=round((self.total - self.done) / rate))} left"

    def _show(self) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                BarColumn(bar_width=None),
                TextColumn("{task.description}"),
                console=self.console,
                transient=True,
            )
            self._bar.add_task("", total=self.total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self.done, description=self._text())
