"""Results stored as JSON, from which the documentation makes its page of benchmarks.

SUBJECT.json holds runs, each with its command, date and machine. A new run replaces the rows of
the same name; an older run whose rows were all measured again is removed.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from regard.bench.row import Row
from regard.cores import cores
from regard.errors import InputError
from regard.storage import replace_file
from regard.version import __version__

FORMAT = 1


def check_folder(folder: Path) -> None:
    """Complain before anything is measured if results cannot be kept there."""
    if not folder.is_dir():
        raise InputError(f"--keep {folder} is not a folder; create it first.")


def keep_rows(folder: Path, subject: str, about: dict[str, Any], rows: Sequence[Row]) -> Path:
    """Write the rows of a run (`about_run`) to `folder`/`subject`.json and return its path."""
    path = folder / f"{subject}.json"
    measured = {row.name for row in rows}
    runs = []
    for run in read_runs(path):
        left = [row for row in run["rows"] if row["name"] not in measured]
        if left:
            runs.append({**run, "rows": left})
    runs.append({**about, "rows": [row.as_json() for row in rows]})
    values = {"format": FORMAT, "subject": subject, "runs": runs}
    replace_file(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    return path


def read_runs(path: Path) -> list[dict[str, Any]]:
    """The runs in a file of results, none if there is no file."""
    if not path.is_file():
        return []
    try:
        values = json.loads(path.read_text("utf-8"))
        known = values["format"] == FORMAT
        runs: list[dict[str, Any]] = values["runs"]
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise InputError(f"{path} is not a file of benchmark results; move it away.")
    return runs


def about_run(words: Sequence[str]) -> dict[str, Any]:
    """When, where and with which command a run is made; called before, for the machine's load."""
    import torch

    return {
        "command": command(words),
        "date": date.today().isoformat(),
        "version": __version__,
        "processor": processor(),
        "cores": cores(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def command(words: Sequence[str]) -> str:
    """The command that measures the same again; of a path, only its last part."""
    shown, remaining = [], iter(words)
    for word in remaining:
        flag, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        if flag == "--json":
            continue
        if flag == "--keep":
            if not equals:
                next(remaining, None)
            continue
        shown.append(f"{flag}{equals}{_without_folder(value)}")
    return shlex.join(["python", "-m", "benchmarks", *shown])


def _without_folder(word: str) -> str:
    path = Path(word)
    return path.name if len(path.parts) > 1 and path.exists() else word


def processor() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
