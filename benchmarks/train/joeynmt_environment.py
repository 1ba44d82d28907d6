"""A virtual environment for JoeyNMT, created on first use and cached.

JoeyNMT 2.3 needs older packages than regard. Torch is the same build that regard uses, so that only
the two programs differ.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from regard.errors import InputError

VARIABLE = "REGARD_BENCH_JOEYNMT"
MARK = "regard-bench.json"


def default_folder() -> Path:
    """$REGARD_BENCH_JOEYNMT, or a folder in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(VARIABLE) or cache / "regard" / "bench" / "joeynmt")


def packages() -> list[str]:
    """JoeyNMT and packages that it needs but does not declare."""
    return [
        f"torch=={version('torch')}",
        "joeynmt==2.3.0",
        "importlib_metadata",
        "sentencepiece==0.2.0",
        "setuptools",
    ]


def joeynmt_python(folder: Path | None = None) -> Path:
    """The Python of JoeyNMT's environment, which is created if it does not exist."""
    folder = (folder or default_folder()).expanduser().absolute()
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = {"python": list(sys.version_info[:3]), "packages": packages()}
    mark = folder / MARK
    if mark.is_file() and json.loads(mark.read_text("utf-8")) == wanted and python.exists():
        return python
    if folder.is_dir() and any(folder.iterdir()) and not mark.is_file():
        raise InputError(
            f"{folder}: the folder contains something else than JoeyNMT's environment; give "
            "an empty or a new folder."
        )
    print(f"  creating an environment for JoeyNMT in {folder} …", file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text("{}", "utf-8")  # ours from now on, even if interrupted
    _run(sys.executable, "-m", "venv", str(folder))
    options = ("--quiet", "--disable-pip-version-check")
    _run(str(python), "-m", "pip", "install", *options, *packages())
    mark.write_text(json.dumps(wanted), "utf-8")
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
        raise InputError(
            f"creating the environment for JoeyNMT failed ({' '.join(command[1:4])} …): {lines[-1]}"
        )
