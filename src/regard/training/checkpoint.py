"""A run's state on disk, so that it can go on as if it had never stopped.

`checkpoints/step-N/` holds `tensors.safetensors` and `state.json` with checksums of both; the file
`latest` names the newest whole one. A folder gets its name only when all in it is on the disk.
`checkpoints/checksums.json` tells whether what the run learns from is still what was written.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.errors import InputError
from regard.folder import load_weights, save_weights
from regard.storage import replace_file, sync_folder

TENSORS, STATE, LATEST = "tensors.safetensors", "state.json", "latest"
CHECKSUMS = "checksums.json"


def write_checkpoint(
    folder: Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any], keep: int
) -> Path:
    """Write `checkpoints/step-N`, name it in `latest`, and remove all but the `keep` newest."""
    home = folder / "checkpoints"
    home.mkdir(exist_ok=True)
    final, draft = home / f"step-{step}", home / f".step-{step}.{os.getpid()}.part"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    save_weights(draft / TENSORS, tensors)
    whole = {**state, "step": step, "sha256": _checksum(draft / TENSORS)}
    whole["state_sha256"] = _state_checksum(whole)
    replace_file(draft / STATE, json.dumps(whole, indent=1) + "\n")
    if final.exists():  # from a run that was stopped after this one was written
        shutil.rmtree(final)
    draft.rename(final)
    sync_folder(home)
    replace_file(folder / LATEST, final.name + "\n")
    for old in steps(folder)[:-keep]:
        shutil.rmtree(home / f"step-{old}", ignore_errors=True)
    for remains in home.glob(".step-*.part"):
        shutil.rmtree(remains, ignore_errors=True)
    return final


def steps(folder: Path) -> list[int]:
    """The numbers of the checkpoints there are, oldest first."""
    found = [p for p in (folder / "checkpoints").glob("step-*") if (p / STATE).is_file()]
    numbers = [path.name.removeprefix("step-") for path in found]
    return sorted(int(number) for number in numbers if number.isdecimal())


def read_checkpoint(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The newest whole checkpoint's tensors and state; None if there is none yet."""
    if not (folder / LATEST).is_file():
        return None
    named = (folder / LATEST).read_text("utf-8", errors="replace").strip()
    numbers = sorted(steps(folder), reverse=True)
    # One that was to replace another of its step may be whole without having got its name yet.
    drafts = sorted(path.name for path in (folder / "checkpoints").glob(".step-*.part"))
    order = [named, *drafts, *(f"step-{n}" for n in numbers if f"step-{n}" != named)]
    for name in order:
        read = _read(folder / "checkpoints" / name)
        if read is not None:
            return read
    raise InputError(
        f"{folder}: all checkpoints are damaged ({', '.join(order)}); start anew elsewhere."
    )


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """A checkpoint, or None if it is not whole."""
    try:
        state: dict[str, Any] = json.loads((path / STATE).read_text("utf-8"))
        if _checksum(path / TENSORS) != state["sha256"]:
            return None
        if _state_checksum(state) != state.get("state_sha256", _state_checksum(state)):
            return None
        return load_weights(path / TENSORS), state
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def write_checksums(home: Path, *names: str) -> None:
    """Note the checksums of files that never change while a run lasts."""
    found = {name: _checksum(home / name) for name in names}
    replace_file(home / CHECKSUMS, json.dumps(found, indent=1) + "\n")


def verify_checksums(home: Path, *names: str) -> None:
    """An error if one of these files is not what was written; runs before 0.2 noted nothing."""
    try:
        noted = json.loads((home / CHECKSUMS).read_text("utf-8"))
        wrong = [name for name in names if _checksum(home / name) != noted[name]]
    except FileNotFoundError as error:
        if error.filename == str(home / CHECKSUMS):
            return
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        wrong = [CHECKSUMS]
    if wrong:
        raise InputError(
            f"{home / wrong[0]}: the file is damaged (its checksum is not the one that was noted), "
            "so the run cannot go on; take it from a copy, or begin a new run."
        )


@contextmanager
def fitting(path: Path) -> Iterator[None]:
    """What does not fit together while a run is taken up becomes an `InputError`."""
    try:
        yield
    except (KeyError, IndexError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: what it holds does not fit the settings of the run ({reason}); the files are "
            "of different runs, or a setting was changed that a run cannot change."
        ) from error


def _state_checksum(state: Mapping[str, Any]) -> str:
    """Of all in a state but this checksum itself."""
    rest = {name: value for name, value in state.items() if name != "state_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
