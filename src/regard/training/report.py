"""Progress of a run: a bar on a terminal, lines elsewhere, and figures in files."""

from __future__ import annotations

import importlib.util
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from regard.storage import replace_file
from regard.training.logs.samples import ValidationSample

LOG, SAMPLES = "metrics.jsonl", "samples.jsonl"


class Reporter(Protocol):
    """Receives training progress."""

    def say(self, line: str) -> None:
        """Print a line."""

    def update(self, share: float, seconds_left: float, figures: dict[str, Any]) -> None:
        """Show the progress after an update: the share of the run that is over, and figures."""

    def close(self) -> None:
        """End the display."""


class Silent:
    """Reports nothing."""

    def say(self, line: str) -> None:
        """Print nothing."""

    def update(self, share: float, seconds_left: float, figures: dict[str, Any]) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Do nothing."""


class Spoken:
    """Shows a progress bar on a terminal; elsewhere prints a line every `every` seconds."""

    def __init__(self, console: Console | None = None, every: float = 30.0) -> None:
        self.console = console or Console(stderr=True)
        self.every, self._last = every, time.monotonic()
        self._bar: Progress | None = None

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def update(self, share: float, seconds_left: float, figures: dict[str, Any]) -> None:
        """Move the bar, or print a line if the last one is old enough."""
        text = progress_text(seconds_left, figures)
        if self.console.is_terminal:
            if self._bar is None:
                self._bar = Progress(
                    BarColumn(bar_width=None),
                    TextColumn("{task.percentage:3.0f} %"),
                    TextColumn("{task.description}"),
                    console=self.console,
                    transient=True,
                )
                self._bar.add_task("", total=1.0)
                self._bar.start()
            self._bar.update(self._bar.task_ids[0], completed=share, description=text)
        elif time.monotonic() - self._last >= self.every:
            self._last = time.monotonic()
            self.say(f"{share:4.0%}  {text}")

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def progress_text(seconds_left: float, figures: dict[str, Any]) -> str:
    """Return the progress of a run in one line."""
    return (
        f"step {figures['step']}  loss {figures['loss']:.3f}  "
        f"{figures['tokens_per_second']:,.0f} tokens/s  {clock(seconds_left)} left"
    )


class Log:
    """Figures in `metrics.jsonl` of a folder and for TensorBoard, and samples in `samples.jsonl`.

    Without a folder, nothing is written. `regard watch` reads both files while they grow.
    """

    def __init__(
        self,
        folder: Path | None,
        tensorboard: bool,
        step: int = 0,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._folder, self._say, self._failed = folder, say, False
        self._file: TextIO | None = None
        self._board: Any = None
        if folder is None:
            return
        for name in (LOG, SAMPLES):
            _drop_after(folder / name, step)
        self._file = (folder / LOG).open("a", encoding="utf-8")
        if tensorboard and importlib.util.find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step or None)

    def write(self, step: int, figures: dict[str, Any]) -> None:
        """Write the figures of an update, or of a validation."""
        known = {name: value for name, value in figures.items() if _is_known(value)}
        with self._surviving():
            if self._file is not None:
                self._file.write(json.dumps({"step": step, **known}) + "\n")
                self._file.flush()
            if self._board is not None:
                for name, value in known.items():
                    if isinstance(value, int | float) and name != "step":
                        self._board.add_scalar(name, value, step)

    def write_samples(self, step: int, seconds: float, samples: Sequence[ValidationSample]) -> None:
        """Write what a validation made of some examples."""
        if self._folder is not None and samples:
            row = {"step": step, "seconds": seconds, "samples": [asdict(one) for one in samples]}
            path = self._folder / SAMPLES
            with self._surviving(), path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")

    def close(self) -> None:
        """Close the files."""
        for file in (self._file, self._board):
            if file is not None:
                with self._surviving():
                    file.close()

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        """Inside, a full disk is reported once: curves are not worth the end of a run."""
        try:
            yield
        except OSError as error:
            if not self._failed:
                self._failed = True
                self._say(f"Figures of the run cannot be written now ({error.strerror or error}).")


def _drop_after(path: Path, step: int) -> None:
    """Drop lines of updates after `step`, which are going to be made again."""
    if path.is_file():
        lines = path.read_text("utf-8", errors="replace").splitlines(keepends=True)
        replace_file(path, "".join(line for line in lines if _step(line) <= step))


def clock(seconds: float) -> str:
    """Format seconds as hours, minutes and seconds.

    >>> clock(59), clock(61.4), clock(7322)
    ('0:59', '1:01', '2:02:02')
    """
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _is_known(value: Any) -> bool:
    """Whether a figure has a value that JSON can hold."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _step(line: str) -> int:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):  # cut by a kill
        return 1 << 62
