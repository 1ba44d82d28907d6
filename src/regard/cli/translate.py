"""`regard translate`: text in, its translation out, line by line; or a whole document."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from regard.cli.line_input import (
    add_encoding,
    check_output_name,
    check_overwrite,
    check_parent,
    count_lines,
    input_format,
    is_plain_file,
    stdin_lines,
)
from regard.cli.line_layout import LineLayout
from regard.cli.line_progress import LineProgress
from regard.cli.option_flags import add_options
from regard.cli.searching import (
    add_sampling,
    add_search,
    add_target,
    add_wording,
    read_memories,
    read_terms,
    search_options,
)
from regard.cli.translate_one import (
    add_catalog,
    check_document,
    draw_alignment,
    print_alternatives,
    translate_files,
)
from regard.config import SearchOptions
from regard.config.stored import model_checksum
from regard.documents.registry import FORMATS
from regard.errors import InputError
from regard.formats.compressed import suffix
from regard.formats.lines import read_lines
from regard.formats.partial_output import PartialOutput
from regard.storage import checksum
from regard.tasks.commands import add_engine, add_model, open_model, positive
from regard.tasks.translation.bulk import BLOCK_LINES, Layout, LineBlock, translate_blocks
from regard.version import __version__

if TYPE_CHECKING:
    from regard.tasks.translation.translation import TranslateKeywords
    from regard.tasks.translation.translator import Translator

JSON_LINES = frozenset({".jsonl", ".ndjson"})


class LineSource(NamedTuple):
    """The lines to translate.

    lines   an iterator over the lines; None among them: no other is ready yet
    total   the number of lines, if it is known
    layout  what stands around the lines of a file, if it is kept
    """

    lines: Iterator[str | None]
    total: int | None
    layout: LineLayout | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="text to translate; else stdin")
    add_model(parser, several=True)
    add_engine(parser)
    add_options(parser, SearchOptions, "deterministic")
    parser.add_argument(
        "--input",
        metavar="FILE",
        help="text to translate, a line each, or a document, known by its name: "
        f"{', '.join(name for name in FORMATS if name != 'text')}; also with .gz, .bz2 or .xz",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="where to write; .tsv: source, tab and translation; .jsonl: as with --json; with .gz, "
        ".bz2 or .xz compressed; until all is done, to FILE.partial, from which the same command "
        "continues if it was stopped",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="allow --output to be the file of --input"
    )
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        help="format of the input (by its name; else text)",
    )
    parser.add_argument(
        "--plain",
        dest="format",
        action="store_const",
        const="text",
        help="the same as --format text: any file, every line of it as plain text",
    )
    add_catalog(parser)
    add_encoding(parser)
    add_target(parser)
    add_search(parser)
    add_options(
        parser,
        SearchOptions,
        "sample",
        n_best="the N best of each line: number of the line, score and text, with tabs between",
    )
    add_sampling(parser)
    parser.add_argument(
        "--prefix", metavar="TEXT", default="", help="what the translation must begin with"
    )
    add_options(parser, SearchOptions, "max_length")
    parser.add_argument("--no-split", action="store_true", help="take each line as one sentence")
    parser.add_argument(
        "--backend",
        choices=("local", "ray"),
        default="local",
        help="where to translate a file: on this machine, or on a Ray cluster (local)",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=positive,
        help="with Ray, most workers, of one core each (as many as the cluster has cores)",
    )
    parser.add_argument("--align", action="store_true", help="draw the word alignment")
    parser.add_argument(
        "--check",
        action="store_true",
        help="say on standard error what may be left out or said twice",
    )
    parser.add_argument(
        "--alternatives",
        metavar="N",
        type=int,
        help="other translations of one TEXT from its translation's word N on, counted from 0, "
        "with their probabilities",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    add_wording(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate."""
    arguments.input = None if arguments.input == "-" else arguments.input
    arguments.output = None if arguments.output == "-" else arguments.output
    kind = _checked_format(arguments)
    if kind != "text":
        return _translate_documents(kind, arguments)
    source = _source(arguments)
    glossary = read_terms(arguments)
    translator, settings = _translator(arguments)
    options: TranslateKeywords = {
        "settings": settings,
        "prefix": arguments.prefix,
        "split": not arguments.no_split and settings.n_best == 1,
        "alignment": arguments.json or arguments.align or arguments.check,
        "attention": arguments.align,
        "forbid": arguments.forbid,
        "glossary": glossary,
        "protect": arguments.protect,
        **read_memories(arguments, translator.info),
    }
    if arguments.to:
        options["to"] = arguments.to
    if arguments.tag:
        options["tag"] = arguments.tag
    if arguments.alternatives is not None:
        print_alternatives(translator, options, arguments)
        return 0
    if arguments.align:
        draw_alignment(translator, source.lines, options)
    elif arguments.output and not _is_device(arguments.output):
        _write_file(translator, source, options, arguments)
    else:
        _write_stream(translator, source, options, arguments)
    return 0


