"""Plain text, one sentence per line, split at `\\n` only: UTF-8, or the encoding that is named.

A `\\r` before the `\\n` is dropped. Whatever else Unicode calls a line break (U+2028, U+0085, form
feed) stays inside its line, so that two files that agree in `\\n` stay aligned.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import cast

from regard.errors import InputError
from regard.formats.compressed import open_read, open_write
from regard.formats.pair import Path, RawPair, format_error

CHUNK = 1 << 18
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # UTF-32's begins with UTF-16's


def read_lines(
    path: Path, encoding: str = "utf-8", unchanging: bool = True, verbatim: bool = False
) -> Iterator[str]:
    """The lines of a text file, without line ends and without a byte order mark.

    A file that is written to while it is read is an error, unless `unchanging` is False.
    With `verbatim` only the `\\n` is dropped: the mark and a `\\r` stay.
    """
    texts = decode_chunks(file_chunks(path, unchanging), path, encoding, verbatim=verbatim)
    return cast("Iterator[str]", split_lines(texts, verbatim=verbatim))


def file_chunks(path: Path, unchanging: bool = False) -> Iterator[bytes]:
    """The bytes of a file, expanded, some at a time; `unchanging` as for `open_read`."""
    with open_read(path, unchanging) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def decode_chunks(
    chunks: Iterable[bytes | None], name: object, encoding: str = "utf-8", verbatim: bool = False
) -> Iterator[str | None]:
    """Decode bytes that arrive in chunks; None is passed through.

    A byte order mark is dropped unless `verbatim`.

    A byte that is not valid in the encoding is an `InputError` with `name` and the line.
    """
    utf8 = is_utf8(encoding)
    decoder = codecs.getincrementaldecoder(encoding)()
    line, begun = 1, False
    for chunk in chain(chunks, (b"",)):
        if chunk is None:
            yield None
            continue
        first_line = b"" if begun else chunk.partition(b"\n")[0]
        if utf8 and (first_line.startswith(_WIDE_MARKS) or b"\0" in first_line):
            problem = "not valid UTF-8: this looks like UTF-16 or a binary file"
            raise format_error(name, 1, problem, _conversion("UTF-16"))
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            raise _undecodable(name, line, encoding, utf8, error) from error
        yield text if begun or verbatim else text.removeprefix("\ufeff")
        line, begun = line + text.count("\n"), begun or bool(text)


def split_lines(texts: Iterable[str | None], verbatim: bool = False) -> Iterator[str | None]:
    """The lines of text in parts, without `\\n` or `\\r\\n`; None is passed through.

    With `verbatim` a `\\r` stays.
    """
    begun: list[str] = []
    end = "" if verbatim else "\r"
    for text in texts:
        if text is None:
            yield None
            continue
        first, *following = text.split("\n")
        begun.append(first)
        for line in following:
            yield "".join(begun).removesuffix(end)
            begun = [line]
    if last := "".join(begun):
        yield last.removesuffix(end)


def is_utf8(encoding: str) -> bool:
    """Whether this names UTF-8; a name of no text encoding is an error.

    >>> is_utf8("UTF8"), is_utf8("latin-1")
    (True, False)
    """
    try:
        b"a".decode(encoding)  # unlike codecs.lookup, this refuses codecs that do not yield text
    except UnicodeError:  # UTF-16, for which this is half a character
        pass
    except (LookupError, ValueError) as error:
        raise InputError(_unknown(encoding)) from error
    name = codecs.lookup(encoding).name
    if name in _NOT_OF_FILES:
        raise InputError(_unknown(encoding))
    return name == "utf-8"


_NOT_OF_FILES = frozenset(
    {
        "idna",
        "punycode",
        "raw-unicode-escape",
        "raw_unicode_escape",
        "undefined",
        "unicode-escape",
        "unicode_escape",
        "utf-7",
    }
)
"""Codecs of host names, of program text and of mail, which do not write what they have read."""


def _unknown(encoding: str) -> str:
    return f"encoding must be a name such as utf-8, latin-1 or cp1252, got {encoding!r}."


def read_aligned(source: Path, target: Path, encoding: str = "utf-8") -> Iterator[RawPair]:
    """The pairs of two files; line n of the one is the translation of line n of the other.

    An unequal number of lines is an error, raised when the shorter file ends.
    """
    counts = [0, 0]
    sides = zip_longest(read_lines(source, encoding), read_lines(target, encoding))
    for number, (source_line, target_line) in enumerate(sides, start=1):
        counts[0] += source_line is not None
        counts[1] += target_line is not None
        if source_line is not None and target_line is not None:
            yield RawPair(source_line, target_line, str(source), number)
    if counts[0] != counts[1]:
        shorter = source if counts[0] < counts[1] else target
        problem = f"the file ends here: {source} has {counts[0]} lines and {target} has {counts[1]}"
        raise format_error(
            shorter, min(counts), problem, "make them translate each other line by line"
        )


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write one line for each text; a line break inside a text becomes a space."""
    with open_write(path) as file:
        for line in lines:
            file.write((one_line(line) + "\n").encode())


def one_line(text: str) -> str:
    """The text with spaces for line breaks."""
    return text.replace("\r", " ").replace("\n", " ")


def _undecodable(
    name: object, line: int, encoding: str, utf8: bool, error: UnicodeError
) -> InputError:
    if not isinstance(error, UnicodeDecodeError):  # as of UTF-16 without a byte order mark
        return format_error(name, line, f"not valid {encoding}", "give its real encoding")
    line += error.object[: error.start].count(b"\n")
    if not utf8:
        return format_error(name, line, f"not valid {encoding}", "give its real encoding")
    problem = f"not valid UTF-8 (byte 0x{error.object[error.start]:02x})"
    return format_error(name, line, problem, _conversion("LATIN1"))


def _conversion(encoding: str) -> str:
    option = {"LATIN1": "latin-1", "UTF-16": "utf-16"}[encoding]
    return f"convert it with `iconv -f {encoding} -t UTF-8` or give --encoding {option}"
