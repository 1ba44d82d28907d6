"""Settings from presets, YAML files and flags, in this order, into one checked `Run`."""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from regard.config.check import LARGEST
from regard.config.kind import Kind
from regard.config.mechanisms import (
    FIELDS,
    MECHANISM_SETTINGS,
    MechanismSettings,
    mechanism_options,
    option_names,
    plain_mechanism,
)
from regard.config.migration import migrated
from regard.config.run import (
    FORMAT_VERSION,
    AlignmentSettings,
    CleaningSettings,
    Run,
    TextSettings,
    TrainingSettings,
)
from regard.config.search import SearchOptions
from regard.errors import InputError

PRESETS = ("tiny", "small", "base")
SECTIONS: dict[str, Any] = {
    "text": TextSettings,
    "cleaning": CleaningSettings,
    "training": TrainingSettings,
    "decoding": SearchOptions,
}
"""The sections of a run besides its model."""

Settings = dict[str, Any]

ENDS = ("minutes", "steps", "epochs")
"""The settings of training that end a run, each by itself."""

LARGEST_SEED = 2**63 - 1
"""The largest seed; other whole numbers are LARGEST at most."""

DEEPEST = 3
"""How deep settings are nested: a file of sections of values, some of which are lists."""

_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")


def preset(name: str, kind: Kind) -> Settings:
    """Return the settings of a preset for one kind of model."""
    if name not in PRESETS:
        raise InputError(f"preset must be {', '.join(PRESETS)}, got {name!r}.")
    text = resources.files("regard.config").joinpath(f"presets/{name}.yaml").read_text("utf-8")
    common = {**yaml.safe_load(text), "model": {"kind": kind.name}}
    return merged(common, kind.presets.get(name, {}))


def find_kind(settings: Mapping[str, Any], kinds: Mapping[str, Kind], place: str) -> Kind:
    """Return the kind that settings name: the Transformer, if they name none."""
    model = settings.get("model") or {}
    name = (model.get("kind") if isinstance(model, Mapping) else None) or "transformer"
    if not isinstance(name, str) or name not in kinds:
        where = f"{place}: " if place else ""
        raise InputError(f"{where}model.kind must be {', '.join(kinds)}, got {_shown(name)}.")
    return kinds[name]


def read_settings(path: str | PathLike[str]) -> Settings:
    """Read the sections of a YAML file; an older format is migrated."""
    try:
        read = yaml.safe_load(Path(path).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: the settings cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: e.g. day 99
        line = " ".join(str(error).split())
        raise InputError(f"{path}: this is not YAML ({line}); correct it there.") from error
    if not isinstance(read, dict):
        raise InputError(f"{path}: settings are sections such as `model:`, but none is there.")
    if _is_deeper(read, DEEPEST):
        raise InputError(
            f"{path}: settings are sections of values, but something in it is nested deeper than "
            f"{DEEPEST} levels or holds itself; write each value out."
        )
    for name in ("model", *SECTIONS):
        if not isinstance(read.get(name, {}), dict | None):
            raise InputError(
                f"{path}: {name} is a section with values, got {_shown(read[name])}; "
                f"write them below `{name}:`, indented."
            )
    settings = {name: value for name, value in read.items() if value is not None}
    return migrated(settings, path) if "format_version" in settings else settings


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and mappings are nested deeper than this; an alias to itself has no end."""
    if not isinstance(value, dict | list):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(part, levels - 1) for part in parts)


def _shown(value: Any) -> str:
    """Return a value for an error message, on one line and shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:79]}…"


def resolved(
    given: Settings, name: str, kinds: Mapping[str, Kind], adjusted: Settings | None = None
) -> Run:
    """Return the run of a preset, changed by `adjusted` settings and then by the `given` ones.

    A given end of the run (minutes, steps or epochs) replaces all of the preset's.
    """
    kind = find_kind(given, kinds, "")
    settings = merged(preset(name, kind), adjusted or {})
    if any((given.get("training") or {}).get(end) is not None for end in ENDS):
        settings = merged(settings, {"training": dict.fromkeys(ENDS)})
    return run_from(merged(settings, given), kinds)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Settings:
    """Return `base` with the values of `over`, section by section.

    >>> merged({"model": {"dim": 8, "num_heads": 2}}, {"model": {"dim": 16}})
    {'model': {'dim': 16, 'num_heads': 2}}
    >>> merged({"model": {"attention": "local"}}, {"model": {"attention": {"window": 8}}})
    {'model': {'attention': {'name': 'local', 'window': 8}}}
    """
    return {**base, **{name: _over(base.get(name), value) for name, value in over.items()}}


def _over(old: Any, new: Any) -> Any:
    """Return a value, or a mapping with the values of `old` that it leaves out.

    Options of a mechanism stay only if the mechanism does.
    """
    if not isinstance(new, Mapping):
        return new
    old = {"name": old} if isinstance(old, str) else old  # a mechanism without options
    if not isinstance(old, Mapping) or new.get("name", old.get("name")) != old.get("name"):
        return new
    return merged(old, new)


