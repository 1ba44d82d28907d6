"""`regard fill`: a masked language model predicts masked words."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from regard.cli.searching import add_sampling, search_options
from regard.errors import InputError
from regard.tasks.commands import add_model, open_model, positive

if TYPE_CHECKING:
    from regard.config import SearchOptions
    from regard.tasks.masked_language_model.mask_filler import MaskFiller, MaskPrediction

MASK = "[MASK]"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", metavar="TEXT", help=f"a text with one {MASK} or several")
    add_model(parser)
    parser.add_argument(
        "--count", metavar="N", type=positive, default=5, help="predictions each (5)"
    )
    add_sampling(parser)
    parser.add_argument("--json", action="store_true", help="print the predictions as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Predict the masked words of a text."""
    if MASK not in arguments.text:
        raise InputError(f"there is no {MASK} in {arguments.text!r}; write one in place of a word.")
    filler: MaskFiller = open_model(arguments.model, "fill", arguments.threads)
    settings = search_options(arguments, filler.run.decoding, sample=True)
    masks = filler.fill(arguments.text, arguments.count, settings=settings)
    if arguments.json:
        rows = [[asdict(prediction) for prediction in predictions] for predictions in masks]
        print(json.dumps({"text": arguments.text, "masks": rows}, ensure_ascii=False))
    else:
        _print(masks, settings)
    return 0


def _print(masks: list[list[MaskPrediction]], settings: SearchOptions) -> None:
    from regard.cli.distribution import print_distribution

    for number, predictions in enumerate(masks, start=1):
        title = f"{MASK} {number}" if len(masks) > 1 else MASK
        texts = [prediction.text for prediction in predictions]
        print_distribution(predictions, settings, title, texts)
