"""The settings and figures of a model folder, read without torch."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from regard.config.kind import Kind
from regard.config.run import Run
from regard.config.settings import read_settings, run_from
from regard.errors import InputError, InputWarning
from regard.storage import checksum

CONFIG, METRICS = "config.yaml", "metrics.json"


def load_run(folder: str | PathLike[str], kinds: Mapping[str, Kind]) -> Run:
    """Return the settings in a model folder, migrated if they are of an older format."""
    if not Path(folder).is_dir():
        what = "this is a file" if Path(folder).exists() else "there is no such folder"
        raise InputError(
            f"{folder}: {what}; give the folder of a model, which `regard train … --out FOLDER` "
            "makes."
        )
    path = Path(folder) / CONFIG
    if not path.is_file():
        raise InputError(
            f"{folder}: there is no {CONFIG} in it, so it is not a model; "
            "`regard train … --out FOLDER` makes one."
        )
    settings = read_settings(path)
    if "format_version" not in settings:
        raise InputError(f"{path}: format_version must be a whole number, got None.")
    return run_from(settings, kinds, str(path))


def load_metrics(folder: str | PathLike[str]) -> dict[str, Any]:
    """Read metrics.json; empty if there is none.

    A model can be used without its figures: a file that cannot be read is only a warning.
    """
    path = Path(folder) / METRICS
    try:
        read = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
    else:
        if isinstance(read, dict):
            return read
        reason = f"an object is expected, got {type(read).__name__}"
    warnings.warn(
        f"{path}: the figures of the training cannot be read and are left out ({reason}).",
        InputWarning,
        stacklevel=2,
    )
    return {}


def model_checksum(folder: str | PathLike[str]) -> str:
    """The checksum of the files that a model's output depends on: settings, weights, tokenizers."""
    files = _model_files(folder)
    return sha256("\n".join(f"{file.name} {checksum(file)}" for file in files).encode()).hexdigest()


def model_identity(folder: str | PathLike[str]) -> list[tuple[str, int, int, int, int]]:
    """What tells these files from others that take their place, without reading them."""
    return [
        (file.name, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
        for file in _model_files(folder)
        for state in [file.stat()]
    ]


def _model_files(folder: str | PathLike[str]) -> list[Path]:
    """The files that a model's output depends on."""
    return [
        file
        for file in sorted(Path(folder).iterdir())
        if file.name in (CONFIG, "model.safetensors") or file.name.startswith("tokenizer.")
    ]
