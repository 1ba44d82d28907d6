"""A command's input text: its format, and its lines as they arrive."""

from __future__ import annotations

import argparse
import codecs
import select
import sys
from collections.abc import Iterator
from io import BufferedReader
from os import PathLike
from pathlib import Path
from typing import cast

from regard.documents.registry import BY_SUFFIX, FORMATS
from regard.errors import InputError
from regard.formats.compressed import empty_file, open_read, suffix
from regard.formats.lines import CHUNK, decode_chunks, file_chunks, is_utf8, split_lines

UNSUPPORTED = frozenset(
    {
        ".mo",
        ".tbx",
        ".doc",
        ".rtf",
        ".pdf",
        ".epub",
        ".pptx",
        ".odp",
        ".xlsx",
        ".ods",
        ".ass",
        ".jsonl",
        ".ndjson",
        ".toml",
        ".xml",
        ".svg",
        ".rst",
        ".adoc",
        ".tex",
        ".csv",
        ".tsv",
        ".properties",
        ".strings",
        ".resx",
        ".arb",
        ".ini",
    }
)
"""Formats with their own markup or fields, which would be translated as if they were prose."""
MAX_DOCUMENT = 64 << 20
"""Most bytes of a document, which is translated as a whole."""
WAIT = 0.05
"""Seconds without input after which the lines read so far are translated."""


def add_encoding(parser: argparse.ArgumentParser) -> None:
    """Add `--encoding`."""
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        type=_encoding,
        default="utf-8",
        help="encoding of the input text, e.g. latin-1 (utf-8)",
    )


def input_format(path: str | None, requested: str | None) -> str:
    """The name of a format, as requested or by the file's suffix; `text` for unknown suffixes."""
    ending = suffix(path) if path else ""
    if requested or ending not in {*BY_SUFFIX, *UNSUPPORTED}:
        return requested or "text"
    if ending in BY_SUFFIX:
        return BY_SUFFIX[ending].name
    raise InputError(
        f"{path}: {ending} files cannot be translated, only {', '.join(FORMATS)}; with --plain "
        "every line of it is translated as plain text."
    )


def check_output_name(path: str, written: str, *, explicit: bool, allowed: frozenset[str]) -> None:
    """Raise an error if a file's suffix does not fit the format that is written to it.

    written   the format's name
    explicit  whether the user named the format
    allowed   other suffixes that fit it
    """
    ending = suffix(path)
    others = {*BY_SUFFIX, *UNSUPPORTED} - {".txt", ".text", *FORMATS[written].suffixes, *allowed}
    if ending in others and not explicit:
        raise InputError(
            f"{path}: the output is {written}, not {ending}; give another name, or --format "
            f"{written} to keep this one."
        )


def check_parent(path: str | PathLike[str]) -> None:
    """Raise an error unless the folder of an output file exists."""
    if not Path(path).absolute().parent.is_dir():
        raise InputError(f"{path}: there is no such folder; create it first.")


def check_overwrite(path: str, output: str) -> None:
    """Raise an error if the output is the input's file, by whatever name."""
    given, made = Path(path), Path(output)
    if given.is_file() and made.exists() and given.samefile(made):
        raise InputError(
            f"{output}: this is the input's own file; give another --output, or --overwrite to "
            "replace the text by its translation."
        )


def stdin_lines(encoding: str) -> Iterator[str | None]:
    """The lines of standard input; None whenever no line has arrived yet."""
    return split_lines(decode_chunks(_stdin_chunks(), "standard input", encoding))


def count_lines(path: str | PathLike[str], encoding: str) -> int:
    """The number of lines of a file; one that is empty or cannot be decoded is an error."""
    count, last = 0, "\n"
    for text in decode_chunks(file_chunks(path), path, encoding):
        if text:
            count, last = count + text.count("\n"), text
    if not count and last == "\n":
        raise empty_file(path)
    return count + (not last.endswith("\n"))


def read_document(path: str | None) -> bytes:
    """The bytes of a file, expanded, or of standard input; a file that is too large is an error."""
    name = path or "standard input"
    if path:
        with open_read(path, unchanging=True) as file:
            data = file.read(MAX_DOCUMENT + 1)
    else:
        data = sys.stdin.buffer.read(MAX_DOCUMENT + 1)
    if path and not data.removeprefix(codecs.BOM_UTF8):
        raise empty_file(path)
    if len(data) > MAX_DOCUMENT:
        raise InputError(
            f"{name}: a document may have {MAX_DOCUMENT:,} bytes at most; split it, or give "
            "--plain to translate it line by line."
        )
    return data


def _encoding(name: str) -> str:
    try:
        is_utf8(name)
    except InputError as error:
        what = f"must be utf-8, latin-1 or another encoding, got {name!r}"
        raise argparse.ArgumentTypeError(what) from error
    return name


def _stdin_chunks() -> Iterator[bytes | None]:
    stream = cast(BufferedReader, sys.stdin.buffer)
    while True:
        if not _ready(stream):
            yield None
        chunk = stream.read1(CHUNK)
        if not chunk:
            return
        yield chunk


def _ready(stream: BufferedReader) -> bool:
    """Whether reading would not block; True where the system cannot tell."""
    try:
        return bool(select.select([stream], [], [], WAIT)[0])
    except (OSError, ValueError):
        return True


def is_plain_file(path: str | PathLike[str]) -> bool:
    """Whether the file can be read twice, unlike a pipe or a device; a missing one is an error."""
    if not Path(path).exists() or Path(path).is_dir():
        with open_read(path):
            pass
    return Path(path).is_file()
