"""`regard train`: from text to a model folder.

Its flags depend on the kind of model, so it parses its own arguments: presets first, then a YAML
file, then flags.
"""

from __future__ import annotations

import json
import re
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_origin, get_type_hints

from regard.cli.model import use_of
from regard.cli.train_help import full_help, short_help
from regard.command import command
from regard.config import MODELS, Run
from regard.config.attention import FIELDS
from regard.config.mechanisms import MECHANISM_SETTINGS, option_names
from regard.config.settings import (
    ENDS,
    SECTIONS,
    Settings,
    choices_of,
    fitted,
    is_mechanism,
    merged,
    model_types,
    names_of,
    plain,
    preset,
    read_settings,
    resolved,
    run_from,
)
from regard.config.stored import load_run
from regard.errors import InputError
from regard.text.language_names import parse_direction

SETTINGS = ("model", *SECTIONS)

ANSWERS = {"classifier": "examples", "handwriting": "points", "lm": "tokens", "mlm": "guesses"}
"""What a kind of model answers, and its speed is told in."""


def parse(words: Sequence[str]) -> Namespace:
    """The files, the folder, and the settings that were given."""
    first = _first(words)
    base = _base(first)
    model = MODELS[base["model"]["kind"]]
    if first.help or first.help_all:
        shown = merged(base, {"model": {"attention": first.attention}} if first.attention else {})
        print(full_help(shown) if first.help_all else short_help(), end="")
        raise SystemExit(0)
    arguments = _parsed(_parser(model), words, model)
    given = merged(_config(first), {n: arguments[n] for n in SETTINGS if arguments.get(n)})
    given["model"] = {"kind": base["model"]["kind"], **(given.get("model") or {})}
    if arguments.get("languages"):
        given["languages"] = parse_direction(arguments["languages"])
    if arguments.get("minutes") is not None:
        given["training"] = {**(given.get("training") or {}), "minutes": arguments["minutes"]}
    return Namespace(
        run=run,
        files=arguments.get("files") or [],
        dev=arguments.get("dev") or [],
        out=arguments.get("out"),
        preset=arguments.get("preset"),
        encoding=arguments.get("encoding") or "utf-8",
        resume=first.resume,
        json=arguments.get("json", False),
        given=given,
    )


