"""`regard translate` of something as a whole: documents, and one text with its alternatives."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from regard.cli.line_input import read_document
from regard.cli.line_progress import LineProgress
from regard.cli.searching import read_memories
from regard.documents.registry import FORMATS
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.config import SearchOptions
    from regard.documents.processes import ParserPool
    from regard.tasks.translation.translation import TranslateKeywords, Translation
    from regard.tasks.translation.translator import Translator


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Add the options for files with translations beside the source."""
    parser.add_argument(
        "--no-fuzzy",
        action="store_true",
        help="do not mark new messages of PO and XLIFF files as needing review",
    )
    parser.add_argument(
        "--retranslate",
        action="store_true",
        help="translate all messages of PO, XLIFF and TMX files, not only the missing ones",
    )

    parser.add_argument(
        "--force-language",
        action="store_true",
        help="fill PO, XLIFF and TMX files too that declare another target language",
    )


def check_document(arguments: argparse.Namespace, form: str) -> None:
    """Raise an error for options that do not fit the format."""
    lines_only = arguments.json or arguments.align or arguments.prefix or arguments.check
    if form != "text" and (lines_only or (arguments.n_best or 1) > 1):
        raise InputError(
            "a document is written as a whole; leave --json, --align, --n-best, --check and "
            "--prefix out, or give --plain."
        )
    if form != "text" and arguments.backend == "ray":
        raise InputError("--backend ray is for plain text; leave it out, or give --plain.")
    if FORMATS[form].is_binary and (arguments.text or not arguments.output):
        raise InputError(f"{form} is not text; give --input FILE and --output FILE.")
    catalogs_only = arguments.no_fuzzy or arguments.retranslate or arguments.force_language
    if catalogs_only and not FORMATS[form].is_catalog:
        raise InputError(
            "--no-fuzzy, --retranslate and --force-language are for PO, XLIFF and TMX files, not "
            f"{form}; leave them out."
        )


def translate_files(
    translator: Translator,
    settings: SearchOptions,
    glossary: dict[str, str],
    form: str,
    arguments: argparse.Namespace,
    parsers: ParserPool,
) -> None:
    """Translate documents of a format; a document is written in the encoding that it has."""
    from regard.documents.document import DocumentOptions
    from regard.documents.processes import DocumentSource
    from regard.tasks.translation.pages import translate_document

    options = DocumentOptions(
        source=translator.info.source_language,
        target=translator.info.target_language,
        fuzzy=not arguments.no_fuzzy,
        replace=arguments.retranslate,
        force_language=arguments.force_language,
        language_remedy="give a model that translates into it, or --force-language to fill it "
        "all the same",
        encoding="utf-8" if arguments.text else arguments.encoding,
        name=arguments.input or ("the text" if arguments.text else "standard input"),
    )
    given = [text.encode() for text in arguments.text] or [read_document(arguments.input)]
    documents = parsers.read([DocumentSource(data, form, options) for data in given])
    keywords: TranslateKeywords = {
        "settings": settings,
        "forbid": arguments.forbid,
        "glossary": glossary,
        "protect": arguments.protect,
        "split": not arguments.no_split,
        **read_memories(arguments, translator.info),
    }
    translated = []
    with LineProgress(None, unit="texts") as shown:

        def progress(done: int, total: int) -> None:
            shown.total = total
            shown.advance(done - shown.done)

        for document in documents:
            translated.append(
                translate_document(
                    translator,
                    document,
                    progress=progress,
                    warn=_warn,
                    **keywords,
                )
            )
    data = b"".join(done + b"\n" for done in translated) if arguments.text else translated[0]
    if arguments.output:
        from regard.formats.compressed import open_write

        with open_write(arguments.output) as file:
            file.write(data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def _warn(warning: str) -> None:
    print(warning, file=sys.stderr, flush=True)


def print_alternatives(
    translator: Translator, options: TranslateKeywords, arguments: argparse.Namespace
) -> None:
    """Print the translation with its confidence in a word, then others from that word on."""
    text: str = arguments.text[0]
    options["alignment"] = True
    best: Translation = translator.translate(text, **options)
    word, count = arguments.alternatives, arguments.n_best or 5
    if not best.words:
        raise InputError("--alternatives has no word to begin at: the translation is empty.")
    if not 0 <= word < len(best.words):
        raise InputError(
            f"--alternatives must be a word of {best.text!r}, from 0 to {len(best.words) - 1}, "
            f"got {word}."
        )
    rows = [(best.text, best.confidence[word])]
    rows += translator.alternatives(text, best.text, word, count)
    for other, share in rows:
        if arguments.json:
            print(json.dumps({"text": other, "probability": share}, ensure_ascii=False))
        else:
            print(f"{share:.4f}\t{other}")


def draw_alignment(
    translator: Translator, lines: Iterator[str | None], options: TranslateKeywords
) -> None:
    """Print each translation and the matrix of its word alignment."""
    from rich.console import Console

    from regard.tasks.translation.inspection import alignment_matrix

    console = Console()
    windows = translator.translate_lines(lines, max_lines=1, **options)
    for translation in (translation for window in windows for translation in window):
        print(translation.text, flush=True)
        for number, sentence in enumerate(translation.sentences, start=1):
            console.print()
            last = number == len(translation.sentences)
            console.print(alignment_matrix(sentence, translator.run, legend=last))
        console.print()
