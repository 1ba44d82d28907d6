"""`regard generate`: a language model continues a text."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from regard.cli.searching import add_sampling, add_search, search_options
from regard.tasks.commands import add_model, open_model, positive

if TYPE_CHECKING:
    from regard.config import SearchOptions
    from regard.tasks.language_model.generator import Generator

MAX_TOKENS = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("prompt", nargs="?", default="", metavar="TEXT", help="text to continue")
    add_model(parser)
    parser.add_argument("--count", metavar="N", type=positive, default=1, help="continuations (1)")
    parser.add_argument(
        "--next",
        metavar="N",
        type=positive,
        help="print the N most probable next tokens instead, with logits and probabilities",
    )
    parser.add_argument(
        "--max-length",
        metavar="N",
        type=positive,
        help=f"most tokens after the text ({MAX_TOKENS})",
    )
    add_sampling(parser)
    add_search(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON object per text")


def run(arguments: argparse.Namespace) -> int:
    """Print the continuations."""
    arguments.n_best, max_tokens = arguments.count, arguments.max_length or MAX_TOKENS
    arguments.max_length = None
    generator: Generator = open_model(arguments.model, "generate", arguments.threads)
    own = replace(generator.run.decoding, beam=1)
    settings = search_options(arguments, own, sample=arguments.beam is None)
    if arguments.next:
        return _print_next(generator, arguments, settings)
    prompt_tokens = len(generator.tokenizer.encode(arguments.prompt)) if arguments.prompt else 0
    settings = replace(settings, max_length=prompt_tokens + max_tokens)
    streams = sys.stdout.isatty() and arguments.count == 1 and settings.beam == 1
    if streams and not arguments.json:
        for piece in generator.stream(arguments.prompt, settings=settings):
            print(piece, end="", flush=True)
        print()
    else:
        _print(generator, arguments, settings)
    return 0


def _print(generator: Generator, arguments: argparse.Namespace, settings: SearchOptions) -> None:
    for generated in generator.generate(arguments.prompt, settings=settings):
        if arguments.json:
            row = {
                "text": generated.text,
                "score": generated.score,
                "tokens": list(generated.tokens),
                "finished": generated.finished,
            }
            print(json.dumps(row, ensure_ascii=False))
        else:
            print(generated.text)


def _print_next(
    generator: Generator, arguments: argparse.Namespace, settings: SearchOptions
) -> int:
    """Print the distribution of the next token."""
    words = generator.next_words(arguments.prompt, arguments.next, settings=settings)
    if arguments.json:
        names = ("temperature", "top_k", "top_p")
        about = {"text": arguments.prompt} | {name: getattr(settings, name) for name in names}
        rows = [asdict(word) for word in words]
        print(json.dumps({**about, "next": rows}, ensure_ascii=False))
        return 0
    from regard.cli.distribution import print_distribution

    print_distribution(words, settings, f"after “{arguments.prompt}”")
    return 0
