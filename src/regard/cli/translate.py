"""`regard translate`: text in, its translation out, line by line; or an HTML page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from regard.cli.line_input import (
    add_encoding,
    check_output_name,
    count_lines,
    input_format,
    is_plain_file,
    read_text,
    stdin_lines,
)
from regard.cli.line_progress import LineProgress
from regard.cli.partial_output import PartialOutput, model_digest
from regard.cli.searching import add_sampling, add_search, asked_search
from regard.errors import InputError
from regard.formats.lines import read_lines
from regard.tasks.commands import add_model, open_model, positive
from regard.version import __version__

if TYPE_CHECKING:
    from regard.config import SearchOptions
    from regard.translator import Translation, Translator


class Source(NamedTuple):
    """The text to translate.

    lines       makes an iterator over the lines; None among them: no other is ready yet
    total       how many there are, if that is known
    repeatable  whether `lines` may be called again
    """

    lines: Callable[[], Iterator[str | None]]
    total: int | None
    repeatable: bool


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="what to translate; else stdin")
    add_model(parser)
    parser.add_argument(
        "--input", metavar="FILE", help="text to translate, a line each, or HTML (either with .gz)"
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="where to write (or .gz); until all is done, to FILE.partial, from which the same "
        "command goes on if it was stopped",
    )
    parser.add_argument(
        "--format",
        choices=("text", "html"),
        help="what is translated (by the name of the input; text)",
    )
    parser.add_argument(
        "--plain",
        dest="format",
        action="store_const",
        const="text",
        help="the same as --format text: any file, every line of it as plain text",
    )
    add_encoding(parser)
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
    arguments.input = None if arguments.input == "-" else arguments.input
    arguments.output = None if arguments.output == "-" else arguments.output
    kind = _checked_format(arguments)
    source = None if kind == "html" else _source(arguments)
    translator: Translator = open_model(arguments.model, "translate", arguments.threads)
    settings = asked_search(arguments, translator.run.decoding, sample=arguments.sample)
    if source is None:
        _translate_html(translator, settings, arguments)
    elif arguments.align:
        _draw(translator, _translated(translator, source.lines(), settings, arguments))
    elif arguments.output and not _is_device(arguments.output):
        _write_file(translator, source, settings, arguments)
    else:
        _write_stream(translator, source, settings, arguments)
    return 0


def _checked_format(arguments: argparse.Namespace) -> str:
    """The input's format; what can be said before the model is loaded is."""
    if arguments.text and arguments.input:
        raise InputError("text and --input were both given; leave one out.")
    several = (arguments.n_best or 1) > 1
    if arguments.align and (arguments.json or arguments.output or several):
        raise InputError("--align draws for people; leave --json, --output and --n-best out.")
    kind = input_format(arguments.input, arguments.format)
    if kind == "html" and (arguments.json or arguments.align or several or arguments.prefix):
        raise InputError(
            "an HTML page is written as a whole; leave --json, --align, --n-best and --prefix out, "
            "or give --plain."
        )
    if arguments.output:
        path = Path(arguments.output)
        if path.is_dir():
            raise InputError(f"{path}: this is a folder; give the name of a file.")
        if not path.absolute().parent.is_dir():
            raise InputError(f"{path}: there is no such folder; make it first.")
        own = {".jsonl", ".ndjson", ".json"} if arguments.json else {".tsv"} if several else set()
        check_output_name(
            arguments.output, kind, explicit=bool(arguments.format), allowed=frozenset(own)
        )  # fmt: skip
    return kind


def _source(arguments: argparse.Namespace) -> Source:
    """The lines to translate; a file is counted, and what cannot be decoded found, beforehand."""
    if arguments.text:
        return Source(lambda: iter(arguments.text), len(arguments.text), True)
    path, encoding = arguments.input, arguments.encoding
    if path:
        plain = is_plain_file(path)
        total = count_lines(path, encoding) if plain else None
        return Source(lambda: read_lines(path, encoding), total, plain)
    if _by_hand(arguments):
        print("Type text to translate, a line at a time; Ctrl-D ends.", file=sys.stderr)
    return Source(lambda: stdin_lines(encoding), None, False)


def _by_hand(arguments: argparse.Namespace) -> bool:
    """Whether somebody types."""
    return not arguments.text and not arguments.input and sys.stdin.isatty()


def _is_device(path: str) -> bool:
    """Whether it is a pipe or a device, which is written to but not replaced."""
    return Path(path).exists() and not Path(path).is_file()


