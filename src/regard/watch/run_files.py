"""The files of a run as the page needs them: what was added since the last request, and its status.

A `Cursor` names how far a file has been read. Files only grow, except when a run is resumed: then
they are replaced (with lines after the checkpoint dropped), so the inode
changes.
"""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from regard.config.stored import CONFIG, METRICS
from regard.training.logs.status import STATUS
from regard.training.report import LOG, SAMPLES

SIZES = ("num_encoder_layers", "num_decoder_layers", "num_layers", "dim", "num_heads")
MOST_BYTES = 4_000_000  # of one file in one answer; the rest comes with the next one


class Cursor(NamedTuple):
    """A place in a file: its inode and the bytes read of it."""

    inode: int = 0
    offset: int = 0


class Addition(NamedTuple):
    """Rows that a file has gained; `whole` if they replace all that was known of it.

    has_more  whether there are further rows to read at once
    """

    rows: list[dict[str, Any]]
    cursor: Cursor
    whole: bool
    has_more: bool


def read_addition(path: Path, cursor: Cursor) -> Addition:
    """Return the complete lines of a JSON Lines file after a cursor; other lines are skipped."""
    try:
        file = path.open("rb")
    except OSError:
        return Addition([], Cursor(), cursor != Cursor(), False)
    with file:
        stat = os.fstat(file.fileno())
        whole = cursor.inode != stat.st_ino or cursor.offset > stat.st_size
        start = 0 if whole else cursor.offset
        file.seek(start)
        data = file.read(MOST_BYTES)
        end = data.rfind(b"\n") + 1
        has_more = start + len(data) < stat.st_size and end > 0
    rows = [row for line in data[:end].splitlines() if (row := _parsed(line)) is not None]
    return Addition(rows, Cursor(stat.st_ino, start + end), whole, has_more)


def describe_run(folder: Path) -> dict[str, Any]:
    """Return kind, languages, size and smoothing of a run, as far as its settings are written."""
    try:
        settings = yaml.safe_load((folder / CONFIG).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    if not isinstance(settings, dict):
        return {}
    model, training = (_section(settings, name) for name in ("model", "training"))
    source, _, target = str(settings.get("languages") or "").partition("-")
    return {
        "kind": model.get("kind"),
        "source": source,
        "target": target or source,
        "size": {
            name: value
            for name, value in model.items()
            if name in SIZES and isinstance(value, int) and not isinstance(value, bool)
        },
        "attention": model.get("attention") if isinstance(model.get("attention"), str) else None,
        "smoothing": training.get("label_smoothing"),
    }


def read_status(folder: Path) -> dict[str, Any]:
    """Return how a run stands: state, and the reason of a failure.

    waiting   its folder has no figures yet
    running, finished, stopped, failed  as training wrote it
    lost      it was running on this machine, and its process is gone
    """
    status = _read_object(folder / STATUS)
    state = status.get("state")
    if state is None:  # of a run before 0.3, or one that has not begun
        if (folder / METRICS).is_file():
            return {"state": "finished"}
        return {"state": "stopped" if (folder / LOG).is_file() else "waiting"}
    if state == "running" and status.get("host") == platform.node():
        process = status.get("pid")
        if isinstance(process, int) and not _alive(process):
            state = "lost"
    return {"state": state, "reason": status.get("reason"), "since": status.get("time")}


def silent_seconds(folder: Path) -> float | None:
    """Return the time since a run's figures were last written; None if there are none."""
    try:
        return max(0.0, time.time() - (folder / LOG).stat().st_mtime)
    except OSError:
        return None


def files_of(folder: Path) -> tuple[Path, Path]:
    """Return the paths of a run's figures and samples."""
    return folder / LOG, folder / SAMPLES


def _alive(process: int) -> bool:
    if os.name != "posix" or process <= 0:  # elsewhere a signal would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _section(settings: dict[str, Any], name: str) -> dict[str, Any]:
    section = settings.get(name)
    return section if isinstance(section, dict) else {}


def _read_object(path: Path) -> dict[str, Any]:
    try:
        return _parsed(path.read_bytes()) or {}
    except OSError:
        return {}


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # cut by a kill
        return None
    return row if isinstance(row, dict) else None


def _no_constant(name: str) -> None:
    """Stand for NaN and infinity, which JSON has no words for: a diverged run's loss."""
