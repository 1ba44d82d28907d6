"""Messages between a process that reads documents and its parent: JSON, and bytes behind it.

JSON holds nothing but strings, numbers and lists, so that whatever a document made of a process,
its answer is data. A head says how long both parts are, so that the receiver can refuse to read
them.

    8 bytes: length of the JSON │ 8 bytes: length of the data │ JSON │ data
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from regard.documents.projection import LinkedTranslation

HEAD = struct.Struct("!QQ")
CHUNK = 1 << 16
"""Bytes that a pipe takes at once."""
OUT_OF_MEMORY = 77
"""Exit code of a process that has no memory left, and could not even say so."""
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Message(NamedTuple):
    """The JSON of a message, and the bytes of documents."""

    content: dict[str, Any]
    data: bytes = b""


def encode(content: dict[str, Any], data: Sequence[bytes] = ()) -> list[bytes]:
    """The parts of a message, in order; a small one is whole, so that it is received at once."""
    packed = ENCODER.encode(content).encode("utf-8", "surrogatepass")
    size = sum(map(len, data))
    parts = [HEAD.pack(len(packed), size), packed, *data]
    return [b"".join(parts)] if len(packed) + size < CHUNK else parts


def decode(content: bytes) -> dict[str, Any]:
    """The JSON of a message."""
    decoded: dict[str, Any] = json.loads(content.decode("utf-8", "surrogatepass"))
    return decoded


def slices(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    """Parts of data that follow each other.

    >>> list(slices(b"abcdef", [1, 3, 2]))
    [b'a', b'bcd', b'ef']
    """
    position = 0
    for size in sizes:
        yield data[position : position + size]
        position += size


class PlainTranslation(NamedTuple):
    """A translation and its word links."""

    text: str
    source_words: Sequence[str] = ()
    words: Sequence[str] = ()
    alignment: Sequence[tuple[int, int]] = ()


def plain_translation(translation: LinkedTranslation, *, links: bool) -> PlainTranslation:
    """What is needed of a translation; words and links may be computed when they are read."""
    if not links:
        return PlainTranslation(translation.text)
    return PlainTranslation(
        translation.text, translation.source_words, translation.words, translation.alignment
    )
