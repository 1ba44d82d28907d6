"""The settings of a model folder, read without torch."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from regard.config.run import FORMAT_VERSION, Run
from regard.config.settings import read_settings, run_from
from regard.errors import InputError
from regard.version import __version__

CONFIG = "config.yaml"


def load_run(folder: str | PathLike[str]) -> Run:
    """The settings in a model folder; those of a newer format are a clear error."""
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
    version = settings.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise InputError(f"{path}: format_version must be a whole number, but {version!r} came.")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{path}: format_version {version} is newer than {FORMAT_VERSION}, the newest that "
            f"regard {__version__} knows; install a newer regard."
        )
    return run_from(settings, str(path))
