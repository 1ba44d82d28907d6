"""`python -m benchmarks SUBJECT`: regard against its peers, in ratios taken in one run.

The exit code is 1 if a bar was missed and 2 for bad input.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import about_run, check_folder, keep_rows
from benchmarks.subjects import SUBJECTS
from regard.bench.row import Row, print_table
from regard.errors import InputError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one benchmark and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    options = vars(benchmark_parser().parse_args(words))
    subject, run, keep = (options.pop(name) for name in ("subject", "run", "keep"))
    chosen = {name: value for name, value in options.items() if value is not None}
    try:
        if keep is not None:
            check_folder(keep)
            about = about_run(words)
        rows: list[Row] = run(subject, **chosen)
        if keep is not None:
            print(f"kept in {keep_rows(keep, subject, about, rows)}", file=sys.stderr)
        return 0 if all(row.holds for row in rows) else 1
    except (InputError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


def benchmark_parser() -> argparse.ArgumentParser:
    """The parser of `python -m benchmarks`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    subjects = parser.add_subparsers(dest="subject", metavar="SUBJECT", required=True)

    def subject(name: str, repeats: int, run: Callable[..., list[Row]] = _measure_rows) -> Any:
        line = SUBJECTS[name].about[0]
        sub = subjects.add_parser(name, help=line, description=line, allow_abbrev=False)
        sub.set_defaults(run=run)
        sub.add_argument("--json", action="store_true", help="print the results as JSON")
        sub.add_argument(
            "--keep",
            metavar="DIR",
            type=Path,
            help="also write the results to DIR/SUBJECT.json, for the documentation",
        )
        sub.add_argument("--only", metavar="WORD", default="", help="only rows that contain WORD")
        sub.add_argument(
            "--repeats",
            metavar="N",
            type=_positive,
            default=repeats,
            help=f"runs to take the median of ({repeats})",
        )
        return sub

    subject("attention", 7)
    train = subject("train", 3)
    train.add_argument("--steps", metavar="N", type=_positive, help="updates in each run (30)")
    train.add_argument(
        "--data",
        metavar=("SRC", "TGT"),
        nargs=2,
        help="two aligned text files to train on, instead of random sentences",
    )
    train.add_argument(
        "--joeynmt-env",
        metavar="DIR",
        help="JoeyNMT's virtual environment, created on first use "
        "($REGARD_BENCH_JOEYNMT, or regard/bench/joeynmt in the user's cache)",
    )
    decode = subject("decode", 3)
    decode.add_argument(
        "--model",
        metavar="DIR",
        help="folder of a Transformer that translates en to de (default: trained on --data on "
        "first use and cached)",
    )
    decode.add_argument(
        "--rnn", metavar="DIR", help="the same of a recurrent network with Bahdanau's attention"
    )
    decode.add_argument(
        "--data",
        metavar="DIR",
        help="folder of Multi30k: train, val and test_2016_flickr, each .en and .de",
    )
    decode.add_argument(
        "--sentences", metavar="N", type=_positive, help="test sentences to translate (512)"
    )
    quality = subject("quality", 1)
    quality.add_argument("--data", metavar="DIR", help="folder of the corpora")
    quality.add_argument(
        "--out", metavar="DIR", help="folder of the models; what is there is not trained (quality)"
    )
    quality.add_argument(
        "--minutes", metavar="N", type=_positive, help="time budget of each training (60)"
    )
    alignment = subject("alignment", 1)
    alignment.add_argument(
        "--data",
        metavar="DIR",
        help="folder of gold-alignments and of the text to learn from: tatoeba, debian, "
        "python-docs",
    )
    bulk = subject("bulk", 1)
    bulk.add_argument("--lines", metavar="N", type=_positive, help="number of lines (1,000,000)")
    bulk.add_argument(
        "--model",
        metavar="DIR",
        help="folder of a model that translates from English (default: a tiny one, trained for it)",
    )
    files = subject("files", 3)
    files.add_argument("--model", metavar="DIR", help="folder of a model that translates")
    files.add_argument("--source", metavar="FILE", help="lines to translate, repeated as needed")
    files.add_argument("--lines", metavar="N", type=_positive, help="number of lines (20,000)")
    wording = subject("wording", 1)
    wording.add_argument("--model", metavar="DIR", help="folder of a model that translates")
    wording.add_argument(
        "--messages", metavar="FILE", help="messages with placeholders (.po, .jsonl, .tmx, .xliff)"
    )
    wording.add_argument(
        "--pairs",
        metavar="FILE[,FILE]",
        help="sentences that it has not seen, with references",
    )
    wording.add_argument("--number", metavar="N", type=_positive, help="messages (1,000)")
    wording.add_argument("--terms", metavar="N", type=_positive, help="sentences with terms (500)")
    faults = subject("faults", 1)
    faults.add_argument("--kills", metavar="N", type=_positive, help="number of SIGKILLs (100)")
    faults.add_argument("--seed", metavar="N", type=int, help="of the random moments (0)")
    fuzz = subject("fuzz", 1, _report_fuzzing)
    fuzz.add_argument("--minutes", metavar="N", type=float, help="minutes of each group (30)")
    fuzz.add_argument("--group", metavar="NAME", help="documents, texts, files or folders")
    fuzz.add_argument(
        "--corpus",
        metavar="DIR",
        help="folder of the inputs, which are kept and read again (regard/fuzz in the user's "
        "cache)",
    )
    fuzz.add_argument("--replay", metavar="FILE", help="only execute what was found once more")
    serve = subject("serve", 5, _report_load)
    hostile = subject("hostile", 1, _report_hostile)
    hostile.add_argument("--minutes", metavar="N", type=float, help="minutes of the attack (10)")
    hostile.add_argument(
        "--serve", metavar="OPTIONS", help='options of the server, as in --serve "--threads 1"'
    )
    view = subject("view", 5)
    for sub in (serve, hostile, view):
        sub.add_argument(
            "--model",
            metavar="DIR",
            help="folder of a model that translates from English (default: that of `regard demo`, "
            "trained on first use and cached)",
        )
    serve.add_argument(
        "--source", metavar="FILE", help="sentences to translate (default: of the grammar)"
    )
    serve.add_argument(
        "--clients", metavar="N", type=_positive, help="number of concurrent clients (200)"
    )
    serve.add_argument(
        "--seconds", metavar="S", type=_positive, help="duration of the load test (60)"
    )
    return parser