def _translated(
    translator: Translator,
    lines: Iterator[str | None],
    settings: SearchOptions,
    arguments: argparse.Namespace,
    first: int = 0,
) -> Iterator[list[Translation]]:
    """The translations in the lines' order, some at a time as they are done."""
    found = translator.translate_lines(
        lines,
        settings=settings,
        prefix=arguments.prefix,
        alignment=arguments.json or arguments.align,
        attention=arguments.align,
        split=not arguments.no_split and settings.n_best == 1,
        first=first,
        **({"together": 1} if _by_hand(arguments) or arguments.align else {}),
    )
    copied = 0
    for window in found:
        yield window
        copied += sum(one.hypothesis is None for done in window for one in done.sentences)
    if copied:
        from regard.tasks.translation.segments import ENDLESS_WORD

        _say(f"words of {ENDLESS_WORD:,} characters or more, copied as they are: {copied:,}")


def _write_file(
    translator: Translator, source: Source, settings: SearchOptions, arguments: argparse.Namespace
) -> None:
    """Write to FILE.partial as it goes, and to FILE when all is done."""
    options = {
        **asdict(settings), "prefix": arguments.prefix, "split": not arguments.no_split,
        "n_best": arguments.n_best, "json": arguments.json,
    }  # fmt: skip
    identity = {
        "model": model_digest(arguments.model), "options": options, "version": __version__
    }  # fmt: skip
    with PartialOutput(arguments.output, identity, _say) as output:
        lines = output.remaining(source.lines, repeatable=source.repeatable)
        with LineProgress(source.total, done=output.done) as progress:
            for window in _translated(translator, lines, settings, arguments, output.done):
                rows = _rows(window, arguments, output.done + 1)
                output.write([one.source for one in window], list(rows))
                progress.advance(len(window))
        output.finish()


def _write_stream(
    translator: Translator, source: Source, settings: SearchOptions, arguments: argparse.Namespace
) -> None:
    """Write to standard output, a pipe or a device as it goes."""
    shown = sys.stdout.isatty() and not arguments.output  # the lines themselves are the progress
    progress = None if shown or arguments.text else LineProgress(source.total)
    done = 0
    with _stream(arguments.output) as stream, progress or nullcontext():
        for window in _translated(translator, source.lines(), settings, arguments):
            for row in _rows(window, arguments, done + 1):
                print(row, file=stream)
            stream.flush()
            done += len(window)
            if progress:
                progress.advance(len(window))


def _stream(output: str | None) -> AbstractContextManager[IO[str]]:
    return Path(output).open("w", encoding="utf-8") if output else nullcontext(sys.stdout)


def _rows(window: list[Translation], arguments: argparse.Namespace, first: int) -> Iterator[str]:
    """What is printed of each translation, of which the first is of line `first`."""
    for number, one in enumerate(window, start=first):
        if arguments.json:
            yield json.dumps(one.as_dict(), ensure_ascii=False)
        elif (arguments.n_best or 1) > 1:
            alternatives = one.sentences[0].alternatives if len(one.sentences) == 1 else ()
            for text, score in ((one.text, one.score), *alternatives):
                yield f"{number}\t{score:.4f}\t{text}"
        else:
            yield one.text


def _translate_html(
    translator: Translator, settings: SearchOptions, arguments: argparse.Namespace
) -> None:
    """Translate pages; one that is read in another encoding is written in it too."""
    from regard.tasks.translation.pages import translate_html

    pages = arguments.text or [read_text(arguments.input, arguments.encoding)]
    made = []
    with LineProgress(None, unit="texts") as shown:

        def progress(done: int, total: int) -> None:
            shown.total = total
            shown.advance(done - shown.done)

        for page in pages:
            made.append(
                translate_html(
                    translator,
                    page,
                    settings=settings,
                    split=not arguments.no_split,
                    progress=progress,
                )
            )
    text = "".join(page + "\n" for page in made) if arguments.text else made[0]
    data = text.encode(arguments.encoding, "xmlcharrefreplace")
    if arguments.output:
        from regard.formats.compressed import open_write

        with open_write(arguments.output) as file:
            file.write(data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def _draw(translator: Translator, windows: Iterator[list[Translation]]) -> None:
    from rich.console import Console

    from regard.tasks.translation.sentence_view import drawn

    console = Console()
    for one in (one for window in windows for one in window):
        print(one.text, flush=True)
        for number, sentence in enumerate(one.sentences, start=1):
            console.print()
            console.print(drawn(sentence, translator.run, legend=number == len(one.sentences)))
        console.print()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
