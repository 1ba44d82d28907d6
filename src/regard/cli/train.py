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
from typing import TYPE_CHECKING, Any, Literal, get_origin, get_type_hints

from regard.cli.train_help import full_help, short_help
from regard.command import command
from regard.config import Kind, Run
from regard.config.fine_tuning import new_run
from regard.config.mechanisms import FIELDS, MECHANISM_SETTINGS, option_names
from regard.config.settings import (
    ENDS,
    SECTIONS,
    Settings,
    choices_of,
    find_kind,
    fitted,
    is_mechanism,
    merged,
    model_types,
    names_of,
    plain,
    preset,
    read_settings,
    run_from,
)
from regard.config.stored import CONFIG, load_metrics
from regard.corpus.mixture import all_languages, parse_dev, parse_part
from regard.errors import InputError
from regard.tasks import KINDS, find_task, load_run

if TYPE_CHECKING:
    from rich.console import Console

    from regard.training.task import Task

SETTINGS = ("model", *SECTIONS)


def parse(words: Sequence[str]) -> Namespace:
    """The files, the folder, and the settings that were given."""
    words = [_with_underscores(word) for word in words]
    first = _first(words)
    if first.help:
        print(short_help(), end="")
        raise SystemExit(0)
    resumed = load_run(first.resume) if first.resume else None
    config = read_settings(first.config) if first.config else {}
    kind = _kind(first, config, load_run(first.start) if first.start else resumed)
    if first.help_all:
        base = plain(resumed) if resumed else preset(first.preset or "small", kind)
        if first.attention:
            base = merged(base, {"model": {"attention": first.attention}})
        print(full_help(base), end="")
        raise SystemExit(0)
    arguments = _parsed(_parser(kind), words, kind)
    given = merged(config, {n: arguments[n] for n in SETTINGS if arguments.get(n)})
    given["model"] = {"kind": kind.name, **(given.get("model") or {})}
    corpora = [parse_part(text) for text in arguments.get("corpus") or []]
    dev = parse_dev(arguments.get("dev") or [])
    stated = arguments.get("languages") or config.get("languages")
    if stated and not isinstance(stated, str):  # of the YAML file
        raise InputError(f"languages must be text as in en-fr, got {stated!r}.")
    languages = all_languages(stated, corpora)
    if languages:
        given["languages"] = languages
    if first.start:
        start = str(Path(first.start).resolve())
        given["training"] = {**(given.get("training") or {}), "start_from": start}
    if arguments.get("minutes") is not None:
        given["training"] = {**(given.get("training") or {}), "minutes": arguments["minutes"]}
    return Namespace(
        run=run,
        files=[*(arguments.get("files") or []), *corpora],
        dev=dev,
        out=Path(arguments["out"]) if arguments.get("out") else None,
        preset=arguments.get("preset"),
        encoding=arguments.get("encoding") or "utf-8",
        resume=first.resume,
        resumed=resumed,
        json=arguments.get("json", False),
        watch=arguments.get("watch", False),
        watch_port=arguments.get("watch_port") or 0,
        given=given,
    )


def run(arguments: Namespace) -> int:
    """Train, or continue training."""
    started = time.monotonic()
    settings = _resumed(arguments.resumed, arguments.given) if arguments.resume else None
    if not arguments.resume:
        if arguments.out is None:
            raise InputError("give the folder to write the model to: --out DIR.")
        new_run(arguments.given, arguments.preset, KINDS)  # an early error
    from rich.console import Console

    from regard.cli.watch import watched
    from regard.training.processes.launch import is_restarted
    from regard.training.processes.ranks import joined
    from regard.training.report import Spoken
    from regard.training.run import follow, resume, train_from_files
    from regard.training.stopping import terminable
    from regard.training.task import TrainRequest

    console = Console(stderr=True)
    folder = Path(arguments.resume) if arguments.resume else arguments.out
    task = find_task(arguments.given["model"]["kind"])
    try:
        with terminable(), joined() as ranks:
            if settings is None and ranks.any(ranks.leads and is_restarted(folder))[0]:
                settings = load_run(folder)
            if not ranks.leads:
                follow(task, folder, ranks, settings)
                return 0
            reporter = Spoken(console)
            with watched(folder if arguments.watch else None, arguments.watch_port, reporter):
                if settings:
                    outcome = resume(task, folder, settings, reporter, ranks)
                else:
                    request = TrainRequest(
                        arguments.files,
                        arguments.out,
                        arguments.dev,
                        arguments.given,
                        arguments.preset,
                        arguments.encoding,
                    )
                    outcome = train_from_files(task, request, reporter, ranks, started)
    except KeyboardInterrupt:
        if not (folder / CONFIG).is_file():
            raise
        return _print_stopped(folder, "Stopped at once; what was saved before is kept.", console)
    if not outcome.finished:
        saved = f"Stopped after update {outcome.step}; all is saved."
        return _print_stopped(folder, saved, console)
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


