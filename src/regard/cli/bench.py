"""`regard bench`: how fast and how small, against the peers, in one run."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import sys
from typing import Any

from regard.errors import InputError

SUBJECTS = {
    "attention": "the attention library against torch, naive formulas, KeOps, statsmodels",
    "mechanisms": "every mechanism of self-attention: error, time, memory, and how they grow",
    "train": "training against a torch.nn.Transformer loop and JoeyNMT",
    "serve": "`regard serve` under many clients: errors, mixed-up answers, memory, throughput",
    "view": "the page and the report in Chromium: waiting for a translation, frames, size",
}
REPEATS = {"attention": 7, "mechanisms": 5, "train": 3, "serve": 5, "view": 5}
OPTIONS = {
    "mechanisms": ("tensors", "lengths", "causal", "figure"),
    "train": ("steps", "data", "joeynmt_env"),
    "serve": ("model", "clients", "seconds"),
    "view": ("model",),
}
"""What else can be set of a subject."""
WHOLE = {"mechanisms": "mechanisms_report", "serve": "serve"}
"""Subjects that print more than rows: the modules whose `report` does it all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    listed = "; ".join(f"{name}: {line}" for name, line in SUBJECTS.items())
    usual = ", ".join(f"{name} {number}" for name, number in REPEATS.items())
    parser.add_argument("subject", choices=SUBJECTS, help=listed)
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON list")
    parser.add_argument(
        "--only", metavar="WORD", default="", help="only the rows whose name contains WORD"
    )
    parser.add_argument(
        "--repeats", metavar="N", type=_positive, help=f"runs to take the median of ({usual})"
    )
    mechanisms = parser.add_argument_group("mechanisms")
    mechanisms.add_argument(
        "--tensors", metavar="FILE", help="safetensors of your own query, key and value: errors "
        "are measured over them instead of drawn ones",
    )  # fmt: skip
    mechanisms.add_argument(
        "--lengths", metavar="N", nargs="+", type=_positive,
        help="lengths to time (512 1024 … 16384)",
    )  # fmt: skip
    mechanisms.add_argument(
        "--causal", action="store_true", default=None, help="each token sees those before it only"
    )
    mechanisms.add_argument(
        "--figure", metavar="FILE", help="draw growth there (.png, .svg or .pdf)"
    )
    train = parser.add_argument_group("train")
    train.add_argument(
        "--steps", metavar="N", type=_positive, help="updates in each of the runs (30)"
    )
    train.add_argument(
        "--data", metavar=("SRC", "TGT"), nargs=2,
        help="two aligned text files to learn from, instead of made-up sentences",
    )  # fmt: skip
    train.add_argument(
        "--joeynmt-env", metavar="DIR",
        help="where JoeyNMT's environment is, or is made on first use "
        "($REGARD_BENCH_JOEYNMT, or regard/bench/joeynmt in the user's cache)",
    )  # fmt: skip
    serve = parser.add_argument_group("serve")
    serve.add_argument(
        "--model", metavar="DIR",
        help="folder of a model that translates from English (that of `regard demo`, trained on "
        "first use and kept)",
    )  # fmt: skip
    serve.add_argument(
        "--clients", metavar="N", type=_positive, help="how many ask at the same time (200)"
    )
    serve.add_argument(
        "--seconds", metavar="S", type=_positive, help="how long they ask, of the first part (60)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and say by the exit code 1 that a bar was missed."""
    from regard.bench.row import Row, print_table

    options = _options(arguments)
    if arguments.subject in WHOLE:
        report = importlib.import_module(f"regard.bench.{WHOLE[arguments.subject]}").report
        repeats = arguments.repeats or REPEATS[arguments.subject]
        return int(report(arguments.only, repeats, as_json=arguments.json, **options))
    subject = importlib.import_module(f"regard.bench.{arguments.subject}")
    repeats = arguments.repeats or REPEATS[arguments.subject]
    every = list(subject.measurements(repeats, **options))
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


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The subject's own options; one of another subject is an error."""
    known = OPTIONS.get(arguments.subject, ())
    given: dict[str, Any] = {}
    for subject, names in OPTIONS.items():
        for name in names:
            value = getattr(arguments, name)
            if value is None:
                continue
            if name not in known:
                flag = "--" + name.replace("_", "-")
                raise InputError(
                    f"{flag} belongs to `regard bench {subject}`, not to {arguments.subject}."
                )
            given[name] = value
    return given


def _positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, but {word} came")
    return number
