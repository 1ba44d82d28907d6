"""`regard generate`: a language model goes on with a text."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from regard.cli.model import add_model, open_generator, positive
from regard.cli.searching import add_sampling, add_search, search_options

if TYPE_CHECKING:
    from regard.config import SearchOptions
    from regard.translator import Generator

LENGTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("prompt", nargs="?", default="", metavar="TEXT", help="how it begins")
    add_model(parser)
    parser.add_argument("--count", metavar="N", type=positive, default=1, help="how many (1)")
    parser.add_argument(
        "--max-length", metavar="N", type=positive, help=f"most tokens after the text ({LENGTH})"
    )
    add_sampling(parser)
    add_search(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object a text")


def run(arguments: argparse.Namespace) -> int:
    """Write on."""
    arguments.n_best, length = arguments.count, arguments.max_length or LENGTH
    arguments.max_length = None
    generator = open_generator(arguments.model, arguments.threads)
    own = replace(generator.run.decoding, beam=1)
    settings = search_options(arguments, own, sample=arguments.beam is None)
    begun = len(generator.tokenizer.encode(arguments.prompt)) if arguments.prompt else 0
    settings = replace(settings, max_length=begun + length)
    streams = sys.stdout.isatty() and arguments.count == 1 and settings.beam == 1
    if streams and not arguments.json:
        for piece in generator.stream(arguments.prompt, settings=settings):
            print(piece, end="", flush=True)
        print()
    else:
        _write(generator, arguments, settings)
    return 0


def _write(generator: Generator, arguments: argparse.Namespace, settings: SearchOptions) -> None:
    for one in generator.generate(arguments.prompt, settings=settings):
        if arguments.json:
            found = {
                "text": one.text, "score": one.score, "tokens": list(one.tokens),
                "finished": one.finished,
            }  # fmt: skip
            print(json.dumps(found, ensure_ascii=False))
        else:
            print(one.text)