def run_from(
    settings: Mapping[str, Any], kinds: Mapping[str, Kind], place: str = "settings"
) -> Run:
    """Return the checked run that plain settings describe; `place` is where they come from."""
    known = {"languages", "model", "alignment", "format_version", "regard", *SECTIONS}
    for name in settings:
        if name not in known:
            raise InputError(
                f"{place}: there is no section {_shown(name)}; "
                f"there are {', '.join(sorted(known))}."
            )
    languages = settings.get("languages")
    if languages is not None and not isinstance(languages, str):
        raise InputError(
            f"{place}: languages must be codes as in en-fr, got {_shown(languages)} "
            "(YAML takes no and on for truth values; put them in quotation marks)."
        )
    made: Settings = {"languages": languages or ""}
    kind = find_kind(settings, kinds, place)
    made["model"] = _made(kind.settings, settings.get("model") or {}, "model", place)
    for name, section in SECTIONS.items():
        if name in settings:
            made[name] = _made(section, settings[name] or {}, name, place)
    if settings.get("alignment"):
        made["alignment"] = _made(AlignmentSettings, settings["alignment"], "alignment", place)
    return Run(**made)


def plain(run: Run) -> Settings:
    """Return a run as plain settings, ready for YAML."""
    settings = {"format_version": FORMAT_VERSION, **asdict(run)}
    settings["model"] = {name: settings["model"][name] for name in names_of(type(run.model))}
    for name in FIELDS:
        if isinstance(getattr(run.model, name, None), MechanismSettings):
            settings["model"][name] = plain_mechanism(getattr(run.model, name))
    return settings if run.alignment else {k: v for k, v in settings.items() if k != "alignment"}


def _made(kind: Any, values: Any, name: str, place: str) -> Any:
    """Return a section, each value converted to the type of its field."""
    if not isinstance(values, Mapping):
        raise InputError(f"{place}: {name} is a section with values, got {_shown(values)}.")
    types = typing.get_type_hints(kind)
    names = names_of(kind)
    made: Settings = {}
    for key, value in values.items():
        if key not in names:
            raise InputError(f"{place}: there is no {name}.{key}; there are {', '.join(names)}.")
        if (name, key, value) == ("model", "max_length", "corpus"):
            value = 0  # the longest training sentence, once it is known
        made[key] = fitted(value, types[key], f"{place}: {name}.{key}")
    return kind(**made)


def is_mechanism(model: Any, name: str) -> bool:
    """Whether a setting of a model names a mechanism of self-attention."""
    hint = typing.get_type_hints(model).get(name)
    return MechanismSettings in (hint, *typing.get_args(hint))


def choices_of(model: Any, name: str) -> list[str]:
    """Return the values that a setting of a model can have, if they can be listed."""
    hint = typing.get_type_hints(model)[name]
    if not is_mechanism(model, name):
        return [str(choice) for choice in typing.get_args(hint)]
    if not typing.get_args(hint):
        return list(MECHANISM_SETTINGS)
    causal = [name for name, kind in MECHANISM_SETTINGS.items() if kind.facts.causal]
    return ["same", *causal]  # of a decoder


def model_types(model: Any) -> Settings:
    """Return the types of a model's settings by name; mechanisms by their options."""
    hints, types = typing.get_type_hints(model), {}
    for name in names_of(model):
        if not is_mechanism(model, name):
            types[name] = hints[name]
            continue
        for kind in MECHANISM_SETTINGS.values():
            options = typing.get_type_hints(kind)
            types |= {f"{name}.{option}": options[option] for option in option_names(kind)}
    return types


def names_of(section: Any) -> list[str]:
    """Return the names of a section's settings, its own before inherited ones."""
    own = inspect.get_annotations(section)
    every = [field.name for field in fields(section)]
    return [*(n for n in every if n in own), *(n for n in every if n not in own)]


def fitted(value: Any, wanted: Any, place: str) -> Any:
    """Return the value if it has the wanted type; an integer may stand for a float.

    YAML reads 1e-3, without a point, as text: it is converted to the number.
    """
    choices = typing.get_args(wanted)
    if MechanismSettings in (wanted, *choices):
        same = choices and value in ("same", {"name": "same"})
        return "same" if same else _mechanism(value, place)
    if typing.get_origin(wanted) is typing.Literal:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            listed = ", ".join(map(str, choices))
            raise InputError(f"{place} must be {listed}, got {_shown(value)}.")
        return value
    if typing.get_origin(wanted) is tuple and isinstance(value, list | tuple):
        return tuple(fitted(item, choices[0], f"each of {place}") for item in value)
    allowed = choices or (wanted,)
    if float in allowed and (
        type(value) is int or (isinstance(value, str) and _NUMBER.fullmatch(value))
    ):
        return _finite(_as_float(value), place)
    if type(value) is float and float in allowed:
        return _finite(value, place)
    if type(value) is int and int in allowed:
        most = LARGEST_SEED if place.endswith(".seed") else LARGEST
        if abs(value) > most:
            raise InputError(f"{place} must be at most {most}, got {_shown(value)}.")
    if type(value) in allowed or (value is None and type(None) in allowed):
        return value
    names = " or ".join("none" if t is type(None) else t.__name__ for t in allowed)
    raise InputError(f"{place} must be {names}, got {_shown(value)}.")


def _mechanism(value: Any, place: str) -> MechanismSettings:
    """Return the settings of a mechanism, from its name or a mapping with name and options."""
    name, options = mechanism_options(value, place)
    kind = MECHANISM_SETTINGS[name]
    types = typing.get_type_hints(kind)
    return kind(**{k: fitted(v, types[k], f"{place}.{k}") for k, v in options.items()})


def _as_float(value: int | str) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf


def _finite(value: float, place: str) -> float:
    if not math.isfinite(value):
        raise InputError(f"{place} must be a finite number, got {value}.")
    return value
