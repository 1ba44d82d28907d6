"""Checkpoints: the state of a run on disk, from which it continues as if never stopped.

`checkpoints/step-N/` holds `tensors.safetensors` and `state.json` with checksums of both; the file
`latest` names the newest complete one. A folder gets its name only when all of it is on the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.command import command
from regard.config.stored import CONFIG
from regard.errors import InputError, StorageError
from regard.folder import load_weights, save_weights
from regard.storage import checksum, replace_file, replace_folder, sync_folder
from regard.training.optimizers.optimizers import Optimizers
from regard.training.processes.sharded_tensors import as_part_of

TENSORS, STATE, LATEST = "tensors.safetensors", "state.json", "latest"
MODEL, BUFFER = "model.", "buffer."
_MOMENTS = ("step", "exp_avg", "exp_avg_sq"), ("momentum", "turn")  # of Adam, of Muon
_OLD_NAMES = {
    "cursor": "place",
    "num_validations": "looks",
    "last_validation": "last_look",
    "best_validation": "best_look",
}
"""Of the state's fields, as checkpoints had them until 0.2."""


class DataCursor(NamedTuple):
    """Position of the next batch: its epoch, and its number within the epoch."""

    epoch: int = 0
    number: int = 0


@dataclass
class RunState:
    """Where a run is; with the tensors, all that a checkpoint holds.

    ended            the limits (minutes, steps, epochs) that the run has reached, once it has
    nonfinite        updates in a row, up to now, whose loss or gradient was not finite
    num_skipped      all such updates of the run
    rate_factor      what they have lowered the learning rate to, as a share of the schedule's
    """

    step: int = 0
    cursor: DataCursor = field(default_factory=DataCursor)
    seconds: float = 0.0
    num_validations: int = 0
    best: list[float] | None = None
    since_best: int = 0
    target_met: bool = False
    ended: list[float | None] | None = None
    nonfinite: int = 0
    num_skipped: int = 0
    rate_factor: float = 1.0
    last_validation: dict[str, Any] = field(default_factory=dict)
    best_validation: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunState:
        """Return the state that a checkpoint's `state.json` describes."""
        names = {f.name: _OLD_NAMES.get(f.name, "") for f in fields(cls)}
        known = {
            name: values[name] if name in values else values[old]
            for name, old in names.items()
            if name in values or old in values
        }
        if not isinstance(known.get("best"), list):  # as format 1 had it until 0.1
            known["best"] = None
        return cls(**{**known, "cursor": DataCursor(*known["cursor"])})


def capture(
    network: nn.Module, optimizers: Optimizers, mean: Sequence[Tensor] | None
) -> dict[str, Tensor]:
    """Return the weights, their running mean, buffers and the optimizer's moments, not copied."""
    tensors: dict[str, Tensor] = {}
    for number, (name, parameter) in enumerate(_trained(network)):
        tensors[f"{MODEL}{name}"] = parameter
        if mean:
            tensors[f"mean.{name}"] = as_part_of(mean[number], parameter)
        for part, value in optimizers.state(parameter).items():
            tensors[f"optimizer.{part}.{name}"] = as_part_of(value, parameter)
    return tensors | {f"{BUFFER}{name}": buffer for name, buffer in network.named_buffers()}


@torch.no_grad()
def restore(
    tensors: Mapping[str, Tensor],
    network: nn.Module,
    optimizers: Optimizers,
    mean: Sequence[Tensor] | None,
) -> None:
    """Copy what `capture` returned into the network, its mean and its optimizers."""
    for name, buffer in network.named_buffers():  # random features and hashes, drawn once
        if f"{BUFFER}{name}" in tensors:
            buffer.copy_(tensors[f"{BUFFER}{name}"])
    for number, (name, parameter) in enumerate(_trained(network)):
        parameter.copy_(tensors[f"{MODEL}{name}"])
        if mean:  # a run without a mean so far begins it with these weights
            mean[number].copy_(tensors.get(f"mean.{name}", tensors[f"{MODEL}{name}"]))
        for moments in _MOMENTS:
            if all(f"optimizer.{part}.{name}" in tensors for part in moments):
                found = {part: tensors[f"optimizer.{part}.{name}"] for part in moments}
                copies = {part: t.to(parameter.device).clone() for part, t in found.items()}
                optimizers.set_state(parameter, copies)


def read_weights(folder: Path, count: int) -> list[dict[str, Tensor]]:
    """Return the model's weights in each of the `count` newest checkpoints that are whole."""
    paths = [folder / "checkpoints" / f"step-{n}" for n in steps(folder)[-count:]]
    found = [(path, state) for path in paths if (state := _verified(path)) is not None]
    return [
        {n.removeprefix(MODEL): t for n, t in _tensors(*each).items() if n.startswith(MODEL)}
        for each in found
    ]


