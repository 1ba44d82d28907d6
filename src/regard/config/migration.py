"""Settings written by older versions of regard, brought to the present format."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from regard.config.run import FORMAT_VERSION
from regard.errors import InputError
from regard.version import __version__

RENAMED_IN_2 = {
    "heads": "num_heads",
    "layers": "num_layers",
    "encoder_layers": "num_encoder_layers",
    "decoder_layers": "num_decoder_layers",
    "pooling_heads": "num_pooling_heads",
}
"""Settings of models: version 1 ▶ version 2."""

MECHANISMS_OF_1 = {
    "full": {},
    "blockwise": {},
    "ring": {},
    "linear": {},
    "local": {"window": "window", "global_tokens": "global_tokens", "dilation": "dilation"},
    "sparse": {"pattern": "pattern", "stride": "stride", "summary": "summary"},
    "linformer": {"projected": "projected"},
    "reformer": {"chunk": "chunk", "buckets": "num_buckets", "rounds": "num_rounds"},
    "performer": {"features": "num_features"},
    "adaptive-span": {"span": "max_span", "ramp": "ramp", "span_penalty": "penalty"},
}
"""Flat settings of a mechanism in version 1 ▶ its options in version 2."""

WITH_MECHANISMS = ("transformer", "lm", "mlm", "classifier")


def migrated(settings: dict[str, Any], path: str | PathLike[str]) -> dict[str, Any]:
    """The settings in the present format; a newer one, or none that is known, is an error."""
    version = settings.get("format_version")
    if type(version) is not int or version < 1:
        raise InputError(f"{path}: format_version must be a whole number, got {version!r}.")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{path}: format_version {version} is newer than {FORMAT_VERSION}, the newest that "
            f"regard {__version__} knows; install a newer regard."
        )
    for older in range(version, FORMAT_VERSION):
        settings = _STEPS[older](settings)
    return {**settings, "format_version": FORMAT_VERSION}


def _from_1(settings: dict[str, Any]) -> dict[str, Any]:
    """Version 2 counts with `num_…`, and puts a mechanism's options below `attention`."""
    model = settings.get("model")
    if not isinstance(model, dict):
        return settings
    model = {RENAMED_IN_2.get(name, name): value for name, value in model.items()}
    if model.get("kind", "transformer") in WITH_MECHANISMS:
        flat = {old for options in MECHANISMS_OF_1.values() for old in options}
        kept = {name: value for name, value in model.items() if name not in flat}
        for field in ("attention", "decoder_attention"):
            options = MECHANISMS_OF_1.get(str(model.get(field)), {})
            given = {new: model[old] for old, new in options.items() if old in model}
            if given:
                kept[field] = {"name": model[field], **given}
        model = kept
    return {**settings, "model": model}


_STEPS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}
"""A version ▶ the function that brings its settings to the next one."""
