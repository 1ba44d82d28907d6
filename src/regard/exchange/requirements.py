"""What an export or import needs: settings that a format can hold, packages, a new folder."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from typing import Any, NamedTuple

from regard.config import Run, TransformerSettings
from regard.decoding.ctranslate2_folder import installed
from regard.errors import InputError

CTRANSLATE2_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH", "tanh": "Tanh"}
CTRANSLATE2_POSITIONS = ("sinusoidal", "learned", "none")


def exportable(
    run: Run, to: str, *, positions: Collection[str], activations: Collection[str]
) -> TransformerSettings:
    """The settings of a Transformer that the format `to` can hold; others are an error.

    Only exact softmax attention can be exported; `positions` and `activations` are what the format
    has besides.
    """
    setting = unsupported(run, positions=positions, activations=activations)
    if setting is None:
        assert isinstance(run.model, TransformerSettings)
        return run.model
    *most, last = setting.allowed
    choice = f"{', '.join(most)} or {last}" if most else last
    raise InputError(f"{to} cannot hold a model with {setting}; train one with {choice}.")


class UnsupportedSetting(NamedTuple):
    """A setting that a format cannot hold, and the values that it can."""

    name: str
    value: str
    allowed: Collection[str]

    def __str__(self) -> str:
        return f"model.{self.name} {self.value}"


def unsupported(
    run: Run, *, positions: Collection[str], activations: Collection[str]
) -> UnsupportedSetting | None:
    """The first setting that the format cannot hold; None if it can hold the model."""
    model = run.model
    if not isinstance(model, TransformerSettings):
        return UnsupportedSetting("kind", model.kind, ("transformer",))
    mechanisms = [model.attention]
    if model.decoder_attention != "same":
        mechanisms.append(model.decoder_attention)
    other = [mechanism.name for mechanism in mechanisms if mechanism.facts.answer != "exact"]
    if other:
        return UnsupportedSetting("attention", other[0], ("full",))
    for name, value, allowed in (
        ("normalizer", model.normalizer, ("softmax",)),
        ("positions", model.positions, positions),
        ("activation", model.activation, activations),
    ):
        if value not in allowed:
            return UnsupportedSetting(name, value, allowed)
    return None


def ctranslate2_obstacle(run: Run) -> str:
    """Why CTranslate2 cannot be used for a model; empty if it can."""
    if installed() is None:
        return "CTranslate2 is not installed (pip install 'regard[fast]')"
    setting = unsupported(run, positions=CTRANSLATE2_POSITIONS, activations=CTRANSLATE2_ACTIVATIONS)
    return f"CTranslate2 cannot run a model with {setting}" if setting else ""


def needed(package: str) -> Any:
    """Import a package of the extra `exchange`; one that is missing is an error."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f"this needs the package {package}: pip install 'regard[exchange]'."
        ) from error
