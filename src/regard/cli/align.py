"""`regard align`: which words of a text and its translation belong together."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from regard.cli.aligning import add_alignment, aligned_pairs, check_alignment
from regard.cli.evaluate import languages_of
from regard.cli.line_input import add_encoding, check_parent
from regard.cli.searching import add_target
from regard.errors import InputError
from regard.formats.word_links import LAYOUTS, format_links
from regard.tasks.commands import add_model

if TYPE_CHECKING:
    from regard.tasks.alignment.aligned_pair import AlignedPair


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="source and target, aligned by line, or one file of pairs "
        "(.tsv .jsonl .tmx .po .xliff)",
    )
    add_model(parser, required=False)
    add_alignment(parser)
    add_target(parser)
    parser.add_argument(
        "--languages", metavar="en-fr", help="source and target language (the model's)"
    )
    parser.add_argument(
        "--tokenized", action="store_true", help="words are what spaces separate in the text"
    )
    parser.add_argument(
        "--format",
        choices=LAYOUTS,
        default="pharaoh",
        help="links as 0-0 1-2 (pharaoh), counted from 1 (talp), or with the words (json)",
    )
    parser.add_argument("--output", metavar="FILE", help="file for the links (.gz compresses it)")
    add_encoding(parser)


def run(arguments: argparse.Namespace) -> int:
    """Align, and write one line for each pair."""
    check_alignment(arguments)
    if arguments.output:
        check_parent(arguments.output)
    languages = chosen_languages(arguments)
    rows = _rows(arguments, languages)
    if arguments.output:
        from regard.formats import write_lines

        write_lines(arguments.output, rows)
        return 0
    for row in rows:
        print(row)
    sys.stdout.flush()
    return 0


def chosen_languages(arguments: argparse.Namespace) -> tuple[str, str] | None:
    """The languages that are named, or those of the model; None if unknown."""
    if arguments.languages:
        source, dash, target = arguments.languages.partition("-")
        if not (source and dash and target):
            raise InputError(f"--languages must be as in en-fr, got {arguments.languages!r}.")
        return source, target
    return languages_of(arguments.model, arguments.to) if arguments.model else None


def _rows(arguments: argparse.Namespace, languages: tuple[str, str] | None) -> Iterator[str]:
    from regard.formats import read_pairs

    read = read_pairs(arguments.files, languages, encoding=arguments.encoding)
    pairs = (pair[:2] for pair in read)
    for pair in aligned_pairs(pairs, languages, arguments, tokenized=arguments.tokenized):
        yield _row(pair, arguments.format)


def _row(pair: AlignedPair, layout: str) -> str:
    """The line of a pair; a pair with an empty side is an empty line."""
    if not pair.source or not pair.target:
        return ""
    return format_links(pair.links, layout, pair.source, pair.target)
