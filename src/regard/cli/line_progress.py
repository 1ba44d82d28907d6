"""How far a command is, on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class LineProgress:
    """Counts lines (or what `unit` says) that are done, and says how many a second.

    total  how many there are, None if that is not known
    label  what is being done to them
    done   how many were done before
    every  seconds between two lines where there is no terminal
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
        self._before, self._begun, self._said = done, clock(), clock()
        self._spoken = False
        self._bar: Progress | None = None

    def advance(self, count: int) -> None:
        """Say that so many more are done."""
        self.done += count
        if self.console.is_terminal:
            self._show()
        elif self._clock() - self._said >= self.every:
            self._said, self._spoken = self._clock(), True
            self.console.print(self._text(), soft_wrap=True)

    def close(self) -> None:
        """Take the bar away; if anything was shown, say what it came to."""
        if self._bar is not None:
            self._bar.stop()
        if self._bar is not None or self._spoken:
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

    def __exit__(self, *_: object) -> None:
        self.close()

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
                BarColumn(bar_width=None), TextColumn("{task.description}"),
                console=self.console, transient=True,
            )  # fmt: skip
            self._bar.add_task("", total=self.total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self.done, description=self._text())