def _translator(arguments: argparse.Namespace) -> tuple[Translator, SearchOptions]:
    """The translator, and how it searches."""
    translator: Translator = open_model(
        arguments.model, "translate", arguments.threads, arguments.engine, arguments.precision
    )
    translator = translator.into(arguments.to, tag=arguments.tag)
    settings = search_options(arguments, translator.run.decoding, sample=bool(arguments.sample))
    return translator, settings


def _translate_documents(form: str, arguments: argparse.Namespace) -> int:
    """Translate documents of a format, which another process reads and writes."""
    from regard.documents.processes import ParserPool

    glossary = read_terms(arguments)
    with ParserPool() as parsers:
        parsers.start()  # while the model is loaded
        translator, settings = _translator(arguments)
        translate_files(translator, settings, glossary, form, arguments, parsers)
    return 0


def _checked_format(arguments: argparse.Namespace) -> str:
    """The input's format, after all checks that need no model."""
    if arguments.text and arguments.input:
        raise InputError("text and --input were both given; leave one out.")
    n_best = (arguments.n_best or 1) > 1
    if arguments.align and (arguments.json or arguments.output or n_best):
        raise InputError("--align draws for people; leave --json, --output and --n-best out.")
    if arguments.alternatives is not None and len(arguments.text) != 1:
        raise InputError("--alternatives is for one TEXT on the command line; give it.")
    if arguments.backend == "ray" and not (arguments.input and arguments.output):
        raise InputError("--backend ray translates files; give --input FILE and --output FILE.")
    if arguments.backend == "ray" and arguments.check:
        raise InputError(
            "--check is for --backend local; with Ray give --json, which has the flags."
        )
    if arguments.workers and arguments.backend != "ray":
        raise InputError("--workers is for --backend ray; leave it out, or give --threads.")
    kind = input_format(arguments.input, arguments.format)
    if kind == "text" and arguments.output and suffix(arguments.output) in JSON_LINES:
        arguments.json = True
    check_document(arguments, kind)
    if arguments.output:
        path = Path(arguments.output)
        if path.is_dir():
            raise InputError(f"{path}: this is a folder; give the name of a file.")
        check_parent(path)
        if arguments.input and not arguments.overwrite:
            check_overwrite(arguments.input, arguments.output)
        fitting = {".json", *JSON_LINES} if arguments.json else {".tsv"}
        check_output_name(
            arguments.output,
            kind,
            explicit=bool(arguments.format),
            allowed=frozenset(fitting if kind == "text" else ()),
        )
    return kind


def _source(arguments: argparse.Namespace) -> LineSource:
    """The lines to translate; a file is first counted and checked for decoding errors."""
    if arguments.text:
        return LineSource(iter(arguments.text), len(arguments.text))
    path, encoding = arguments.input, arguments.encoding
    if path:
        total = count_lines(path, encoding) if is_plain_file(path) else None
        if _layout(arguments) != "text" or arguments.backend == "ray":
            return LineSource(read_lines(path, encoding, unchanging=False), total)
        layout = LineLayout()
        lines = layout.strip(read_lines(path, encoding, unchanging=False, verbatim=True))
        return LineSource(lines, total, layout)
    if _interactive(arguments):
        print("Type text to translate, a line at a time; Ctrl-D ends.", file=sys.stderr)
    return LineSource(stdin_lines(encoding), None)


def _interactive(arguments: argparse.Namespace) -> bool:
    """Whether the text is typed."""
    return not arguments.text and not arguments.input and sys.stdin.isatty()


def _max_lines(arguments: argparse.Namespace) -> int:
    """Most lines that are translated together."""
    return 1 if _interactive(arguments) else BLOCK_LINES


def _is_device(path: str) -> bool:
    """Whether the output is a pipe or a device, which is written to but not replaced."""
    return Path(path).exists() and not Path(path).is_file()


