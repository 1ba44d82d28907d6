"""`regard train`: from text to a model folder.

Its flags depend on the kind of model, so it parses its own arguments: presets first, then a YAML
file, then flags.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.train_flags import parse_flags, settings_of_flags, unknown_setting
from regard.cli.train_help import full_help, short_help
from regard.command import command
from regard.config import Kind, Run
from regard.config.fine_tuning import new_run
from regard.config.settings import (
    ENDS,
    Settings,
    find_kind,
    merged,
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


def parse(words: Sequence[str]) -> Namespace:
    """The files, the folder, and the settings that were given."""
    if {"-h", "--help"} & set(words):
        print(short_help(), end="")
        raise SystemExit(0)
    flags, unknown = parse_flags(words)
    start, resume = flags.get("start"), flags.get("resume")
    resumed = load_run(resume) if resume else None
    config = read_settings(flags["config"]) if "config" in flags else {}
    kind = _kind(flags, config, load_run(start) if start else resumed)
    if "help_all" in flags:
        base = plain(resumed) if resumed else preset(flags.get("preset") or "small", kind)
        if "model.attention" in flags:
            base = merged(base, {"model": {"attention": flags["model.attention"]}})
        print(full_help(base), end="")
        raise SystemExit(0)
    if unknown and unknown[0].startswith("--model."):
        raise InputError(unknown_setting(unknown[0][8:].partition("=")[0], kind))
    if unknown:
        listed = " ".join(unknown)
        raise InputError(
            f"unrecognized arguments: {listed}; `regard train --help-all` lists all flags."
        )
    given = merged(config, settings_of_flags(flags, kind))
    given["model"] = {"kind": kind.name, **(given.get("model") or {})}
    corpora = [parse_part(text) for text in flags.get("corpus", ())]
    dev = parse_dev(flags.get("dev", []))
    stated = flags.get("languages") or config.get("languages")
    if stated and not isinstance(stated, str):  # of the YAML file
        raise InputError(f"languages must be text as in en-fr, got {stated!r}.")
    languages = all_languages(stated, corpora)
    if languages:
        given["languages"] = languages
    if start:
        folder = str(Path(start).resolve())
        given["training"] = {**(given.get("training") or {}), "start_from": folder}
    if "minutes" in flags:
        given["training"] = {**(given.get("training") or {}), "minutes": flags["minutes"]}
    return Namespace(
        run=run,
        files=[*flags.get("files", ()), *corpora],
        dev=dev,
        out=Path(flags["out"]) if flags.get("out") else None,
        preset=flags.get("preset"),
        encoding=flags.get("encoding") or "utf-8",
        resume=resume,
        resumed=resumed,
        json=flags.get("json", False),
        watch=flags.get("watch", False),
        watch_port=flags.get("watch_port", 0),
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


def _kind(flags: Settings, config: Settings, known: Run | None) -> Kind:
    """Return the kind of model that is trained; `known` are the settings of one that goes on."""
    name, start = flags.get("kind"), flags.get("start")
    if known and start and name not in (None, known.model.kind):
        raise InputError(
            f"{start}: the model is of the kind {known.model.kind}, which training from it "
            f"keeps, got --model.kind {name}; leave it out."
        )
    if known:
        return KINDS[known.model.kind]
    return find_kind({"model": {"kind": name}} if name else config, KINDS, "")