def _measure_rows(subject: str, only: str, repeats: int, json: bool, **options: Any) -> list[Row]:
    """Measure and print the chosen rows of a subject."""
    module = {"train": "train.race"}.get(subject, subject)
    if subject in ("alignment", "decode", "faults"):
        module = f"{subject}.rows"
    every = list(importlib.import_module(f"benchmarks.{module}").measurements(repeats, **options))
    chosen = [measurement for measurement in every if only.lower() in measurement.name.lower()]
    if not chosen:
        names = "; ".join(measurement.name for measurement in every)
        raise InputError(f"no row's name contains {only!r}; the rows are: {names}.")
    rows = [_measure(measurement.name, measurement) for measurement in chosen]
    _print(f"python -m benchmarks {subject}", rows, json)
    return rows


def _measure(name: str, measurement: Callable[[], Row]) -> Row:
    print(f"… {name}", file=sys.stderr, flush=True)
    with contextlib.redirect_stdout(sys.stderr):  # peers print
        return measurement()


def _print(title: str, rows: Iterable[Row], as_json: bool) -> None:
    if as_json:
        print(json.dumps([row.as_json() for row in rows], indent=1))
    else:
        print_table(title, list(rows))


def _report_load(subject: str, only: str, repeats: int, json: bool, **options: Any) -> list[Row]:
    """Run the load test, which prints more than rows."""
    from benchmarks.serve.load import report

    return report(only, repeats, as_json=json, **options)


def _report_hostile(subject: str, only: str, repeats: int, json: bool, **options: Any) -> list[Row]:
    """Run the hostile load, which prints more than rows."""
    from benchmarks.hostile.run import report

    return report(as_json=json, **options)


def _report_fuzzing(subject: str, only: str, repeats: int, json: bool, **options: Any) -> list[Row]:
    """Fuzz, which prints more than rows."""
    from benchmarks.fuzz.run import report

    return report(only, as_json=json, **options)


def _positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {word}")
    return number


if __name__ == "__main__":
    sys.exit(main())
