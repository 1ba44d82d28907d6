"""Files as bytes, plain or compressed (`.gz`) alike, written as a whole or not at all."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, BinaryIO, cast

from regard.errors import InputError
from regard.formats.pair import format_error
from regard.storage import atomic_open


def is_compressed(path: str | PathLike[str]) -> bool:
    """Whether the name says that the file is compressed."""
    return Path(path).suffix.lower() == ".gz"


def suffix(path: str | PathLike[str]) -> str:
    """The suffix that tells the format, in lower case, with `.gz` looked through.

    >>> suffix("corpus.TSV.gz"), suffix("train.en")
    ('.tsv', '.en')
    """
    bare = Path(path).with_suffix("") if is_compressed(path) else Path(path)
    return bare.suffix.lower()


@contextmanager
def open_read(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """The file open for reading bytes; what the system has against it becomes an `InputError`."""
    try:
        with Path(path).open("rb") as raw:
            if is_compressed(path):
                with gzip.open(raw, "rb") as expanded:
                    yield cast(BinaryIO, expanded)
            else:
                yield raw
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file.") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: this is a folder; give the files in it.") from error
    except PermissionError as error:
        raise InputError(f"{path}: the file may not be read; change its permissions.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise format_error(
            path, None, f"the compressed file is damaged ({error})", "compress it again"
        ) from error


def require_content(path: str | PathLike[str]) -> None:
    """An error if there is no such file, if it is a folder, or if nothing is in it.

    A pipe is not looked into: what is read from it cannot be read again.
    """
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        return
    with open_read(path) as file:
        if not file.read(1):
            raise format_error(path, None, "the file is empty", "give a file with text in it")


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The whole file, expanded."""
    with open_read(path) as file:
        return file.read()


@contextmanager
def open_write(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write bytes to, compressed if its name says so.

    It gets its name only when everything is on the disk: who fails or is killed half-way leaves
    the old file as it was. The same bytes give the same compressed file (it holds no time).
    """
    with atomic_open(path) as raw:
        if is_compressed(path):
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as compressing:
                yield cast(IO[bytes], compressing)
        else:
            yield raw
