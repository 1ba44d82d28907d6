"""Settings from presets, YAML files and flags, in this order, into one checked `Run`."""

from __future__ import annotations

import math
import re
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib import resources
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

import yaml

from regard.config.kind import Kind
from regard.config.mechanisms import (
    FIELDS,
    MECHANISM_SETTINGS,
    MechanismSettings,
    mechanism_options,
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
from regard.config.schema import LARGEST, Option, Range, Word, options_of
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
    settings["model"] = {name: settings["model"][name] for name in options_of(type(run.model))}
    for name in FIELDS:
        if isinstance(getattr(run.model, name, None), MechanismSettings):
            settings["model"][name] = plain_mechanism(getattr(run.model, name))
    return settings if run.alignment else {k: v for k, v in settings.items() if k != "alignment"}


def _made(kind: Any, values: Any, name: str, place: str) -> Any:
    """Return a section, each value converted to the type of its field."""
    if not isinstance(values, Mapping):
        raise InputError(f"{place}: {name} is a section with values, got {_shown(values)}.")
    options = options_of(kind)
    made: Settings = {}
    for key, value in values.items():
        if key not in options:
            raise InputError(f"{place}: there is no {name}.{key}; there are {', '.join(options)}.")
        made[key] = value_of(options[key], value, f"{place}: {name}.{key}")
    return kind(**made)


def is_mechanism(option: Option) -> bool:
    """Whether a setting of a model names a mechanism of self-attention."""
    return MechanismSettings in (option.type, *typing.get_args(option.type))


def setting_options(section: Any) -> dict[str, Option]:
    """The settings of a section by name, below a mechanism those of all of them by NAME.SETTING."""
    options: dict[str, Option] = {}
    for name, option in options_of(section).items():
        options[name] = option
        if is_mechanism(option):
            for kind in MECHANISM_SETTINGS.values():
                options |= {f"{name}.{key}": inner for key, inner in options_of(kind).items()}
    return options


def choices_of(option: Option) -> list[str]:
    """Return the values that a setting can have, if they can be listed."""
    if not is_mechanism(option):
        literal = typing.get_origin(option.type) is typing.Literal
        return [str(choice) for choice in typing.get_args(option.type)] if literal else []
    if not typing.get_args(option.type):
        return list(MECHANISM_SETTINGS)
    causal = [name for name, kind in MECHANISM_SETTINGS.items() if kind.facts.causal]
    return ["same", *causal]  # of a decoder


def value_of(option: Option, value: Any, place: str) -> Any:
    """Return the value of an option that settings give, with the type that it must have."""
    if is_mechanism(option):
        same = typing.get_args(option.type) and value in ("same", {"name": "same"})
        return "same" if same else _mechanism(value, place)
    word = option.mark(Word)
    if word is not None and value == word.word:
        return word.value
    limits = option.mark(Range)
    largest = limits.at_most if limits and limits.at_most else LARGEST
    return coerce(value, option.type, place, largest)


def coerce(value: Any, wanted: Any, place: str, largest: float = LARGEST) -> Any:
    """Return the value if it has the wanted type; an integer may stand for a float.

    YAML reads 1e-3, without a point, as text: it is converted to the number.
    """
    if typing.get_origin(wanted) is typing.Literal:
        choices = typing.get_args(wanted)
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            listed = ", ".join(map(str, choices))
            raise InputError(f"{place} must be {listed}, got {_shown(value)}.")
        return value
    if typing.get_origin(wanted) is tuple and isinstance(value, list | tuple):
        return tuple(coerce(item, typing.get_args(wanted)[0], f"each of {place}") for item in value)
    allowed = _members(wanted)
    if float in allowed and (
        type(value) in (int, float) or (isinstance(value, str) and _NUMBER.fullmatch(value))
    ):
        return _finite(value, place)
    if type(value) in allowed:
        if type(value) is int and abs(value) > largest:
            raise InputError(f"{place} must be at most {largest}, got {_shown(value)}.")
        return value
    names = " or ".join({NoneType: "none", tuple: "list"}.get(t, t.__name__) for t in allowed)
    raise InputError(f"{place} must be {names}, got {_shown(value)}.")


def value_from_text(option: Option, text: str, place: str) -> Any:
    """Return the value of an option that a flag gives as text."""
    kinds = _members(option.type)
    value: Any = text
    if NoneType in kinds and text == "null":
        value = None
    elif bool in kinds or tuple in kinds:
        with suppress(yaml.YAMLError):
            value = yaml.safe_load(text)
    elif float in kinds or int in kinds:
        for number in (int, float):
            with suppress(ValueError):
                value = number(text) if value is text else value
    return value_of(option, value, place)


def _members(kind: Any) -> tuple[Any, ...]:
    """The types of a union, or the type by itself, without those of its items."""
    if typing.get_origin(kind) is UnionType:
        return typing.get_args(kind)
    return (typing.get_origin(kind) or kind,)


def _mechanism(value: Any, place: str) -> MechanismSettings:
    """Return the settings of a mechanism, from its name or a mapping with name and options."""
    name, values = mechanism_options(value, place)
    kind = MECHANISM_SETTINGS[name]
    options = options_of(kind)
    return kind(**{k: value_of(options[k], v, f"{place}.{k}") for k, v in values.items()})


def _finite(value: float | str, place: str) -> float:
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{place} must be a finite number, got {number}.")
    return number
