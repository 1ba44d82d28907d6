"""A command's input text: its format, and its lines as they arrive."""

from __future__ import annotations

import argparse
import select
import sys
from collections.abc import Iterator
from io import BufferedReader
from os import PathLike
from pathlib import Path
from typing import cast

from regard.errors import InputError
from regard.formats.compressed import empty_file, open_read, suffix
from regard.formats.lines import CHUNK, decode_chunks, file_chunks, is_utf8, split_lines

HTML = frozenset({".html", ".htm", ".xhtml"})
DOCUMENTS = frozenset({
    ".po", ".pot", ".mo", ".xlf", ".xliff", ".tmx", ".tbx", ".docx", ".doc", ".odt", ".rtf", ".pdf",
    ".epub", ".pptx", ".odp", ".xlsx", ".ods", ".srt", ".vtt", ".ass", ".json", ".jsonl", ".ndjson",
    ".yaml", ".yml", ".toml", ".xml", ".svg", ".md", ".markdown", ".rst", ".adoc", ".tex", ".csv",
    ".tsv", ".properties", ".strings", ".resx", ".arb", ".ini",
})  # fmt: skip
"""Formats with their own markup or fields, which would be translated as if they were prose."""
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
    """`text` or `html`, as requested or by the file's suffix; other formats are an error."""
    ending = suffix(path) if path else ""
    if requested or ending not in HTML | DOCUMENTS:
        return requested or "text"
    if ending in HTML:
        return "html"
    raise InputError(
        f"{path}: {ending} files cannot be translated yet, only plain text and HTML; with --plain "
        "every line of it is translated as plain text."
    )


def check_output_name(path: str, written: str, *, explicit: bool, allowed: frozenset[str]) -> None:
    """Raise an error if a file's suffix does not fit the format that is written to it.

    written   the format, `text` or `html`
    explicit  whether the user named the format
    allowed   suffixes among `DOCUMENTS` that fit it
    """
    ending = suffix(path)
    misnamed = (HTML if written == "text" else frozenset()) | (DOCUMENTS - allowed)
    if ending in misnamed and not explicit:
        raise InputError(
            f"{path}: the output is {written}, not {ending}; give another name, or --format "
            f"{written} to keep this one."
        )


def check_parent(path: str | PathLike[str]) -> None:
    """Raise an error unless the folder of an output file exists."""
    if not Path(path).absolute().parent.is_dir():
        raise InputError(f"{path}: there is no such folder; create it first.")


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


def read_text(path: str | None, encoding: str) -> str:
    """The whole text of a file, or of standard input, without a byte order mark."""
    name = path or "standard input"
    chunks = file_chunks(path) if path else iter([sys.stdin.buffer.read()])
    text = "".join(part for part in decode_chunks(chunks, name, encoding) if part)
    if path and not text:
        raise empty_file(path)
    return text


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
