"""Word alignment as commands offer it: their flags, and the aligned pairs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from regard.cli.line_progress import LineProgress
from regard.errors import InputError
from regard.tasks.commands import open_model

if TYPE_CHECKING:
    from regard.tasks.alignment.aligned_pair import AlignedPair
    from regard.tasks.alignment.model_aligner import ModelAligner

METHODS = ("grow-diag-final-and", "grow-diag", "intersection", "union", "forward", "backward")
RULES = ("argmax", "mutual", "entropic")


def add_alignment(parser: argparse.ArgumentParser) -> None:
    """Add what is aligned by which model, and how; `--model` is added by the command."""
    parser.add_argument(
        "--reverse",
        metavar="DIR",
        help="folder of a model of the other direction; links of both are combined by --method",
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        help="how links of both directions are combined (grow-diag-final-and)",
    )
    parser.add_argument(
        "--rule", choices=RULES, help="how links are read from attention (as training chose)"
    )
    parser.add_argument(
        "--layer", metavar="N", type=_number, help="decoder layer to read, from 0 (the chosen one)"
    )
    parser.add_argument(
        "--head", metavar="N", type=_head, help="head to read, from 0, or mean (the chosen one)"
    )
    parser.add_argument(
        "--shift",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="read a word's row where it is the input, instead of where it is predicted",
    )
    parser.add_argument(
        "--corpus",
        metavar="FILE",
        action="append",
        default=[],
        help="without a model: more pairs to learn from, which are not aligned; may be repeated",
    )


def check_alignment(arguments: argparse.Namespace) -> None:
    """Raise an error for flags that do not go together."""
    if arguments.model:
        if arguments.corpus:
            raise InputError("--corpus is for the statistical aligner; leave --model out.")
        if arguments.method and not arguments.reverse:
            raise InputError(
                "--method combines two directions; give --reverse DIR, the other model."
            )
        return
    for name in ("reverse", "rule", "layer", "head", "shift"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name} is for the attention of a model; give --model DIR.")


def aligned_pairs(
    pairs: Iterable[tuple[str, str]],
    languages: tuple[str, str] | None,
    arguments: argparse.Namespace,
    *,
    tokenized: bool,
) -> Iterator[AlignedPair]:
    """The pairs with their links: as they are read with a model, at the end without one.

    tokenized  whether spaces separate the words of the pairs; in --corpus they do if the command
               has a flag --tokenized and it is given
    """
    if not arguments.model:
        from regard.formats import read_pairs
        from regard.tasks.alignment.text_aligner import align_text

        more = (
            pair[:2]
            for file in arguments.corpus
            for pair in read_pairs(file, languages, encoding=arguments.encoding)
        )
        with LineProgress(None, unit="pairs", label="learning") as progress:
            yield from align_text(
                pairs,
                languages or ("", ""),
                method=arguments.method or METHODS[0],
                tokenized=tokenized,
                more=more,
                progress=progress.advance,
                more_tokenized=getattr(arguments, "tokenized", False),
            )
        return
    from regard.tasks.alignment.model_aligner import align_with_model

    method, folder = arguments.method or METHODS[0], arguments.reverse
    aligner = _model_aligner(arguments.model, arguments, tokenized)
    reverse = _model_aligner(folder, arguments, tokenized) if folder else None
    yield from align_with_model(pairs, aligner, reverse, method)
    if too_long := max(aligner.too_long, reverse.too_long if reverse else 0):
        print(
            f"regard: {too_long:,} pairs are longer than the model can read and have no links.",
            file=sys.stderr,
        )


def _model_aligner(folder: str, arguments: argparse.Namespace, tokenized: bool) -> ModelAligner:
    from regard.tasks.alignment.model_aligner import MapReading, ModelAligner

    model = open_model(folder, "translate", arguments.threads, "torch")
    own = folder == arguments.model  # a layer or head of one model means nothing in another
    model = model.into(arguments.to if own else "")
    reading = MapReading(
        layer=arguments.layer if own else None,
        head=arguments.head if own else None,
        shift=arguments.shift if own else None,
        rule=arguments.rule,
    )
    return ModelAligner(model, reading, tokenized=tokenized)


def _number(word: str) -> int:
    if not word.isascii() or not word.isdigit():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, got {word!r}")
    return int(word)


def _head(word: str) -> int:
    return -1 if word == "mean" else _number(word)