def _layout(arguments: argparse.Namespace) -> Layout:
    """The layout of the output."""
    if arguments.json:
        return "json"
    if (arguments.n_best or 1) > 1:
        return "n-best"
    return "tsv" if arguments.output and suffix(arguments.output) == ".tsv" else "text"


def _write_file(
    translator: Translator,
    source: LineSource,
    options: TranslateKeywords,
    arguments: argparse.Namespace,
) -> None:
    """Write to FILE.partial as it goes, and to FILE when all is done."""
    layout = _layout(arguments)
    settings = asdict(cast(SearchOptions, options["settings"]))
    memories = [checksum(Path(path)) for path in arguments.memory]
    engine = translator.prepare_engine().engine
    loading = (
        {"engine": "ctranslate2", "precision": engine.precision} if engine else {"engine": "torch"}
    )
    identity = {
        "model": "-".join(map(model_checksum, arguments.model)),
        "version": __version__,
        "engine": loading,
        "options": {**options, "settings": settings, "layout": layout, "memory": memories},
    }
    with PartialOutput(arguments.output, identity, _log) as output:
        lines = output.remaining(source.lines)
        if arguments.backend == "ray":
            blocks = _ray_blocks(output, lines, layout, options, loading, arguments)
        else:
            blocks = translate_blocks(
                translator,
                lines,
                layout,
                options,
                first=output.done,
                max_lines=_max_lines(arguments),
                check=arguments.check,
            )
        copied = 0
        if source.layout:
            source.layout.skip(output.done)
        with LineProgress(source.total, done=output.done) as progress:
            for block in blocks:
                output.write(block.sources, _laid_out(block, source))
                progress.advance(len(block.sources))
                copied += block.num_copied
                _log_notes(block.notes)
        if source.total not in (None, output.done):
            raise InputError(
                f"{arguments.input}: it had {source.total:,} lines and now has {output.done:,}; "
                "do not change it while it is translated."
            )
        output.finish()
    _log_copied(copied)


def _ray_blocks(
    output: PartialOutput,
    lines: Iterator[str | None],
    layout: Layout,
    options: TranslateKeywords,
    loading: dict[str, str],
    arguments: argparse.Namespace,
) -> Iterator[LineBlock]:
    """The blocks of the lines in their order, translated by a Ray cluster."""
    from regard.cli.finished_blocks import FinishedBlocks
    from regard.tasks.translation.ray_bulk import FileBlocks, translate_with_ray

    finished = FinishedBlocks(output)
    blocks = FileBlocks(
        str(Path(arguments.input).resolve()), arguments.encoding, output.done, finished.load(lines)
    )
    yield from finished.next_blocks()
    folders = [str(Path(folder).resolve()) for folder in arguments.model]
    for block in translate_with_ray(
        blocks, folders, layout, options, num_workers=arguments.workers, loading=loading
    ):
        if block.first == output.done:
            yield block
        else:
            finished.add(block)
        yield from finished.next_blocks()


def _write_stream(
    translator: Translator,
    source: LineSource,
    options: TranslateKeywords,
    arguments: argparse.Namespace,
) -> None:
    """Write to standard output, a pipe or a device as it goes."""
    visible = sys.stdout.isatty() and not arguments.output  # the lines are the progress
    progress = None if visible or arguments.text else LineProgress(source.total)
    blocks = translate_blocks(
        translator,
        source.lines,
        _layout(arguments),
        options,
        max_lines=_max_lines(arguments),
        max_characters=None,
        check=arguments.check,
    )
    copied = 0
    with _stream(arguments.output) as stream, progress or nullcontext():
        for block in blocks:
            stream.writelines(f"{row}\n" for row in _laid_out(block, source))
            stream.flush()
            copied += block.num_copied
            _log_notes(block.notes)
            if progress:
                progress.advance(len(block.sources))
    _log_copied(copied)


def _laid_out(block: LineBlock, source: LineSource) -> list[str]:
    return source.layout.restore(block.rows) if source.layout else block.rows


def _stream(output: str | None) -> AbstractContextManager[IO[str]]:
    return Path(output).open("w", encoding="utf-8") if output else nullcontext(sys.stdout)


def _log_copied(count: int) -> None:
    if count:
        from regard.text.segments import MAX_WORD

        _log(f"words of {MAX_WORD:,} characters or more, copied unchanged: {count:,}")


def _log_notes(notes: Sequence[str]) -> None:
    for note in notes:
        _log(note)


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
