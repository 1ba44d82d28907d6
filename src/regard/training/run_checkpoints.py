"""The checkpoints of a run in progress: what is saved of it, by which process, and loaded again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from regard.training.averaging import Averaging
from regard.training.checkpoint import (
    MODEL,
    RunState,
    capture,
    find_checkpoint,
    matching,
    read_checkpoint,
    restore,
    write_checkpoint,
)
from regard.training.processes.ranks import Ranks
from regard.training.update import Updater


class RunCheckpoints:
    """Saves and loads weights, moments, means and the state of a run.

    The leader does, in one file; if the model is cut over the processes, each does with its part.
    """

    def __init__(
        self, updater: Updater, averaging: Averaging, ranks: Ranks, folder: Path | None
    ) -> None:
        self.updater, self.averaging, self.ranks, self.folder = updater, averaging, ranks, folder
        self.keep = max(updater.settings.keep, averaging.num_checkpoints)

    def save(self, state: RunState) -> None:
        """Write a checkpoint, if the run has a folder."""
        if self.updater.sharded is None:
            if self.folder:
                self._write(state, self._captured())
            return
        from regard.training.processes.sharded_checkpoint import write_parts

        tensors = self._captured()
        if self.folder:
            self._write(state, lambda draft: write_parts(draft, tensors, self.ranks))
        else:
            write_parts(None, tensors, self.ranks)

    def load(self, folder: Path, report: Callable[[str], None]) -> RunState | None:
        """Load the newest checkpoint of a folder, which the leader chooses, if there is one."""
        if self.updater.sharded is not None:
            return self._load_parts(folder, report)
        with self.ranks.together():
            found = read_checkpoint(folder, report) if self.ranks.leads else None
        checkpoint = self.ranks.sent(*(found or (None,)))
        if checkpoint is None:
            return None
        tensors, state = checkpoint
        with matching(folder / "checkpoints"):
            restore(tensors, self.updater.network, self.updater.optimizers, self.averaging.mean)
            return RunState.from_json(state)

    def _load_parts(self, folder: Path, report: Callable[[str], None]) -> RunState | None:
        """Load this process' part of a checkpoint, be it in parts or in one file."""
        from regard.training.processes.sharded_checkpoint import read_parts

        with self.ranks.together():
            found = find_checkpoint(folder, report) if self.ranks.leads else None
        checkpoint = self.ranks.sent({} if found else None, found)
        if checkpoint is None:
            return None
        path, state = checkpoint[1]
        optimizers = self.updater.optimizers
        named = dict(self.updater.trained_network.named_parameters())
        for parameter in named.values():
            optimizers.set_state(parameter, optimizers.initial_state(parameter))
        with matching(path):
            tensors = self._captured()
            saved = read_parts(path, tensors)
            missing = {name for name in tensors if name.startswith(MODEL)} - saved
            if missing:
                raise KeyError(min(missing))
            self._complete(named, saved)
            return RunState.from_json(state)

    @torch.no_grad()
    def _complete(self, named: dict[str, torch.nn.Parameter], saved: set[str]) -> None:
        """Begin what was not saved: moments anew, and the mean with the weights."""
        mean = self.averaging.mean
        for number, (name, parameter) in enumerate(named.items()):
            optimizers = self.updater.optimizers
            moments = optimizers.state(parameter)
            if any(f"optimizer.{part}.{name}" not in saved for part in moments):
                optimizers.set_state(parameter, optimizers.initial_state(parameter))
            if mean and f"mean.{name}" not in saved:
                mean[number].copy_(self.updater.parameters[number])

    def _captured(self) -> dict[str, Tensor]:
        updater = self.updater
        return capture(updater.trained_network, updater.optimizers, self.averaging.mean)

    def _write(
        self, state: RunState, tensors: dict[str, Tensor] | Callable[[Path], dict[str, str]]
    ) -> None:
        assert self.folder is not None
        write_checkpoint(self.folder, state.step, tensors, asdict(state), self.keep)
