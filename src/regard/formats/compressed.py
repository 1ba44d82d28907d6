"""Files as bytes, plain or compressed (`.gz`, `.bz2`, `.xz`); written atomically."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from regard.errors import InputError
from regard.formats.pair import format_error
from regard.storage import atomic_open

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

COMPRESSIONS = {".gz": gzip, ".bz2": bz2, ".xz": lzma}
MAX_EXPANDED, MAX_RATIO = 32 << 20, 500
"""A file may expand to so many bytes, or to so many times its own size if that is more."""
_CHUNK = 1 << 18


def is_compressed(path: str | PathLike[str]) -> bool:
    """Whether the file's suffix is that of a compression."""
    return Path(path).suffix.lower() in COMPRESSIONS


def suffix(path: str | PathLike[str]) -> str:
    """The suffix of the file's format, in lower case, without that of a compression.

    >>> suffix("corpus.TSV.gz"), suffix("corpus.jsonl.xz"), suffix("train.en")
    ('.tsv', '.jsonl', '.en')
    """
    bare = Path(path).with_suffix("") if is_compressed(path) else Path(path)
    return bare.suffix.lower()


@contextmanager
def open_read(path: str | PathLike[str], unchanging: bool = False) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, expanded; errors of the system become `InputError`.

    `unchanging`: so does a file that is written to while it is read to its end.
    """
    try:
        with Path(path).open("rb") as raw:
            before = os.fstat(raw.fileno())
            if is_compressed(path):
                with COMPRESSIONS[Path(path).suffix.lower()].open(raw, "rb") as expanded:
                    limited = _LimitedExpansion(cast(BinaryIO, expanded), raw, path)
                    yield cast(BinaryIO, io.BufferedReader(limited, _CHUNK))
            else:
                yield raw
            if unchanging and stat.S_ISREG(before.st_mode):
                _check_unchanged(path, before, os.fstat(raw.fileno()))
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file.") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: this is a folder; give the files in it.") from error
    except PermissionError as error:
        raise InputError(f"{path}: the file may not be read; change its permissions.") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EIO, errno.ESTALE):
            reason = str(error.strerror).lower()
            raise InputError(f"{path}: the file cannot be read any more ({reason}).") from error
        if isinstance(error, OSError) and error.errno is not None:  # not of a decompressor
            raise
        raise format_error(
            path, None, f"the compressed file is damaged ({error})", "compress it again"
        ) from error


class _LimitedExpansion(io.RawIOBase):
    """The expanded bytes of a file; one that expands as no text does is an error."""

    def __init__(self, expanded: BinaryIO, raw: BinaryIO, path: str | PathLike[str]) -> None:
        self._expanded, self._raw, self._path = expanded, raw, path
        self._size = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Expand some bytes into a buffer."""
        view = memoryview(buffer)
        data = self._expanded.read(len(view))
        view[: len(data)] = data
        self._size += len(data)
        if self._size > MAX_EXPANDED and self._size > MAX_RATIO * self._raw.tell():
            raise InputError(
                f"{self._path}: it expands from {self._raw.tell():,} bytes to over {self._size:,}, "
                "which no text does; expand it and check what it is."
            )
        return len(data)


def _check_unchanged(
    path: str | PathLike[str], before: os.stat_result, after: os.stat_result
) -> None:
    """Raise an error if an open file was written to; one that was only renamed is as it was."""
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise InputError(
            f"{path}: the file changed while it was read, from {before.st_size:,} to "
            f"{after.st_size:,} bytes; start again when it is complete."
        )


def require_content(path: str | PathLike[str]) -> None:
    """Raise an error if the file does not exist, is a folder or is empty; a pipe is not read."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        return
    with open_read(path) as file:
        if not file.read(1):
            raise empty_file(path)


def empty_file(path: object) -> InputError:
    """The error for a file without text."""
    return format_error(path, None, "the file is empty", "give a file with text in it")


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The whole file, expanded."""
    with open_read(path, unchanging=True) as file:
        return file.read()


@contextmanager
def open_write(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing bytes, compressed as its suffix says.

    It replaces the old file only when all is on the disk. The same bytes give the same compressed
    file (without a time stamp).
    """
    ending = Path(path).suffix.lower()
    with atomic_open(path) as raw:
        if ending == ".gz":
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as compressed:
                yield cast(IO[bytes], compressed)
        elif ending in COMPRESSIONS:
            with COMPRESSIONS[ending].open(raw, "wb") as compressed:
                yield cast(IO[bytes], compressed)
        else:
            yield raw
