"""`regard bench`: how fast and how small, against the peers, in one run."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import sys

from regard.errors import InputError

SUBJECTS = {"attention": "the attention library against torch, naive formulas, KeOps, statsmodels"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    listed = "; ".join(f"{name}: {line}" for name, line in SUBJECTS.items())
    parser.add_argument("subject", choices=SUBJECTS, help=listed)
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON list")
    parser.add_argument(
        "--only", metavar="WORD", default="", help="only the rows whose name contains WORD"
    )
    parser.add_argument(
        "--repeats", metavar="N", type=_positive, default=7, help="runs to take the median of (7)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and say by the exit code 1 that a bar was missed."""
    from regard.bench.row import Row, print_table

    subject = importlib.import_module(f"regard.bench.{arguments.subject}")
    every = list(subject.measurements(arguments.repeats))
    chosen = [m for m in every if arguments.only.lower() in m.name.lower()]
    if not chosen:
        names = "; ".join(m.name for m in every)
        raise InputError(f"no row's name contains {arguments.only!r}; there are: {names}.")
    rows: list[Row] = []
    for measured in chosen:
        print(f"… {measured.name}", file=sys.stderr, flush=True)
        with contextlib.redirect_stdout(sys.stderr):  # a peer may talk
            rows.append(measured())
    if arguments.json:
        print(json.dumps([row.as_json() for row in rows], indent=1))
    else:
        print_table(f"regard bench {arguments.subject}", rows)
    return 0 if all(row.holds for row in rows) else 1


def _positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, but {word} came")
    return number
