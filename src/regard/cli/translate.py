"""`regard translate`: text in, its translation out, line by line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.model import add_model, open_translator, positive
from regard.cli.searching import add_sampling, add_search, asked_search
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.config import Decoding
    from regard.translator import Translation, Translator

TOGETHER = 4096  # lines that are translated together, so that those of like length share batches


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="what to translate; else stdin")
    add_model(parser)
    parser.add_argument("--input", metavar="FILE", help="text to translate, a line each (or .gz)")
    parser.add_argument("--output", metavar="FILE", help="where to write (or .gz)")
    add_search(parser)
    parser.add_argument(
        "--n-best",
        metavar="N",
        type=positive,
        help="the N best of each line: number of the line, score and text, with tabs between",
    )
    parser.add_argument("--sample", action="store_true", help="draw at random, do not search")
    add_sampling(parser)
    parser.add_argument("--prefix", metavar="TEXT", default="", help="what it must begin with")
    parser.add_argument(
        "--max-length", metavar="N", type=positive, help="most tokens of a sentence"
    )
    parser.add_argument("--no-split", action="store_true", help="take each line as one sentence")
    parser.add_argument("--align", action="store_true", help="draw which words it looked at")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Translate."""
    _check(arguments)
    translator = open_translator(arguments.model, arguments.threads)
    settings = asked_search(arguments, translator.run.decoding, sample=arguments.sample)
    together = 1 if _by_hand(arguments) or arguments.align else TOGETHER
    done = _translated(translator, _texts(arguments), settings, arguments, together)
    if arguments.output:
        from regard.formats import write_lines

        write_lines(arguments.output, _lines(done, arguments))
    elif arguments.align:
        _draw(translator, done)
    else:
        for line in _lines(done, arguments):
            print(line, flush=together == 1)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """What can be said before the model is loaded."""
    if arguments.text and arguments.input:
        raise InputError("text and --input were both given; leave one out.")
    if arguments.align and (arguments.json or arguments.output or (arguments.n_best or 1) > 1):
        raise InputError("--align draws for people; leave --json, --output and --n-best out.")
    if arguments.output and not Path(arguments.output).absolute().parent.is_dir():
        raise InputError(f"{arguments.output}: there is no such folder; make it first.")
    if arguments.input:
        from regard.formats.compressed import reading

        with reading(arguments.input):  # that it can be read
            pass


def _by_hand(arguments: argparse.Namespace) -> bool:
    """Whether somebody types."""
    return not arguments.text and not arguments.input and sys.stdin.isatty()


def _texts(arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.text:
        yield from arguments.text
        return
    from regard.formats.lines import decoded, read_lines

    if arguments.input:
        yield from read_lines(arguments.input)
        return
    if _by_hand(arguments):
        print("Type text to translate, a line at a time; Ctrl-D ends.", file=sys.stderr)
    for number, line in enumerate(sys.stdin.buffer, start=1):
        text = decoded(line, "standard input", number).removeprefix("\ufeff" * (number == 1))
        yield text.removesuffix("\n").removesuffix("\r")


def _translated(
    translator: Translator,
    texts: Iterable[str],
    settings: Decoding,
    arguments: argparse.Namespace,
    together: int,
) -> Iterator[Translation]:
    """The translations in the texts' order, `together` at a time."""
    rest, begun = iter(texts), 0
    while some := list(islice(rest, together)):
        yield from translator.translate(
            some,
            settings=replace(settings, seed=settings.seed + begun),  # other chances for each
            prefix=arguments.prefix,
            alignment=arguments.json or arguments.align,
            attention=arguments.align,
            split=not arguments.no_split and settings.n_best == 1,
        )
        begun += len(some)


def _lines(done: Iterable[Translation], arguments: argparse.Namespace) -> Iterator[str]:
    """What is printed of each translation."""
    for number, one in enumerate(done, start=1):
        if arguments.json:
            yield json.dumps(one.as_dict(), ensure_ascii=False)
        elif (arguments.n_best or 1) > 1:
            alternatives = one.sentences[0].alternatives if len(one.sentences) == 1 else ()
            for text, score in ((one.text, one.score), *alternatives):
                yield f"{number}\t{score:.4f}\t{text}"
        else:
            yield one.text


def _draw(translator: Translator, done: Iterable[Translation]) -> None:
    from rich.console import Console

    from regard.translator.seen import drawn

    console = Console()
    for one in done:
        print(one.text, flush=True)
        for number, sentence in enumerate(one.sentences, start=1):
            console.print()
            console.print(drawn(sentence, translator.run, legend=number == len(one.sentences)))
        console.print()
