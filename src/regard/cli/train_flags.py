"""The flags of `regard train`: its own, and one for every setting of every section.

All kinds of model share the flags; what a setting may be depends on the kind that is trained.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn

import yaml

from regard.cli import Parser
from regard.config import Kind
from regard.config.mechanisms import MECHANISM_SETTINGS
from regard.config.schema import Flag, Option, options_of
from regard.config.settings import (
    SECTIONS,
    Settings,
    choices_of,
    is_mechanism,
    merged,
    setting_options,
    value_from_text,
)
from regard.errors import InputError
from regard.tasks import KINDS

Files = Annotated[tuple[str, ...], Flag(metavar="FILE…")]
Folder = Annotated[str | None, Flag(metavar="DIR")]


@dataclass(frozen=True)
class TrainFlags:
    """What `regard train` takes besides its files and the settings, as its help lists it."""

    SECTION: ClassVar[str] = ""

    out: Folder = None
    """Folder of the model."""
    corpus: Files = ()
    """More files, each perhaps with weight and tag: news.tsv:2.0:tag=news is seen twice as often,
    and its source sentences begin with the token <news>."""
    dev: Files = ()
    """Development set (without it, one is split off by source sentence)."""
    languages: Annotated[str | None, Flag(metavar="en-fr")] = None
    """Source and target language; of a model of several, each --corpus has its own, as in
    fr.tsv:en-fr de.tsv:en-de, and `regard translate --to de` asks for one."""
    minutes: Annotated[float | None, Flag(metavar="N")] = None
    """Time budget, from the start of the command to the written model."""
    preset: Annotated[str | None, Flag(metavar="NAME")] = None
    """Tiny, small or base; without it, size, vocabulary and batch are chosen from the corpus and
    the budget, and printed in one line."""
    kind: Annotated[str | None, Flag("model.kind", "KIND")] = None
    """Kind of model (transformer):"""
    start: Annotated[str | None, Flag("from", "DIR")] = None
    """Begin with the model in this folder, keep its vocabulary and settings, and begin a new
    schedule with a lower learning rate."""
    config: Annotated[str | None, Flag(metavar="FILE")] = None
    """Settings in YAML, as in a model's config.yaml."""
    encoding: Annotated[str | None, Flag(metavar="NAME")] = None
    """Encoding of the files (utf-8)."""
    resume: Folder = None
    """Continue the run in this folder after Ctrl-C, a crash or its end."""
    watch: bool = False
    """Show curves and sample translations on a page while it trains; the address is printed
    (--watch-port N: at this port)."""
    watch_port: Annotated[int | None, Flag(metavar="N")] = None
    """With --watch, the port of the page."""
    json: bool = False
    """Print the model's figures as JSON."""
    help_all: bool = False
    """Every setting; with --model.kind KIND, those of that kind; with --model.attention NAME, those
    of that attention."""


class _Parser(Parser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; `regard train --help-all` lists all flags.")


def parse_flags(words: Sequence[str]) -> tuple[Settings, list[str]]:
    """The flags that were given, settings as text, and the words that are no flags."""
    parsed, unknown = _parser().parse_known_args([_with_underscores(word) for word in words])
    flags = vars(parsed)
    for name in ("minutes", "watch_port"):
        if name in flags:
            option = options_of(TrainFlags)[name]
            flags[name] = value_from_text(option, flags[name], option.flag)
    return flags, unknown


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="regard train", add_help=False, argument_default=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*")
    for name, option in options_of(TrainFlags).items():
        how: dict[str, Any] = {"action": "store_true"} if option.type is bool else {}
        if option.default == ():
            how = {"nargs": "+", "action": "extend"}
        parser.add_argument(option.flag, dest=name, **how)
    models = (f"model.{name}" for kind in KINDS.values() for name in setting_options(kind.settings))
    names = dict.fromkeys(models)
    for section, settings in SECTIONS.items():
        names |= dict.fromkeys((section, *(f"{section}.{name}" for name in options_of(settings))))
    for name in names:
        if name != "model.kind":
            parser.add_argument(f"--{name}")
    return parser


def _with_underscores(word: str) -> str:
    """Return the flag of a setting as it is named: --model.num-heads is --model.num_heads.

    >>> _with_underscores("--training.guided-alignment=my-links.txt")
    '--training.guided_alignment=my-links.txt'
    """
    flag, equals, value = word.partition("=")
    if not flag.startswith(tuple(f"--{section}." for section in ("model", *SECTIONS))):
        return word
    return f"--{flag[2:].replace('-', '_')}{equals}{value}"


def settings_of_flags(flags: Mapping[str, Any], kind: Kind) -> Settings:
    """The settings that flags give for a kind of model, section by section."""
    settings: Settings = {}
    for section, dataclass_ in {"model": kind.settings, **SECTIONS}.items():
        if section in flags:
            settings[section] = _whole_section(section, flags[section])
        options = setting_options(dataclass_)
        for flag in sorted(flags, key=lambda flag: flag.count(".")):  # a mechanism, then its own
            start, _, name = flag.partition(".")
            if start == section and name:
                change = _setting(flag, name, flags[flag], options, kind)
                settings[section] = merged(settings.get(section, {}), change)
    return settings


def _setting(
    flag: str, name: str, text: str, options: Mapping[str, Option], kind: Kind
) -> Settings:
    """A setting as a section has it, from the text of its flag."""
    option = options.get(name)
    if option is None:
        raise InputError(unknown_setting(name, kind))
    choices = choices_of(option)
    if flag.startswith("model.") and "." not in name and choices and text not in choices:
        raise InputError(_other_choice(name, text, kind, choices))
    value = {"name": text} if is_mechanism(option) else value_from_text(option, text, flag)
    mechanism, _, inner = name.partition(".")
    return {mechanism: {inner: value}} if inner else {name: value}


def _whole_section(name: str, text: str) -> Settings:
    """A section that is given at once: a YAML file, or its values as YAML."""
    path = Path(text)
    try:
        read = yaml.safe_load(path.read_text("utf-8") if path.is_file() else text)
    except (OSError, ValueError, yaml.YAMLError):
        read = text
    if not isinstance(read, dict):
        raise InputError(f"--{name} is a section with values in YAML, or a file, got {text!r}.")
    return read


def unknown_setting(name: str, kind: Kind) -> str:
    """Explain a setting of the model that this kind does not have, but perhaps another kind."""
    flag = f"--model.{name}"
    kinds = [k.name for k in KINDS.values() if name in setting_options(k.settings)]
    if kinds:
        return _belongs(flag, kinds, kind)
    owners = [n for n, settings in MECHANISM_SETTINGS.items() if name in options_of(settings)]
    if owners:
        return f"there is no {flag}; give --model.attention {owners[0]} --model.attention.{name}."
    listing = f"regard train --help-all --model.kind {kind.name}"
    return f"there is no {flag}; `{listing}` lists all settings."


def _other_choice(name: str, value: str, kind: Kind, choices: Sequence[str]) -> str:
    """Explain a value of a setting of the model that another kind may have."""
    kinds = [
        other.name
        for other in KINDS.values()
        if name in (options := options_of(other.settings)) and value in choices_of(options[name])
    ]
    if kinds:
        return _belongs(f"model.{name} {value}", kinds, kind)
    return f"model.{name} must be {', '.join(choices)}, got {value!r}."


def _belongs(what: str, kinds: Sequence[str], kind: Kind) -> str:
    listed = " or ".join(f"--model.kind {name}" for name in kinds)
    return f"{what} belongs to {listed}, but the kind is {kind.name}; add {listed}."