def run(arguments: Namespace) -> int:
    """Train, or continue training."""
    started = time.monotonic()
    settings = _resumed(arguments) if arguments.resume else None
    if not arguments.resume:
        if arguments.out is None:
            raise InputError("give the folder to write the model to: --out DIR.")
        resolved(arguments.given, arguments.preset or "small")  # wrong settings are told at once
    from rich.console import Console

    from regard.training.ranks import joined
    from regard.training.report import Spoken
    from regard.training.run import follow, resume

    console = Console(stderr=True)
    folder = Path(arguments.resume) if arguments.resume else arguments.out
    with joined() as ranks:
        if not ranks.leads:
            follow(folder, ranks, settings)
            return 0
        if settings:
            outcome = resume(folder, settings, Spoken(console), ranks)
        else:
            outcome = _new(arguments, Spoken(console), ranks, started)
    if not outcome.finished:
        console.print(
            f"Stopped after update {outcome.step}; all is saved. Go on with:\n"
            f"  {command('train', '--resume', folder)}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        return 130
    if arguments.json:
        print(json.dumps(json.loads((folder / "metrics.json").read_text("utf-8"))))
    else:
        _tell(folder, console)
    return 0


def _new(arguments: Namespace, reporter: Any, ranks: Any, started: float) -> Any:
    from regard.training.from_files import TrainRequest, train_from_files

    request = TrainRequest(
        arguments.files, arguments.out, arguments.dev, arguments.given, arguments.preset,
        arguments.encoding,
    )  # fmt: skip
    return train_from_files(request, reporter, ranks, started)


def _resumed(arguments: Namespace) -> Run:
    """The settings of the run that is continued; an end that was given replaces all of its own."""
    settings, given = plain(load_run(arguments.resume)), arguments.given
    if any((given.get("training") or {}).get(end) is not None for end in ENDS):
        settings = merged(settings, {"training": dict.fromkeys(ENDS)})
    return run_from(merged(settings, given))


def _tell(folder: Path, console: Any) -> None:
    model = load_run(folder).model
    metrics = json.loads((folder / "metrics.json").read_text("utf-8"))
    answers = ANSWERS.get(model.kind, "target tokens")
    console.print(
        f"Done: {folder} ({metrics['steps']:,} updates, {metrics['epochs']:.1f} epochs, "
        f"{metrics['tokens_per_second']:,.0f} {answers}/s).",
        highlight=False,
    )
    series = getattr(model, "input", "") == "series"  # as the files showed
    given = "series.npz" if series else "…"
    tried = command(use_of(model.kind), given, "--model", folder)
    console.print(f"Try it:  {tried}", highlight=False, markup=False, soft_wrap=True)


def _parsed(parser: Any, words: Sequence[str], model: type) -> Settings:
    """What was given, without defaults; what is wrong becomes one sentence."""
    from jsonargparse import ArgumentError

    words = _rewritten(words, model)
    try:
        parsed: Settings = parser.parse_args(words, defaults=False).as_dict()
        return parsed
    except ArgumentError as error:
        text = str(error)
    named = re.search(r'Parser key "(?:(\w+)\.)?([\w.]+)"', text)
    given = re.search(r"(?:Given|Got) value: (.*)", text)
    unknown = re.search(r"unrecognized arguments: --model\.([\w.]+)", text)
    if unknown:
        raise InputError(_of_another_kind(unknown[1], None, model, f"--model.{unknown[1]}"))
    if named and given:  # our own sentence, which lists the choices
        section, key = named[1], named[2].removesuffix(".name")
        flag = f"{section}.{key}" if section else f"--{key}"
        types = {} if section else {key: float}
        types |= model_types(model) if section == "model" else {}
        types |= get_type_hints(SECTIONS[section]) if section in SECTIONS else {}
        listed = key not in types or get_origin(types[key]) is Literal
        if section == "model" and "." not in key and listed:
            raise InputError(_of_another_kind(key, given[1], model, flag))
        fitted(given[1], types.get(key, float), flag)
    line = " ".join(text.split()).rstrip(".")
    raise InputError(f"{line}; `regard train --help-all` lists all flags.")


def _of_another_kind(name: str, value: str | None, model: type, flag: str) -> str:
    """What to say of a model's setting that this kind has not, or that another kind has."""
    kinds = [
        kind
        for kind, other in MODELS.items()
        if name in names_of(other) and (value is None or value in choices_of(other, name))
    ]
    own = next(kind for kind, other in MODELS.items() if other is model)
    shown = flag if value is None else f"{flag} {value}"
    if kinds:
        listed = " or ".join(f"--model.kind {kind}" for kind in kinds)
        return f"{shown} belongs to {listed}, but the kind is {own}; add {listed}."
    if value is not None:
        choices = ", ".join(choices_of(model, name))
        return f"{flag} must be {choices}, got {value!r}."
    owners = [n for n, settings in MECHANISM_SETTINGS.items() if name in option_names(settings)]
    if owners:
        return f"there is no {flag}; give --model.attention {owners[0]} --model.attention.{name}."
    return f"there is no {flag}; `regard train --help-all --model.kind {own}` lists all settings."


def _rewritten(words: Sequence[str], model: type) -> list[str]:
    """The arguments with `--model.attention.name` for mechanisms, and 0 for a length of corpus."""
    mechanisms = {f"--model.{name}" for name in FIELDS if is_mechanism(model, name)}
    flat = [part for word in words for part in _split_flag(word)]
    result = [f"{word}.name" if word in mechanisms else word for word in flat]
    for index, word in enumerate(result[:-1]):
        if word == "--model.max_length" and result[index + 1] == "corpus":
            result[index + 1] = "0"
    return result


def _split_flag(word: str) -> list[str]:
    """`--model.X=value` as two arguments."""
    return word.split("=", 1) if word.startswith("--model.") else [word]


def _first(words: Sequence[str]) -> Namespace:
    """What decides about all other flags: help, preset, settings file, kind, resumed run."""
    import argparse

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--preset")
    parser.add_argument("--config")
    parser.add_argument("--model.kind", dest="kind")
    parser.add_argument("--model.attention", dest="attention")
    parser.add_argument("--resume")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--help-all", action="store_true")
    try:
        found, _ = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise InputError(f"{error}; `regard train --help` says more.") from error
    return found


def _config(first: Namespace) -> Settings:
    """The settings file, if one is given."""
    return read_settings(first.config) if first.config else {}


def _base(first: Namespace) -> Settings:
    """The settings that stand where nothing is given, for help and for the parser."""
    if first.resume:
        return plain(load_run(first.resume))
    kind = first.kind or (_config(first).get("model") or {}).get("kind") or "transformer"
    if kind not in MODELS:
        raise InputError(f"model.kind must be {', '.join(MODELS)}, got {kind!r}.")
    return preset(first.preset or "small", kind)


def _parser(model: type) -> Any:
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(prog="regard train", exit_on_error=False, add_help=False)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--dev", nargs="+")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--json", action="store_true")
    for name in ("languages", "preset", "config", "resume", "encoding"):
        parser.add_argument(f"--{name}")
    for name, kind in model_types(model).items():
        parser.add_argument(f"--model.{name}", type=kind)
    for name in (name for name in FIELDS if is_mechanism(model, name)):
        parser.add_argument(f"--model.{name}.name", type=Literal[*choices_of(model, name)])
    for name, section in SECTIONS.items():
        parser.add_argument(f"--{name}", type=section)
    return parser
