"""`regard train`: from text to a model folder.

Its flags depend on the kind of model, so it parses its own arguments: presets first, then a YAML
file, then flags.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import SUPPRESS, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

from regard.cli.model import use_of
from regard.command import command
from regard.config import MODELS, Run, Training
from regard.config.attention import check_ranks
from regard.config.settings import (
    PRESETS,
    SECTIONS,
    Settings,
    fitted,
    merged,
    plain,
    preset,
    read_settings,
    run_from,
)
from regard.config.stored import load_run
from regard.errors import InputError

ENDS = ("minutes", "steps", "epochs")
"""The settings of training that end a run, each by itself."""

ANSWERS = {"classifier": "examples", "handwriting": "points", "lm": "tokens", "mlm": "guesses"}
"""What a kind of model answers, and its speed is told in."""

FILES = {
    "classifier": "label, tab and text in each line (.tsv), or series (.npz or .jsonl)",
    "lm": "plain text, a sentence a line",
    "mlm": "plain text, a sentence a line",
}
"""What a kind of model learns from, if not from pairs."""


def parse(words: Sequence[str]) -> Namespace:
    """The files, the folder, and the resolved run."""
    found = _first(words)
    settings = _base(found)
    parser = _parser(settings)
    arguments = _parsed(parser, words, MODELS[settings["model"]["kind"]])
    given = {
        name: vars(getattr(arguments, name)) for name in ("model", *SECTIONS)
    }  # everything, with the base as defaults
    run_settings = merged(settings, given)
    if arguments.languages:
        run_settings["languages"] = arguments.languages
    if arguments.minutes is not None:
        run_settings["training"]["minutes"] = arguments.minutes
    ends = _ends(words, found)
    if ends:  # what the user named stands instead of the preset's end, or the resumed run's
        run_settings["training"] |= dict.fromkeys(set(ENDS) - ends)
    arguments.settings = run_settings
    arguments.resume = found.resume
    return Namespace(run=run, **{k: v for k, v in vars(arguments).items() if k != "run"})


def run(arguments: Namespace) -> int:
    """Train, or go on training."""
    run_settings: Run = run_from(arguments.settings)
    check_ranks(run_settings.model)
    from rich.console import Console

    from regard.training.ranks import joined
    from regard.training.run import follow

    console = Console(stderr=True)
    folder = Path(arguments.resume) if arguments.resume else arguments.out
    with joined() as ranks:
        if not ranks.leads:
            follow(folder, ranks, run_settings if arguments.resume else None)
            return 0
        outcome = _outcome(arguments, run_settings, console, ranks)
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
        _tell(folder, run_settings, console)
    return 0


def _outcome(arguments: Namespace, settings: Run, console: Any, ranks: Any) -> Any:
    """How the run ended that is begun, or gone on with, here."""
    if not arguments.resume:
        return _new(arguments, settings, console, ranks)
    from regard.training.report import Spoken
    from regard.training.run import resume

    return resume(Path(arguments.resume), settings, Spoken(console), ranks)


def _new(arguments: Namespace, settings: Run, console: Any, ranks: Any) -> Any:
    by_hand = settings.model.kind == "handwriting"  # it has strokes of its own to learn from
    if not arguments.files and not by_hand:
        sorts = FILES.get(settings.model.kind, "one of pairs, or two aligned ones")
        raise InputError(f"give the files to learn from: {sorts}.")
    if arguments.out is None:
        raise InputError("give the folder to write the model to: --out DIR.")
    if (arguments.out / "config.yaml").exists():  # said before the corpus is read
        raise InputError(
            f"{arguments.out}: a model is in it already; go on with "
            f"`{command('train', '--resume', arguments.out)}`, or give another --out."
        )
    if by_hand:
        return _new_pen(arguments, settings, console)
    if settings.model.kind == "classifier":
        return _new_classifier(arguments, settings, console)
    from regard.training.prepare import prepare, read_texts
    from regard.training.report import Spoken
    from regard.training.run import train

    texts = read_texts(arguments.files, arguments.dev, settings)
    console.print(_table(texts))
    prepared = prepare(texts, settings)
    sizes = (len(prepared.tokenizers.source), len(prepared.tokenizers.target))
    shared = prepared.tokenizers.shared
    console.print(
        f"vocabulary: {sizes[0]:,} tokens shared" if shared else f"vocabularies: {sizes[0]:,} and "
        f"{sizes[1]:,} tokens",
        highlight=False,
    )  # fmt: skip
    return train(arguments.out, settings, prepared, Spoken(console), ranks)


def _new_pen(arguments: Namespace, settings: Run, console: Any) -> Any:
    from regard.training.handwriting import prepare_lines
    from regard.training.report import Spoken
    from regard.training.run import train

    prepared = prepare_lines(arguments.files, arguments.dev, settings)
    console.print(
        f"lines to learn from: {len(prepared.examples):,} ({sum(prepared.examples.lengths):,} "
        f"points); development: {len(prepared.dev.examples):,}",
        highlight=False,
    )
    return train(arguments.out, prepared.run, prepared, Spoken(console))


def _new_classifier(arguments: Namespace, settings: Run, console: Any) -> Any:
    from regard.training.classifier import prepare_classes, train_classifier
    from regard.training.report import Spoken

    prepared = prepare_classes(arguments.files, arguments.dev, settings)
    model: Any = prepared.run.model
    sort = f"series of {len(model.channels)} channels" if model.channels else "texts"
    console.print(
        f"{sort} to learn from: {len(prepared.examples):,}; development: "
        f"{len(prepared.dev.examples):,}; labels: {', '.join(model.labels)}",
        highlight=False, markup=False,
    )  # fmt: skip
    return train_classifier(arguments.out, prepared, Spoken(console))


def _table(texts: Any) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, show_header=True)
    table.add_column("sentences")
    table.add_column("number", justify="right")
    table.add_column("first at")
    for what, number, where in texts.report.rows():
        table.add_row(what, f"{number:,}", where)
    table.add_row("to learn from", f"{len(texts.train):,}", "")
    table.add_row("development", f"{len(texts.dev):,}", "")
    return table


def _tell(folder: Path, settings: Run, console: Any) -> None:
    metrics = json.loads((folder / "metrics.json").read_text("utf-8"))
    answers = ANSWERS.get(settings.model.kind, "target tokens")
    console.print(
        f"Done: {folder} ({metrics['steps']:,} updates, {metrics['epochs']:.1f} epochs, "
        f"{metrics['tokens_per_second']:,.0f} {answers}/s).",
        highlight=False,
    )
    series = getattr(load_run(folder).model, "input", "") == "series"  # as the files showed
    given = "series.npz" if series else "…"
    tried = command(use_of(settings.model.kind), given, "--model", folder)
    console.print(f"Try it:  {tried}", highlight=False, markup=False, soft_wrap=True)


def _parsed(parser: Any, words: Sequence[str], model: type) -> Any:
    """The arguments; what is wrong with them becomes one sentence."""
    from jsonargparse import ArgumentError

    try:
        return parser.parse_args(list(words))
    except ArgumentError as error:
        text = str(error)
    named = re.search(r'Parser key "(?:(\w+)\.)?(\w+)"', text)
    given = re.search(r"(?:Given|Got) value: (.*)", text)
    if named and given:  # our own words for it, which name what may come
        kinds = get_type_hints({"model": model, **SECTIONS}.get(named[1], Training))
        place = f"{named[1]}.{named[2]}" if named[1] else f"--{named[2]}"
        fitted(given[1], kinds.get(named[2], float), place)
    line = " ".join(text.split()).rstrip(".")
    raise InputError(f"{line}; `regard train --help` lists all flags.")


def _first(words: Sequence[str]) -> Namespace:
    """What decides about all other flags: preset, settings file, kind of model, resumed run."""
    import argparse

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--config")
    parser.add_argument("--model.kind", dest="kind")
    parser.add_argument("--resume")
    found, _ = parser.parse_known_args(list(words))
    return found


def _base(found: Namespace) -> Settings:
    """The settings that flags change: those of the resumed run, or preset and settings file."""
    if found.resume:
        return plain(load_run(found.resume))
    written = read_settings(found.config) if found.config else {}
    kind = found.kind or (written.get("model") or {}).get("kind") or "transformer"
    if kind not in MODELS:
        raise InputError(f"model.kind must be {', '.join(MODELS)}, but {kind!r} came.")
    return merged(preset(found.preset or "small", kind), written)


def _ends(words: Sequence[str], found: Namespace) -> set[str]:
    """The ends of a run that the user named, by flag or in the settings file."""
    training = (read_settings(found.config).get("training") or {}) if found.config else {}
    flags = {word.partition("=")[0] for word in words}
    return {
        name
        for name in ENDS
        if flags & {f"--{name}", f"--training.{name}"} or training.get(name) is not None
    }


def _parser(settings: Settings) -> Any:
    from jsonargparse import ArgumentParser, set_parsing_settings

    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = ArgumentParser(
        prog="regard train",
        usage="regard train FILE… --out DIR [--dev FILE…] [--languages en-fr] [--preset small]\n"
        "                    [--config run.yaml] [--minutes N] [--SECTION.SETTING VALUE …]",
        description="Learn a model from text: one file of pairs (.tsv .jsonl .tmx .po .xliff) or "
        "two aligned text files. For the kinds lm and mlm, plain text; for a classifier, label, "
        "tab and text in each line (.tsv), or series (.npz .jsonl); for handwriting, strokes "
        "(.jsonl), or none for the built-in ones.",
        exit_on_error=False,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="what to learn from")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the model")
    parser.add_argument("--dev", nargs="+", default=[], metavar="FILE", help="development set; "
                        "without it one is split off")  # fmt: skip
    parser.add_argument("--languages", metavar="en-fr", help="source and target language")
    parser.add_argument("--preset", choices=PRESETS, default="small", help="size to start from")
    parser.add_argument("--config", metavar="FILE", help="settings in YAML, over the preset's")
    parser.add_argument("--minutes", type=float, metavar="N", help="time budget")
    parser.add_argument("--resume", metavar="DIR", help="go on with the run in this folder")
    parser.add_argument("--json", action="store_true", help="print the model's figures as JSON")
    parser.add_argument("--model", type=MODELS[settings["model"]["kind"]], help=SUPPRESS)
    for name, section in SECTIONS.items():
        parser.add_argument(f"--{name}", type=section, help=SUPPRESS)
    defaults = {
        f"{name}.{key}": value
        for name in ("model", *SECTIONS)
        for key, value in (settings.get(name) or {}).items()
    }
    try:
        parser.set_defaults(defaults)
    except KeyError as error:
        raise InputError(f"settings: {error.args[0]}") from error
    return parser


if __name__ == "__main__":  # for quick looks at the flags
    parse(sys.argv[1:])
