"""`regard evaluate --gold`: alignment error rate of links, of a model or of the aligner itself."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from regard.cli.aligning import add_alignment, aligned_pairs, check_alignment
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.evaluation import AlignmentScores
    from regard.formats.word_links import WordLink


def add_gold(parser: argparse.ArgumentParser) -> None:
    """Add the flags of word links."""
    parser.add_argument(
        "--gold",
        metavar="FILE",
        help="score word links against these (.talp counts words from 1, others from 0): "
        "those of --model, of the statistical aligner without one, or of --links",
    )
    parser.add_argument("--links", metavar="FILE", help="with --gold: links to score")
    add_alignment(parser)


def check_gold(arguments: argparse.Namespace) -> None:
    """Raise an error if flags of word links are given without --gold."""
    for name in ("links", "reverse", "method", "rule", "layer", "head", "shift", "corpus"):
        if getattr(arguments, name) not in (None, []):
            raise InputError(f"--{name} is for word links; give --gold FILE.")


def evaluate_links(arguments: argparse.Namespace, languages: tuple[str, str] | None) -> int:
    """Score links, print."""
    from regard.evaluation import gold_alignment_error_rate
    from regard.formats.word_links import read_links

    if arguments.hypotheses or arguments.output or arguments.ter:
        raise InputError("--gold scores word links; leave --hypotheses, --output and --ter out.")
    check_alignment(arguments)
    gold = list(read_links(arguments.gold, arguments.encoding))
    begun = time.perf_counter()
    if arguments.links:
        if arguments.files or arguments.model or arguments.corpus or arguments.method:
            raise InputError("--links are scored as they are; give --gold FILE and nothing else.")
        predicted = [line.sure for line in read_links(arguments.links, arguments.encoding)]
        name = arguments.links
    else:
        predicted, name = _own_links(arguments, languages), arguments.gold
    if len(predicted) != len(gold):
        raise InputError(
            f"{name}: there are links of {len(predicted):,} pairs and gold ones of {len(gold):,}; "
            "give the same pairs for both."
        )
    scores = gold_alignment_error_rate(predicted, gold)
    seconds = time.perf_counter() - begun
    if arguments.json:
        values = {**_as_json(scores), "sentences": len(gold), "seconds": seconds}
        print(json.dumps({**values, "model": arguments.model}))
    else:
        _print(scores, len(gold), seconds)
    return 0


def _own_links(
    arguments: argparse.Namespace, languages: tuple[str, str] | None
) -> list[frozenset[WordLink]]:
    """The links of the model or of the statistical aligner, between words split by spaces."""
    from regard.formats import read_pairs

    if not arguments.files:
        raise InputError("give the source and target that --gold links, or links with --links.")
    read = read_pairs(arguments.files, languages, encoding=arguments.encoding)
    pairs = (pair[:2] for pair in read)
    return [pair.links for pair in aligned_pairs(pairs, languages, arguments, tokenized=True)]


def _as_json(scores: AlignmentScores) -> dict[str, float]:
    return {
        "aer": scores.error_rate,
        "precision": scores.precision,
        "recall": scores.recall,
        "links": scores.predicted,
        "sure": scores.sure,
    }


def _print(scores: AlignmentScores, num_pairs: int, seconds: float) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    table.add_column("score, %")
    table.add_column("", justify="right")
    for name, value in (
        ("AER (lower is better)", scores.error_rate),
        ("precision", scores.precision),
        ("recall", scores.recall),
    ):
        table.add_row(name, f"{100 * value:.2f}")
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"{num_pairs:,} pairs, {scores.predicted:,} links, {scores.sure:,} sure gold links, "
        f"{seconds:.1f} s"
    )
