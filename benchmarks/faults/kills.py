"""SIGKILL at random moments, during saves too, until the run is over; then the next run."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchmarks.faults.child import Child
from benchmarks.faults.workspace import (
    Workspace,
    continued_step,
    differing_files,
    reported_step,
    saved_step,
)

DURING_SAVES = 0.5  # the share of kills that wait for a save to begin


@dataclass
class KillFigures:
    """What came of the kills.

    during   kills by what was being written: a checkpoint, another file, nothing
    lost     times that a run went back behind what it had reported as saved
    unequal  finished runs that differ from the uninterrupted one
    unclear  processes that ended by themselves with an error
    """

    kills: int = 0
    runs: int = 0
    during: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    unequal: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)


class Kills:
    """At least `number` kills over as many runs as it takes."""

    def __init__(self, workspace: Workspace, number: int) -> None:
        self.workspace, self.number = workspace, number
        self._life = 0.0

    @cached_property
    def figures(self) -> KillFigures:
        """The figures, measured when they are first needed."""
        _ = self.workspace.uninterrupted
        start = time.monotonic()
        self.workspace.finish(self.workspace.new("timed"))
        self._life = time.monotonic() - start  # of a run that is not killed
        figures = KillFigures()
        while figures.kills < self.number:
            self._one_run(figures)
            print(
                f"  {figures.kills} kills, {dict(figures.during)}, {figures.runs} runs finished, "
                f"{time.monotonic() - start:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        for line in (*figures.lost, *figures.unequal, *figures.unclear):
            print(f"  {line}", file=sys.stderr, flush=True)
        return figures

    def _one_run(self, figures: KillFigures) -> None:
        """Kill and resume a new run until it is over."""
        folder, reported = self.workspace.new("killed"), 0
        while True:
            before = set(_drafts(folder))
            child = self.workspace.train(folder)
            if figures.kills < self.number:
                self._wait_for_moment(child, folder)
            else:
                child.wait()
            saved = max(saved_step(folder), reported_step(child.printed))  # as seen before the kill
            child.send(signal.SIGKILL)
            code, printed = child.wait(), child.printed
            continued = continued_step(printed)
            if continued is not None and continued < reported:
                figures.lost.append(f"{folder}: update {reported} was saved, back at {continued}")
            reported = max(reported, saved)
            if code == -signal.SIGKILL:
                figures.kills += 1
                figures.during[_written(set(_drafts(folder)) - before)] += 1
            elif code == 0:
                break
            else:
                figures.unclear.append(f"{folder}: exit code {code}: {printed.strip()[-300:]}")
                return
        figures.runs += 1
        different = differing_files(folder, self.workspace.uninterrupted)
        if different:
            figures.unequal.append(f"{folder}: {', '.join(different)} differ")

    def _wait_for_moment(self, child: Child, folder: Path) -> None:
        """Wait for a random time; half of the times, also for a save to begin."""
        random = self.workspace.random
        end = time.monotonic() + random.random() * self._life / 2
        child.wait_until(lambda: time.monotonic() >= end)
        if random.random() < DURING_SAVES:
            before = set(_drafts(folder))
            child.wait_until(lambda: not before >= set(_drafts(folder)))
            time.sleep(random.random() * 0.004)


def _drafts(folder: Path) -> list[str]:
    """Return the names of what is being written, or was when a process ended."""
    try:
        return [
            path.name for home in (folder / "checkpoints", folder) for path in home.glob(".*.part")
        ]
    except OSError:  # the folder is being created
        return []


def _written(drafts: set[str]) -> str:
    if any(name.startswith(".step-") for name in drafts):
        return "checkpoint"
    return "other file" if drafts else "no file"
