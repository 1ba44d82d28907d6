"""The text that a command is given: which format it is of, and its lines as they come."""

from __future__ import annotations

import argparse
import codecs
import select
import sys
from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import cast

from regard.errors import InputError
from regard.formats.compressed import open_read, suffix

HTML = frozenset({".html", ".htm", ".xhtml"})
DOCUMENTS = frozenset({
    ".po", ".pot", ".mo", ".xlf", ".xliff", ".tmx", ".tbx", ".docx", ".doc", ".odt", ".rtf", ".pdf",
    ".epub", ".pptx", ".odp", ".xlsx", ".ods", ".srt", ".vtt", ".ass", ".json", ".jsonl", ".ndjson",
    ".yaml", ".yml", ".toml", ".xml", ".svg", ".md", ".markdown", ".rst", ".adoc", ".tex", ".csv",
    ".tsv", ".properties", ".strings", ".resx", ".arb", ".ini",
})  # fmt: skip
"""Formats with markup or fields of their own, which would be translated as if they were prose."""
CHUNK = 1 << 18
WAIT = 0.05
"""Seconds without a line after which what came before it is translated."""


def add_encoding(parser: argparse.ArgumentParser) -> None:
    """Add `--encoding`."""
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        type=_encoding,
        default="utf-8",
        help="of the text that is read, e.g. latin-1 (utf-8)",
    )


def input_format(path: str | None, asked: str | None) -> str:
    """`text` or `html`, as asked or by the file's name; what cannot be translated is an error."""
    ending = suffix(path) if path else ""
    if asked or ending not in HTML | DOCUMENTS:
        return asked or "text"
    if ending in HTML:
        return "html"
    raise InputError(
        f"{path}: {ending} files cannot be translated yet, only plain text and HTML; with --plain "
        "every line of it is translated as plain text."
    )


def check_output_name(path: str, written: str, *, asked: bool, own: frozenset[str]) -> None:
    """An error if a file's name says that it holds something else than what is written to it.

    written  the format, `text` or `html`; asked says whether the user named it
    own      suffixes that fit what is written although they are of `DOCUMENTS`
    """
    ending = suffix(path)
    misnamed = (HTML if written == "text" else frozenset()) | (DOCUMENTS - own)
    if ending in misnamed and not asked:
        raise InputError(
            f"{path}: what is written is {written}, not {ending}; give another name, or say "
            f"--format {written} if it is meant."
        )


def file_lines(path: str | PathLike[str], encoding: str) -> Iterator[str]:
    """The lines of a file, without their ends."""
    return cast("Iterator[str]", _lines(_decoded(_file_chunks(path), path, encoding)))


def stdin_lines(encoding: str) -> Iterator[str | None]:
    """The lines of standard input; None whenever no other line is there yet."""
    return _lines(_decoded(_stdin_chunks(), "standard input", encoding))


def count_lines(path: str | PathLike[str], encoding: str) -> int:
    """How many lines a file has; one that cannot be decoded, or is empty, is an error."""
    count, last = 0, "\n"
    for text in _decoded(_file_chunks(path), path, encoding):
        if text:
            count, last = count + text.count("\n"), text
    if not count and last == "\n":
        raise InputError(f"{path}: the file is empty; give a file with text in it.")
    return count + (not last.endswith("\n"))


def read_text(path: str | None, encoding: str) -> str:
    """All of a file, or of standard input, as it is but for a byte order mark."""
    name = path or "standard input"
    chunks = _file_chunks(path) if path else iter([sys.stdin.buffer.read()])
    text = "".join(part for part in _decoded(chunks, name, encoding) if part)
    if path and not text:
        raise InputError(f"{path}: the file is empty; give a file with text in it.")
    return text


def _encoding(name: str) -> str:
    try:
        if codecs.lookup(name)._is_text_encoding:
            return name
    except LookupError:
        pass
    raise argparse.ArgumentTypeError(f"must be utf-8, latin-1 or another encoding, got {name!r}")


def _file_chunks(path: str | PathLike[str]) -> Iterator[bytes]:
    with open_read(path) as file:
        while chunk := file.read(CHUNK):
            yield chunk


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
    """Whether reading would not wait; what the system cannot tell of counts as ready."""
    try:
        return bool(select.select([stream], [], [], WAIT)[0])
    except (OSError, ValueError):
        return True


def _decoded(chunks: Iterable[bytes | None], name: object, encoding: str) -> Iterator[str | None]:
    """The chunks as text, without a byte order mark; what is not of the encoding is an error."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, begun = 1, False
    for chunk in chain(chunks, (b"",)):
        if chunk is None:
            yield None
            continue
        if not begun and codecs.lookup(encoding).name == "utf-8":
            _refuse_wide(chunk, name)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
            raise _undecodable(name, line, encoding, error.object[error.start]) from error
        yield text if begun else text.removeprefix("\ufeff")
        line, begun = line + text.count("\n"), begun or bool(text)


def _refuse_wide(chunk: bytes, name: object) -> None:
    if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in chunk:
        raise InputError(
            f"{name}: not valid UTF-8: this looks like UTF-16 or a binary file; convert it with "
            "`iconv -f UTF-16 -t UTF-8` or give --encoding utf-16."
        )


def _undecodable(name: object, line: int, encoding: str, byte: int) -> InputError:
    if codecs.lookup(encoding).name != "utf-8":
        return InputError(f"{name}, line {line}: not valid {encoding}; give its real encoding.")
    return InputError(
        f"{name}, line {line}: not valid UTF-8 (byte 0x{byte:02x}); convert it with "
        "`iconv -f LATIN1 -t UTF-8` or give --encoding latin-1."
    )


def _lines(texts: Iterable[str | None]) -> Iterator[str | None]:
    """The lines of text that comes in parts, each without `\\n` or `\\r\\n`."""
    begun: list[str] = []
    for text in texts:
        if text is None:
            yield None
            continue
        first, *others = text.split("\n")
        begun.append(first)
        for other in others:
            yield "".join(begun).removesuffix("\r")
            begun = [other]
    if last := "".join(begun):
        yield last.removesuffix("\r")


def is_plain_file(path: str | PathLike[str]) -> bool:
    """Whether it can be read twice; a pipe or a device cannot. What is not there is an error."""
    if not Path(path).exists() or Path(path).is_dir():
        with open_read(path):
            pass
    return Path(path).is_file()