def _print_stopped(folder: Path, what: str, console: Console) -> int:
    """Print how to continue; return the exit code."""
    console.print(
        f"{what} Continue with:\n  {command('train', '--resume', folder)}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return 130


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

    words = _rewritten(words, kind)
    try:
        parsed: Settings = parser.parse_args(words, defaults=False).as_dict()
        return parsed
    except ArgumentError as error:
        text = str(error)
    named = re.search(r'Parser key "(?:(\w+)\.)?([\w.]+)"', text)
    given = re.search(r"(?:Given|Got) value: (.*)", text)
    unknown = re.search(r"unrecognized arguments: --model\.([\w.]+)", text)
    if unknown:
        raise InputError(_of_another_kind(unknown[1], None, kind, f"--model.{unknown[1]}"))
    if named and given:  # our own sentence, which lists the choices
        section, key = named[1], named[2].removesuffix(".name")
        flag = f"{section}.{key}" if section else f"--{key}"
        types = get_type_hints(SECTIONS[section]) if section in SECTIONS else {}
        types |= model_types(kind.settings) if section == "model" else {}
        listed = key not in types or get_origin(types[key]) is Literal
        if section == "model" and "." not in key and listed:
            raise InputError(_of_another_kind(key, given[1], kind, flag))
        fitted(given[1], types.get(key, float), flag)
    line = " ".join(text.split()).rstrip(".")
    raise InputError(f"{line}; `regard train --help-all` lists all flags.")


def _of_another_kind(name: str, value: str | None, kind: Kind, flag: str) -> str:
    """Explain a setting of the model that this kind does not have, or that another kind has."""
    kinds = [
        other.name
        for other in KINDS.values()
        if name in names_of(other.settings)
        and (value is None or value in choices_of(other.settings, name))
    ]
    shown = flag if value is None else f"{flag} {value}"
    if kinds:
        listed = " or ".join(f"--model.kind {other}" for other in kinds)
        return f"{shown} belongs to {listed}, but the kind is {kind.name}; add {listed}."
    if value is not None:
        choices = ", ".join(choices_of(kind.settings, name))
        return f"{flag} must be {choices}, got {value!r}."
    owners = [n for n, settings in MECHANISM_SETTINGS.items() if name in option_names(settings)]
    if owners:
        return f"there is no {flag}; give --model.attention {owners[0]} --model.attention.{name}."
    listing = f"regard train --help-all --model.kind {kind.name}"
    return f"there is no {flag}; `{listing}` lists all settings."


def _mechanisms(kind: Kind) -> list[str]:
    """Return the settings of a kind that name a mechanism of self-attention."""
    return [name for name in FIELDS if is_mechanism(kind.settings, name)]


def _rewritten(words: Sequence[str], kind: Kind) -> list[str]:
    """Return the arguments with `--model.attention.name`, and 0 for a max_length of corpus."""
    mechanisms = {f"--model.{name}" for name in _mechanisms(kind)}
    flat = [part for word in words for part in _split_flag(word)]
    result = [f"{word}.name" if word in mechanisms else word for word in flat]
    for index, word in enumerate(result[:-1]):
        if word == "--model.max_length" and result[index + 1] == "corpus":
            result[index + 1] = "0"
    return result


def _with_underscores(word: str) -> str:
    """Return the flag of a setting as it is named: --model.num-heads is --model.num_heads.

    >>> _with_underscores("--training.guided-alignment=my-links.txt")
    '--training.guided_alignment=my-links.txt'
    """
    flag, equals, value = word.partition("=")
    if not flag.startswith(tuple(f"--{section}." for section in SETTINGS)):
        return word
    return f"--{flag[2:].replace('-', '_')}{equals}{value}"


def _split_flag(word: str) -> list[str]:
    """Return `--model.X=value` as two arguments."""
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
    parser.add_argument("--from", dest="start")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--help-all", action="store_true")
    try:
        arguments, _ = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise InputError(f"{error}; `regard train --help` says more.") from error
    return arguments


def _kind(first: Namespace, config: Settings, known: Run | None) -> Kind:
    """Return the kind of model that is trained; `known` are the settings of one that goes on."""
    if known and first.start and first.kind not in (None, known.model.kind):
        raise InputError(
            f"{first.start}: the model is of the kind {known.model.kind}, which training from it "
            f"keeps, got --model.kind {first.kind}; leave it out."
        )
    if known:
        return KINDS[known.model.kind]
    return find_kind({"model": {"kind": first.kind}} if first.kind else config, KINDS, "")


def _parser(kind: Kind) -> Any:
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(prog="regard train", exit_on_error=False, add_help=False)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--out")  # with a type, it would be read as YAML, which not all names are
    parser.add_argument("--dev", nargs="+")
    parser.add_argument("--corpus", nargs="+", action="extend")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--watch-port", type=int)
    for name in ("languages", "preset", "config", "resume", "encoding", "from"):
        parser.add_argument(f"--{name}")
    for name, value in model_types(kind.settings).items():
        parser.add_argument(f"--model.{name}", type=value)
    for name in _mechanisms(kind):
        choices = choices_of(kind.settings, name)
        parser.add_argument(f"--model.{name}.name", type=Literal[*choices])
    for name, section in SECTIONS.items():
        parser.add_argument(f"--{name}", type=section)
    return parser
