"""A run's state on disk, so that it can go on as if it had never stopped.

`checkpoints/step-N/` holds `tensors.safetensors` and `state.json` with its checksum; the file
`latest` names the newest whole one. A folder gets its name only when all in it is on the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.errors import InputError
from regard.folder import load_weights, save_weights
from regard.storage import replace_file, sync_folder

TENSORS, STATE, LATEST = "tensors.safetensors", "state.json", "latest"


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
    found = (folder / "checkpoints").glob("step-*")
    return sorted(int(p.name.removeprefix("step-")) for p in found if (p / STATE).is_file())


def read_checkpoint(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The newest whole checkpoint's tensors and state; None if there is none yet."""
    if not (folder / LATEST).is_file():
        return None
    named = (folder / LATEST).read_text("utf-8").strip()
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
        return load_weights(path / TENSORS), state
    except (OSError, ValueError, KeyError, InputError):
        return None


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