def _trained(network: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return [(name, p) for name, p in network.named_parameters() if p.requires_grad]


def write_checkpoint(
    folder: Path,
    step: int,
    tensors: Mapping[str, Tensor] | Callable[[Path], dict[str, str]],
    state: Mapping[str, Any],
    keep: int,
) -> Path:
    """Write `checkpoints/step-N`, name it in `latest`, and remove all but the `keep` newest.

    `tensors` may be a function that writes them into a folder and returns the files' checksums.
    If the disk is full, nothing of it stays, and what was saved before stays as it was.
    """
    home = folder / "checkpoints"
    final, draft = home / f"step-{step}", home / f".step-{step}.{os.getpid()}.part"
    try:
        home.mkdir(exist_ok=True)
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        whole = {**state, "step": step, **_write_tensors(draft, tensors)}
        whole["state_sha256"] = _state_checksum(whole)
        replace_file(draft / STATE, json.dumps(whole, indent=1) + "\n")
        replace_folder(draft, final)  # one of a run that was stopped after it was written
    except (OSError, StorageError):
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(home)
    replace_file(folder / LATEST, final.name + "\n")
    # Later ones are left from before the run went back to an older checkpoint.
    earlier = [number for number in steps(folder) if number <= step]
    for other in set(steps(folder)) - set(earlier[-keep:]):
        shutil.rmtree(home / f"step-{other}", ignore_errors=True)
    for remains in home.glob(".step-*"):
        shutil.rmtree(remains, ignore_errors=True)
    return final


def _write_tensors(
    draft: Path, tensors: Mapping[str, Tensor] | Callable[[Path], dict[str, str]]
) -> dict[str, Any]:
    """Write tensors; return their checksums as they stand in `state.json`."""
    if callable(tensors):
        return {"files": tensors(draft)}
    save_weights(draft / TENSORS, tensors)
    return {"sha256": checksum(draft / TENSORS)}


@contextmanager
def saving(folder: Path | None) -> Iterator[None]:
    """Inside, a file of a run that cannot be written is one sentence with what is saved so far."""
    try:
        yield
    except (OSError, StorageError) as error:
        if folder is None or isinstance(error, BrokenPipeError):
            raise
        cause = error.__cause__ or error
        text = getattr(cause, "strerror", None) or str(cause).rpartition("I/O error: ")[2]
        reason = text.partition(" (os error")[0].rstrip(".").lower()
        saved = f"up to update {steps(folder)[-1]} it" if steps(folder) else "nothing of it"
        resumed = f"continue with `{command('train', '--resume', folder)}`"
        again = resumed if (folder / CONFIG).is_file() else "start it again"
        raise StorageError(
            f"{folder}: the run cannot be written ({reason}); {saved} is saved; make room, then "
            f"{again}."
        ) from error


def steps(folder: Path) -> list[int]:
    """Return the numbers of the checkpoints in a folder, oldest first."""
    paths = [p for p in (folder / "checkpoints").glob("step-*") if (p / STATE).is_file()]
    numbers = [path.name.removeprefix("step-") for path in paths]
    return sorted(int(number) for number in numbers if number.isdecimal())


def has_checkpoint(folder: Path) -> bool:
    """Whether a run in `folder` has saved anything, be it damaged."""
    return (folder / LATEST).is_file() or bool(steps(folder))


def read_checkpoint(
    folder: Path, report: Callable[[str], None] = lambda line: None
) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Return tensors and state of the newest complete checkpoint; None if there is none yet.

    `report` is called with a sentence if a newer one is damaged.
    """
    found = find_checkpoint(folder, report)
    return None if found is None else (_tensors(*found), found[1])


def find_checkpoint(
    folder: Path, report: Callable[[str], None] = lambda line: None
) -> tuple[Path, dict[str, Any]] | None:
    """Return path and state of the newest complete checkpoint; None if there is none yet.

    `report` is called with a sentence if a newer one is damaged.
    """
    if not has_checkpoint(folder):
        return None
    newest = [f"step-{n}" for n in sorted(steps(folder), reverse=True)]
    try:
        named = (folder / LATEST).read_text("utf-8", errors="replace").strip()
    except FileNotFoundError:
        named = newest[0]
    # One that was to replace another of its step may be complete without having its name yet.
    drafts = sorted(path.name for path in (folder / "checkpoints").glob(".step-*.part"))
    order = [named, *drafts, *(name for name in newest if name != named)]
    for name in order:
        path = folder / "checkpoints" / name
        state = _verified(path)
        if state is not None:
            if name != named and name not in drafts:
                report(
                    f"{folder / 'checkpoints' / named}: the checkpoint is damaged or incomplete; "
                    f"the run goes back to {name}, the newest that is whole."
                )
            return path, state
    raise InputError(
        f"{folder}: all checkpoints are damaged ({', '.join(order)}); start anew elsewhere."
    )


def _verified(path: Path) -> dict[str, Any] | None:
    """Return the state of a checkpoint, or None if any of its files is damaged."""
    try:
        state: dict[str, Any] = json.loads((path / STATE).read_text("utf-8"))
        sums = state["files"] if "files" in state else {TENSORS: state["sha256"]}
        if any(checksum(path / name) != value for name, value in sums.items()):
            return None
        if _state_checksum(state) != state.get("state_sha256", _state_checksum(state)):
            return None
        return state
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _tensors(path: Path, state: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the tensors of a checkpoint, which may be in parts."""
    if "files" not in state:
        return load_weights(path / TENSORS)
    from regard.training.processes.sharded_checkpoint import read_all_parts

    return read_all_parts(path)


@contextmanager
def matching(path: Path) -> Iterator[None]:
    """Raise an `InputError` where what a file holds does not match the run's settings."""
    try:
        yield
    except (KeyError, IndexError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: what it holds does not fit the settings of the run ({reason}); the files are "
            "of different runs, or a setting was changed that a run cannot change."
        ) from error


def _state_checksum(state: Mapping[str, Any]) -> str:
    """Return the checksum of all in a state but the checksum itself."""
    rest = {name: value for name, value in state.items() if name != "state_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
