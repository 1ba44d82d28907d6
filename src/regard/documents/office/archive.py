"""Zip archives of documents, with limits on what they expand to; other members are copied."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping

from regard.errors import InputError

MAX_BYTES = 256 << 20
"""Most bytes that all members of an archive may expand to."""
MAX_RATIO = 300
"""Most bytes that one compressed byte may expand to, in a member of over eight megabytes."""
MAX_MEMBERS = 20_000
_SMALL = 8 << 20
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    struct.error,
    NotImplementedError,
)
"""What the libraries raise for damaged members, of bzip2 an OSError."""


def read_archive(data: bytes, max_bytes: int = MAX_BYTES) -> dict[str, bytes]:
    """All members of an archive by their names, in its order; together `max_bytes` at most."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read_members(archive, max_bytes)
    except _DAMAGED as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"this is not a whole zip archive, as DOCX and ODT are ({error}); save it again."
        ) from error
    except RuntimeError as error:  # zipfile's error for an archive with a password
        raise InputError("the document has a password; save it without one.") from error


def _read_members(archive: zipfile.ZipFile, remaining: int) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise InputError(f"the document has {len(infos):,} members, at most {MAX_MEMBERS:,} fit.")
    for info in infos:
        if info.filename in members:
            raise InputError(f"the document has two members {info.filename}; save it again.")
        limit = min(remaining, max(_SMALL, MAX_RATIO * info.compress_size))
        with archive.open(info) as member:  # what it declares as its size may be wrong
            content = member.read(limit + 1)
        if len(content) > limit:
            raise InputError(
                f"{info.filename} in the document expands from {info.compress_size:,} bytes to "
                f"over {limit:,}; a document of text does not, so it is refused."
            )
        remaining -= len(content)
        members[info.filename] = content
    return members


def write_archive(data: bytes, changed: Mapping[str, bytes]) -> bytes:
    """The archive with new content for some members; order, times and methods are kept."""
    output = io.BytesIO()
    members = read_archive(data)
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(output, "w") as new:
        new.comment = old.comment
        for info in old.infolist():
            copy = zipfile.ZipInfo(info.filename, info.date_time)
            copy.compress_type, copy.comment = info.compress_type, info.comment
            copy.external_attr, copy.internal_attr = info.external_attr, info.internal_attr
            copy.create_system = info.create_system
            new.writestr(copy, changed.get(info.filename, members[info.filename]))
    return output.getvalue()
