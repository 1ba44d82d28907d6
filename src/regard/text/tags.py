"""Tags: tokens before a sentence that say what it is, or what language it is translated into.

A tag is one token, `<news>` or `<2de>` (Johnson et al. 2017, "Google's multilingual neural machine
translation system"), with an id after all others. No text is encoded as a tag, and in decoded text
tags do not appear.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from regard.errors import InputError

if TYPE_CHECKING:
    from regard.text.tokenizer import Tokenizer

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_CONTROL = 3  # the type of a SentencePiece piece that text is never cut into


def tag_token(name: str) -> str:
    """The token of a tag that a user named.

    >>> tag_token("news")
    '<news>'
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"a tag is a letter, then letters, digits, - and _, as in news, got {name!r}."
        )
    return f"<{name}>"


def language_tag(code: str) -> str:
    """The token that asks for a target language.

    >>> language_tag("de")
    '<2de>'
    """
    return f"<2{code}>"


def tagged_language(tag: str) -> str | None:
    """The target language that a tag asks for; None for other tags.

    >>> tagged_language("<2de>"), tagged_language("<news>")
    ('de', None)
    """
    return tag[2:-1] if tag.startswith("<2") else None


def tag_ids(known: Mapping[str, int], tags: Sequence[str]) -> list[int]:
    """The ids of tags; one that the vocabulary does not have is an error."""
    for tag in tags:
        if tag not in known:
            listed = f"its tags are {', '.join(known)}" if known else "it has no tags"
            raise InputError(f"the tag {tag} is not in the vocabulary of the model; {listed}.")
    return [known[tag] for tag in tags]


def tagged_spans(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
    """The span of each token of a text in it; tags before the text have empty ones at its start."""
    tags = set(tokenizer.tags.values())
    num_tags = len(list(takewhile(tags.__contains__, ids)))
    return [(0, 0)] * num_tags + tokenizer.spans(text, ids[num_tags:])


def untagged(text: str, tag: str) -> str:
    """The text without a tag that is written in front of it.

    >>> untagged("<bt> The cat sleeps.", "<bt>"), untagged("The cat <bt>", "<bt>")
    ('The cat sleeps.', 'The cat <bt>')
    """
    return text[len(tag) :].lstrip() if tag and text.startswith(tag) else text


def append_pieces(model: bytes, pieces: Sequence[str]) -> bytes:
    """A SentencePiece model with more pieces, which no text is cut into.

    Its file is a protocol buffer whose field 1 is repeated, one for each piece (1: text, 2: score,
    3: type); what is appended to the file is appended to the list.
    """
    for piece in pieces:
        text = piece.encode()
        fields = b"\x0a" + _size(text) + text + b"\x15" + struct.pack("<f", 0.0)
        fields += b"\x18" + bytes([_CONTROL])
        model += b"\x0a" + _size(fields) + fields
    return model


def _size(data: bytes) -> bytes:
    """The length of data as a protocol buffer writes it."""
    number, written = len(data), b""
    while number > 0x7F:
        written += bytes([number & 0x7F | 0x80])
        number >>= 7
    return written + bytes([number])
