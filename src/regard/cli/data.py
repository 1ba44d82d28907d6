"""`regard data`: clean pairs, and make new ones with a model."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from regard.cli.line_input import add_encoding, check_parent
from regard.cli.line_progress import LineProgress
from regard.cli.searching import add_sampling, add_search, search_options
from regard.command import command
from regard.tasks.commands import add_engine, add_model, positive


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    clean = actions.add_parser("clean", help="drop pairs that are not fit to learn from")
    _configure_clean(clean)
    back = actions.add_parser(
        "backtranslate", help="make pairs of text in the target language, by a reverse model"
    )
    back.add_argument(
        "files", nargs="+", metavar="FILE", help="text to translate back, a line each"
    )
    _configure_synthesis(back)
    back.add_argument("--sample", action="store_true", help="sample sources instead of searching")
    add_sampling(back)
    back.add_argument(
        "--tag",
        metavar="NAME",
        default="",
        help="write <NAME> before each source; train with --corpus FILE:tag=NAME",
    )
    back.set_defaults(act=_backtranslate)
    distill = actions.add_parser(
        "distill", help="replace the targets of pairs by a large model's translations"
    )
    distill.add_argument(
        "files", nargs="+", metavar="FILE", help="pairs in any format, or sources, a line each"
    )
    _configure_synthesis(distill)
    distill.add_argument(
        "--closest",
        action="store_true",
        help="of all hypotheses of the beam, the closest to the pair's target by sentence chrF",
    )
    distill.set_defaults(act=_distill)


def run(arguments: argparse.Namespace) -> int:
    """Clean or make pairs."""
    arguments.act(arguments)
    return 0


def _configure_clean(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    parser.set_defaults(act=_clean)
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="pairs: .tsv .jsonl .tmx .po .xliff, or two aligned text files",
    )
    add("--out", metavar="FILE", required=True, help="pairs that are kept: .tsv or .jsonl")
    add(
        "--dropped",
        metavar="FILE",
        help="pairs that are dropped, with reason, file and line: .tsv or .jsonl",
    )
    add(
        "--languages",
        metavar="en-fr",
        help="source and target language; text in another one is dropped",
    )
    add("--any-language", action="store_true", help="do not detect the language")
    add(
        "--max-length", metavar="N", type=positive, default=250, help="longest side, in words (250)"
    )
    add(
        "--max-ratio",
        metavar="X",
        type=float,
        default=3.0,
        help="largest ratio of the sides' lengths; 0: any (3)",
    )
    add("--keep-duplicates", action="store_true", help="keep all of several equal pairs")
    add("--keep-copies", action="store_true", help="keep pairs whose target equals the source")
    add("--model", metavar="DIR", help="folder of a model that scores the pairs")
    add(
        "--min-probability",
        metavar="P",
        type=float,
        default=0.0,
        help="least geometric mean of a target token's probability, e.g. 0.02",
    )
    add(
        "--min-alignment",
        metavar="X",
        type=float,
        default=0.0,
        help="least alignment score by that model, from 0 to 1; e.g. 0.3",
    )
    add("--threads", metavar="N", type=positive, default=0, help="processor cores to use (all)")
    add_encoding(parser)
    add("--json", action="store_true", help="print the report as JSON")


def _configure_synthesis(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_engine(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="pairs: .tsv or .jsonl; until all is done, FILE.partial, from which the same command "
        "continues if it was stopped",
    )
    parser.add_argument(
        "--to", metavar="de", default="", help="target language, of a model that has several"
    )
    add_search(parser)
    add_encoding(parser)


def _backtranslate(arguments: argparse.Namespace) -> None:
    from regard.tasks.data import backtranslate

    _synthesize(arguments, backtranslate, sample=arguments.sample, tag=arguments.tag)
    marked = f":tag={arguments.tag}" if arguments.tag else ""
    example = command("train", "pairs.tsv", "--corpus", f"{arguments.out}{marked}", "--out", "DIR")
    print(f"Train with them:  {example}", file=sys.stderr)


def _distill(arguments: argparse.Namespace) -> None:
    from regard.tasks.data import distill

    _synthesize(arguments, distill, sample=False, closest=arguments.closest)


def _synthesize(
    arguments: argparse.Namespace, function: Callable[..., Any], *, sample: bool, **options: Any
) -> None:
    """Make pairs by a model, with progress."""
    from regard.tasks.commands import open_model

    check_parent(arguments.out)
    model = open_model(
        arguments.model, "translate", arguments.threads, arguments.engine, arguments.precision
    )
    settings = search_options(arguments, model.run.decoding, sample=sample)
    with LineProgress(None) as progress:
        report = function(
            arguments.files,
            arguments.out,
            model=model,
            settings=settings,
            to=arguments.to,
            encoding=arguments.encoding,
            progress=progress.advance,
            report=_log,
            **options,
        )
    skipped = f"; {report.skipped:,} without text left out" if report.skipped else ""
    _log(f"{arguments.out}: {report.read - report.skipped:,} new pairs{skipped}")


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _clean(arguments: argparse.Namespace) -> None:
    from regard.config import CleaningSettings
    from regard.tasks.commands import open_model
    from regard.tasks.data import clean

    for path in filter(None, (arguments.out, arguments.dropped)):
        check_parent(path)
    rules = CleaningSettings(
        max_length=arguments.max_length,
        max_ratio=arguments.max_ratio,
        drop_duplicates=not arguments.keep_duplicates,
        drop_identical=not arguments.keep_copies,
    )
    model: Any = None
    if arguments.model:
        model = open_model(arguments.model, "translate", arguments.threads, precision="fp32")
    with LineProgress(None, unit="pairs") as progress:
        report = clean(
            arguments.files,
            arguments.out,
            languages=arguments.languages or "",
            dropped=arguments.dropped,
            rules=rules,
            any_language=arguments.any_language,
            model=model,
            min_probability=arguments.min_probability,
            min_alignment=arguments.min_alignment,
            encoding=arguments.encoding,
            progress=progress.advance,
        )
    if arguments.json:
        print(json.dumps(report.as_dict()))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    table.add_column("pairs")
    table.add_column("number", justify="right")
    table.add_column("first seen at", overflow="fold")
    for what, number, where in report.rows():
        table.add_row(what, f"{number:,}", where)
    Console(highlight=False).print(table)
