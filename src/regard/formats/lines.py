"""Plain text, a sentence a line, split at `\\n` only: UTF-8, or the encoding that is named.

A `\\r` before the `\\n` is dropped. Whatever else Unicode calls a line break (U+2028, U+0085, form
feed) stays inside its line, so that two files that agree in `\\n` stay aligned.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from os import PathLike

from regard.errors import InputError
from regard.formats.compressed import open_read, open_write
from regard.formats.pair import RawPair, format_error

_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # that of UTF-32 begins in the same way


def read_lines(path: str | PathLike[str], encoding: str = "utf-8") -> Iterator[str]:
    """The lines of a text file, without their ends and without a byte order mark."""
    if not is_utf8(encoding):
        yield from _encoded_lines(path, encoding)
        return
    with open_read(path) as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = _without_mark(line, path)
            text = decoded(line, path, number)
            yield text.removesuffix("\n").removesuffix("\r")


def is_utf8(encoding: str) -> bool:
    """Whether this names UTF-8; a name of no encoding is an error.

    >>> is_utf8("UTF8"), is_utf8("latin-1")
    (True, False)
    """
    try:
        b"a".decode(encoding)  # unlike codecs.lookup, this knows codecs that make no text
    except UnicodeError:  # of UTF-16, for which this is half a character
        pass
    except (LookupError, ValueError) as error:
        raise InputError(
            f"encoding must be a name such as utf-8, latin-1 or cp1252, got {encoding!r}."
        ) from error
    return codecs.lookup(encoding).name == "utf-8"


def _encoded_lines(path: str | PathLike[str], encoding: str) -> Iterator[str]:
    with open_read(path) as file:
        number = 0
        try:
            for line in io.TextIOWrapper(file, encoding, newline="\n"):
                number += 1
                text = line.removeprefix("\ufeff") if number == 1 else line
                yield text.removesuffix("\n").removesuffix("\r")
        except UnicodeError as error:
            raise format_error(
                path, None, f"not valid {encoding} (after line {number})", "give its real encoding"
            ) from error


def read_aligned(
    source: str | PathLike[str], target: str | PathLike[str], encoding: str = "utf-8"
) -> Iterator[RawPair]:
    """The pairs of two files; line n of the one is the translation of line n of the other.

    An unequal number of lines is an error, found when the shorter file ends.
    """
    counts = [0, 0]
    sides = zip_longest(read_lines(source, encoding), read_lines(target, encoding))
    for number, (one, other) in enumerate(sides, start=1):
        counts[0] += one is not None
        counts[1] += other is not None
        if one is not None and other is not None:
            yield RawPair(one, other, str(source), number)
    if counts[0] != counts[1]:
        shorter = source if counts[0] < counts[1] else target
        raise format_error(
            shorter,
            min(counts),
            f"the file ends here: {source} has {counts[0]} lines and {target} has {counts[1]}",
            "make them translate each other line by line",
        )


def write_lines(path: str | PathLike[str], lines: Iterable[str]) -> None:
    """Write one line for each text; a line break inside a text becomes a space."""
    with open_write(path) as file:
        for line in lines:
            file.write((one_line(line) + "\n").encode())


def one_line(text: str) -> str:
    """The text with spaces for what would break its line or be taken off its end."""
    return text.replace("\r", " ").replace("\n", " ")


def decoded(line: bytes, file: object, number: int) -> str:
    """The line as text, or an error that says which line is not UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise format_error(
            file,
            number,
            f"not valid UTF-8 (byte {error.start + 1} of the line is 0x{line[error.start]:02x})",
            "convert it with `iconv -f LATIN1 -t UTF-8`, or give --encoding latin-1 to train, "
            "evaluate or compare",
        ) from error


def _without_mark(line: bytes, file: object) -> bytes:
    """The first line without the byte order mark; one of UTF-16 is an error, and so is NUL."""
    if line.startswith(_WIDE_MARKS) or b"\0" in line:
        raise format_error(
            file,
            1,
            "not valid UTF-8: this looks like UTF-16 or a binary file",
            "convert it with `iconv -f UTF-16 -t UTF-8`, or give --encoding utf-16 to train, "
            "evaluate or compare",
        )
    return line.removeprefix(codecs.BOM_UTF8)
