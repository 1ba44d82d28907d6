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
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from regard.cli.train_help import full_help, short_help
from regard.command import command
from regard.config import Kind, Run, TrainingSettings
from regard.config.settings import (
    ENDS,
    SECTIONS,
    Settings,
    find_kind,
    fitted,
    merged,
    names_of,
    plain,
    preset,
    read_settings,
    resolved,
    run_from,
)
from regard.config.stored import load_metrics
from regard.errors import InputError
from regard.tasks import KINDS, find_task, load_run
from regard.text.language_names import parse_direction

if TYPE_CHECKING:
    from rich.console import Console

    from regard.training.task import Task

SETTINGS = ("model", *SECTIONS)


def parse(words: Sequence[str]) -> Namespace:
    """The files, the folder, and the settings that were given."""
    first = _first(words)
    if first.help:
        print(short_help(), end="")
        raise SystemExit(0)
    resumed = load_run(first.resume) if first.resume else None
    config = read_settings(first.config) if first.config else {}
    kind = _kind(first, config, resumed)
    if first.help_all:
        base = plain(resumed) if resumed else preset(first.preset or "small", kind)
        print(full_help(base), end="")
        raise SystemExit(0)
    arguments = _parsed(_parser(kind), words, kind)
    given = merged(config, {n: arguments[n] for n in SETTINGS if arguments.get(n)})
    given["model"] = {"kind": kind.name, **(given.get("model") or {})}
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
        resumed=resumed,
        json=arguments.get("json", False),
        given=given,
    )


def run(arguments: Namespace) -> int:
    """Train, or continue training."""
    started = time.monotonic()
    settings = _resumed(arguments.resumed, arguments.given) if arguments.resume else None
    if not arguments.resume:
        if arguments.out is None:
            raise InputError("give the folder to write the model to: --out DIR.")
        resolved(arguments.given, arguments.preset or "small", KINDS)  # an early error
    from rich.console import Console

    from regard.training.ranks import joined
    from regard.training.report import Spoken
    from regard.training.run import follow, resume, train_from_files
    from regard.training.task import TrainRequest

    console = Console(stderr=True)
    folder = Path(arguments.resume) if arguments.resume else arguments.out
    task = find_task(arguments.given["model"]["kind"])
    with joined() as ranks:
        if not ranks.leads:
            follow(task, folder, ranks, settings)
            return 0
        if settings:
            outcome = resume(task, folder, settings, Spoken(console), ranks)
        else:
            request = TrainRequest(
                arguments.files, arguments.out, arguments.dev, arguments.given, arguments.preset,
                arguments.encoding,
            )  # fmt: skip
            outcome = train_from_files(task, request, Spoken(console), ranks, started)
    if not outcome.finished:
        console.print(
            f"Stopped after update {outcome.step}; all is saved. Continue with:\n"
            f"  {command('train', '--resume', folder)}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        return 130
    if arguments.json:
        print(json.dumps(load_metrics(folder)))
    else:
        _print_outcome(folder, task, console)
    return 0


def _resumed(run: Run, given: Settings) -> Run:
    """Return the settings of the run that is resumed; a given end replaces all of its own."""
    settings = plain(run)
    if any((given.get("training") or {}).get(end) is not None for end in ENDS):
        settings = merged(settings, {"training": dict.fromkeys(ENDS)})
    return run_from(merged(settings, given), KINDS)


def _print_outcome(folder: Path, task: Task, console: Console) -> None:
    kind, metrics = task.kind, load_metrics(folder)
    console.print(
        f"Done: {folder} ({metrics['steps']:,} updates, {metrics['epochs']:.1f} epochs, "
        f"{metrics['tokens_per_second']:,.0f} {kind.speed_unit}/s).",
        highlight=False,
    )
    tried = command(kind.command, *task.example(load_run(folder)), "--model", folder)
    console.print(f"Try it:  {tried}", highlight=False, markup=False, soft_wrap=True)


def _parsed(parser: Any, words: Sequence[str], kind: Kind) -> Settings:
    """What was given, without defaults; what is wrong becomes one sentence."""
    from jsonargparse import ArgumentError

    words = _whole_corpus(words)
    try:
        parsed: Settings = parser.parse_args(words, defaults=False).as_dict()
        return parsed
    except ArgumentError as error:
        text = str(error)
    named = re.search(r'Parser key "(?:(\w+)\.)?(\w+)"', text)
    given = re.search(r"(?:Given|Got) value: (.*)", text)
    unknown = re.search(r"unrecognized arguments: --model\.(\w+)", text)
    if unknown:
        raise InputError(_of_another_kind(unknown[1], None, kind, f"--model.{unknown[1]}"))
    if named and given:  # our own words for it, which name what may come
        sections = {"model": kind.settings, **SECTIONS}
        types = get_type_hints(sections.get(named[1], TrainingSettings))
        place = f"{named[1]}.{named[2]}" if named[1] else f"--{named[2]}"
        if named[1] == "model" and get_origin(types.get(named[2])) is Literal:
            raise InputError(_of_another_kind(named[2], given[1], kind, place))
        fitted(given[1], types.get(named[2], float), place)
    line = " ".join(text.split()).rstrip(".")
    raise InputError(f"{line}; `regard train --help-all` lists all flags.")


def _of_another_kind(name: str, value: str | None, kind: Kind, flag: str) -> str:
    """Explain a setting of the model that this kind does not have, or that another kind has."""
    kinds = [
        other.name
        for other in KINDS.values()
        if name in names_of(other.settings)
        and (value is None or value in get_args(get_type_hints(other.settings)[name]))
    ]
    shown = flag if value is None else f"{flag} {value}"
    if kinds:
        listed = " or ".join(f"--model.kind {other}" for other in kinds)
        return f"{shown} belongs to {listed}, but the kind is {kind.name}; add {listed}."
    if value is not None:
        choices = ", ".join(map(str, get_args(get_type_hints(kind.settings)[name])))
        return f"{flag} must be {choices}, got {value!r}."
    listing = f"regard train --help-all --model.kind {kind.name}"
    return f"there is no {flag}; `{listing}` lists all settings."


def _whole_corpus(words: Sequence[str]) -> list[str]:
    """The words with `--model.max_length corpus` as 0, which stands for it in the settings."""
    made = [w.replace("corpus", "0") if w == "--model.max_length=corpus" else w for w in words]
    for place, word in enumerate(made[:-1]):
        if word == "--model.max_length" and made[place + 1] == "corpus":
            made[place + 1] = "0"
    return made


def _first(words: Sequence[str]) -> Namespace:
    """What decides about all other flags: help, preset, settings file, kind, resumed run."""
    import argparse

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--preset")
    parser.add_argument("--config")
    parser.add_argument("--model.kind", dest="kind")
    parser.add_argument("--resume")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--help-all", action="store_true")
    try:
        found, _ = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise InputError(f"{error}; `regard train --help` says more.") from error
    return found


def _kind(first: Namespace, config: Settings, resumed: Run | None) -> Kind:
    """Return the kind of model that is trained."""
    if resumed:
        return KINDS[resumed.model.kind]
    return find_kind({"model": {"kind": first.kind}} if first.kind else config, KINDS, "")


def _parser(kind: Kind) -> Any:
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(prog="regard train", exit_on_error=False, add_help=False)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--dev", nargs="+")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--json", action="store_true")
    for name in ("languages", "preset", "config", "resume", "encoding"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--model", type=kind.settings)
    for name, section in SECTIONS.items():
        parser.add_argument(f"--{name}", type=section)
    return parser
