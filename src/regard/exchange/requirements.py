"""What an export or import needs: settings that a format can hold, packages, a new folder."""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from regard.config import Run, TransformerSettings
from regard.errors import InputError


def exportable(
    run: Run, to: str, *, positions: Collection[str], activations: Collection[str]
) -> TransformerSettings:
    """The settings of a Transformer that the format `to` can hold; others are an error.

    Only exact softmax attention can be exported; `positions` and `activations` are what the format
    has besides.
    """
    model = run.model
    if not isinstance(model, TransformerSettings):
        raise InputError(
            f"{to} cannot hold a model with model.kind {model.kind}; only a transformer can be "
            "exported."
        )
    mechanisms = [model.attention]
    if model.decoder_attention != "same":
        mechanisms.append(model.decoder_attention)
    for mechanism in mechanisms:
        if mechanism.facts.answer != "exact":
            raise _refused(to, "attention", mechanism.name, ("full",))
    for name, value, allowed in (
        ("normalizer", model.normalizer, ("softmax",)),
        ("positions", model.positions, positions),
        ("activation", model.activation, activations),
    ):
        if value not in allowed:
            raise _refused(to, name, value, allowed)
    return model


def _refused(to: str, setting: str, value: str, allowed: Collection[str]) -> InputError:
    *most, last = allowed
    choice = f"{', '.join(most)} or {last}" if most else last
    return InputError(
        f"{to} cannot hold a model with model.{setting} {value}; train one with {choice}."
    )


def needed(package: str) -> Any:
    """Import a package of the extra `exchange`; one that is missing is an error."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f"this needs the package {package}: pip install 'regard[exchange]'."
        ) from error


def check_new_folder(path: str | Path) -> None:
    """Raise an error unless a folder can be made at `path`; one that is empty may be there."""
    final = Path(path)
    if final.is_dir() and any(final.iterdir()):
        raise InputError(f"{path}: there are files in it already; give another folder.")
    if final.exists() and not final.is_dir():
        raise InputError(f"{path}: this is a file; give a folder that is not there yet.")
    home = next(parent for parent in final.absolute().parents if parent.exists())
    if not home.is_dir():
        raise InputError(f"{home}: this is a file; give another folder.")
    if not os.access(home, os.W_OK | os.X_OK):
        raise InputError(f"{home}: this folder cannot be written to; give another one.")
