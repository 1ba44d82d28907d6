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
    check_parent,
    count_lines,
    input_format,
    is_plain_file,
    read_text,
    stdin_lines,
)
from regard.cli.line_progress import LineProgress
from regard.cli.partial_output import PartialOutput, model_digest
from regard.cli.searching import add_sampling, add_search, search_options
from regard.errors import InputError
from regard.formats.lines import read_lines
from regard.tasks.commands import add_deterministic, add_engine, add_model, open_model, positive
from regard.version import __version__

if TYPE_CHECKING:
    from regard.config import SearchOptions
    from regard.tasks.translation.translation import Translation
    from regard.tasks.translation.translator import Translator


class LineSource(NamedTuple):
    """The lines to translate.

    lines       returns an iterator over the lines; None among them: no other is ready yet
    total       the number of lines, if it is known
    repeatable  whether `lines` may be called again
    """

    lines: Callable[[], Iterator[str | None]]
    total: int | None
    repeatable: bool


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="text to translate; else stdin")
    add_model(parser)
    add_engine(parser)
    add_deterministic(parser)
    parser.add_argument(
        "--input", metavar="FILE", help="text to translate, a line each, or HTML (either with .gz)"
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="where to write (or .gz); until all is done, to FILE.partial, from which the same "
        "command continues if it was stopped",
    )
    parser.add_argument(
        "--format",
        choices=("text", "html"),
        help="format of the input (by its name; else text)",
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
    parser.add_argument(
        "--sample", action="store_true", help="sample at random instead of searching"
    )
    add_sampling(parser)
    parser.add_argument(
        "--prefix", metavar="TEXT", default="", help="what the translation must begin with"
    )
    parser.add_argument(
        "--max-length", metavar="N", type=positive, help="maximum tokens of a sentence"
    )
    parser.add_argument("--no-split", action="store_true", help="take each line as one sentence")
    parser.add_argument("--align", action="store_true", help="draw the word alignment")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Translate."""
    arguments.input = None if arguments.input == "-" else arguments.input
    arguments.output = None if arguments.output == "-" else arguments.output
    kind = _checked_format(arguments)
    source = None if kind == "html" else _source(arguments)
    translator: Translator = open_model(
        arguments.model, "translate", arguments.threads, arguments.engine, arguments.precision
    )
    settings = search_options(arguments, translator.run.decoding, sample=arguments.sample)
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
    """The input's format, after all checks that need no model."""
    if arguments.text and arguments.input:
        raise InputError("text and --input were both given; leave one out.")
    n_best = (arguments.n_best or 1) > 1
    if arguments.align and (arguments.json or arguments.output or n_best):
        raise InputError("--align draws for people; leave --json, --output and --n-best out.")
    kind = input_format(arguments.input, arguments.format)
    if kind == "html" and (arguments.json or arguments.align or n_best or arguments.prefix):
        raise InputError(
            "an HTML page is written as a whole; leave --json, --align, --n-best and --prefix out, "
            "or give --plain."
        )
    if arguments.output:
        path = Path(arguments.output)
        if path.is_dir():
            raise InputError(f"{path}: this is a folder; give the name of a file.")
        check_parent(path)
        extensions = (
            {".jsonl", ".ndjson", ".json"} if arguments.json else {".tsv"} if n_best else set()
        )
        check_output_name(
            arguments.output, kind, explicit=bool(arguments.format), allowed=frozenset(extensions)
        )  # fmt: skip
    return kind


def _source(arguments: argparse.Namespace) -> LineSource:
    """The lines to translate; a file is first counted and checked for decoding errors."""
    if arguments.text:
        return LineSource(lambda: iter(arguments.text), len(arguments.text), True)
    path, encoding = arguments.input, arguments.encoding
    if path:
        plain = is_plain_file(path)
        total = count_lines(path, encoding) if plain else None
        return LineSource(lambda: read_lines(path, encoding), total, plain)
    if _interactive(arguments):
        print("Type text to translate, a line at a time; Ctrl-D ends.", file=sys.stderr)
    return LineSource(lambda: stdin_lines(encoding), None, False)


def _interactive(arguments: argparse.Namespace) -> bool:
    """Whether the text is typed."""
    return not arguments.text and not arguments.input and sys.stdin.isatty()


def _is_device(path: str) -> bool:
    """Whether the output is a pipe or a device, which is written to but not replaced."""
    return Path(path).exists() and not Path(path).is_file()


def _translated(
    translator: Translator,
    lines: Iterator[str | None],
    settings: SearchOptions,
    arguments: argparse.Namespace,
    first: int = 0,
) -> Iterator[list[Translation]]:
    """The translations in the lines' order, some at a time as they are done."""
    from regard.tasks.translation.translator import MAX_LINES

    one_by_one = _interactive(arguments) or arguments.align
    windows = translator.translate_lines(
        lines,
        settings=settings,
        prefix=arguments.prefix,
        alignment=arguments.json or arguments.align,
        attention=arguments.align,
        split=not arguments.no_split and settings.n_best == 1,
        first=first,
        max_lines=1 if one_by_one else MAX_LINES,
    )
    copied = 0
    for window in windows:
        yield window
        copied += sum(s.hypothesis is None for done in window for s in done.sentences)
    if copied:
        from regard.text.segments import MAX_WORD

        _log(f"words of {MAX_WORD:,} characters or more, copied unchanged: {copied:,}")


def _write_file(
    translator: Translator,
    source: LineSource,
    settings: SearchOptions,
    arguments: argparse.Namespace,
) -> None:
    """Write to FILE.partial as it goes, and to FILE when all is done."""
    options = {
        **asdict(settings), "prefix": arguments.prefix, "split": not arguments.no_split,
        "n_best": arguments.n_best, "json": arguments.json,
    }  # fmt: skip
    identity = {
        "model": model_digest(arguments.model), "options": options, "version": __version__
    }  # fmt: skip
    with PartialOutput(arguments.output, identity, _log) as output:
        lines = output.remaining(source.lines, repeatable=source.repeatable)
        with LineProgress(source.total, done=output.done) as progress:
            for window in _translated(translator, lines, settings, arguments, output.done):
                rows = _rows(window, arguments, output.done + 1)
                output.write([translation.source for translation in window], list(rows))
                progress.advance(len(window))
        output.finish()


def _write_stream(
    translator: Translator,
    source: LineSource,
    settings: SearchOptions,
    arguments: argparse.Namespace,
) -> None:
    """Write to standard output, a pipe or a device as it goes."""
    visible = sys.stdout.isatty() and not arguments.output  # the lines are the progress
    progress = None if visible or arguments.text else LineProgress(source.total)
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
    """The output for each translation, the first of which is of line `first`."""
    for number, best in enumerate(window, start=first):
        if arguments.json:
            yield json.dumps(best.as_dict(), ensure_ascii=False)
        elif (arguments.n_best or 1) > 1:
            alternatives = [(other.text, other.score) for other in best.alternatives]
            if len(best.sentences) == 1:
                alternatives = list(best.sentences[0].alternatives)
            for text, score in ((best.text, best.score), *alternatives):
                yield f"{number}\t{score:.4f}\t{text}"
        else:
            yield best.text


def _translate_html(
    translator: Translator, settings: SearchOptions, arguments: argparse.Namespace
) -> None:
    """Translate pages; a page is written in the encoding that it was read in."""
    from regard.tasks.translation.pages import translate_html

    pages = arguments.text or [read_text(arguments.input, arguments.encoding)]
    translated = []
    with LineProgress(None, unit="texts") as shown:

        def progress(done: int, total: int) -> None:
            shown.total = total
            shown.advance(done - shown.done)

        for page in pages:
            translated.append(
                translate_html(
                    translator,
                    page,
                    settings=settings,
                    split=not arguments.no_split,
                    progress=progress,
                )
            )
    text = "".join(page + "\n" for page in translated) if arguments.text else translated[0]
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

    from regard.tasks.translation.inspection import alignment_matrix

    console = Console()
    for translation in (translation for window in windows for translation in window):
        print(translation.text, flush=True)
        for number, sentence in enumerate(translation.sentences, start=1):
            console.print()
            last = number == len(translation.sentences)
            console.print(alignment_matrix(sentence, translator.run, legend=last))
        console.print()


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
