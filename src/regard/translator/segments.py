"""Text cut into what a model can read at once, and put together again.

Sentences are cut apart because that is what models are trained on; a sentence that is longer than
a model can hold is cut at the last good place that fits: after punctuation, else between words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from regard.text import Tokenizer, joiner, normalise, sentence_spans, words

LONG_WORD = 64  # letters that are looked at beyond a place, so that a word there is seen whole
_PAUSE = re.compile(r"[,;:，；：、。.!?！？…)）\]]")


class Segment(NamedTuple):
    """One piece to translate: its text, and what stands before it when all is put together."""

    text: str
    before: str


def segments(text: str, language: str, tokenizer: Tokenizer, room: int) -> list[Segment]:
    """The pieces of a text, none of more than `room` tokens."""
    found: list[Segment] = []
    end = 0
    for start, stop in sentence_spans(text, language):
        before = text[end:start]
        for number, piece in enumerate(_fitting(text[start:stop], language, tokenizer, room)):
            found.append(Segment(piece, before if not number else " "))
        end = stop
    return found


def whole(text: str, language: str, tokenizer: Tokenizer, room: int) -> list[Segment]:
    """The text as one piece, unless it does not fit."""
    pieces = _fitting(normalise(text), language, tokenizer, room)
    return [Segment(piece, " " if number else "") for number, piece in enumerate(pieces)]


def put_together(pieces: list[Segment], translations: list[str], language: str) -> str:
    """The translations, line breaks between them kept, other space as the language has it."""
    parts: list[str] = []
    for piece, translation in zip(pieces, translations, strict=True):
        if "\n" in piece.before:
            parts.append("\n" * piece.before.count("\n"))
        elif parts:
            parts.append(joiner(language))
        parts.append(translation)
    return "".join(parts)


def _fitting(text: str, language: str, tokenizer: Tokenizer, room: int) -> list[str]:
    """The text in pieces of at most `room` tokens."""
    rest = normalise(text)
    if not rest:
        return []
    limit = _beyond(rest, tokenizer, room)
    if limit is None:
        return [text]
    pieces: list[str] = []
    while limit is not None:
        cut = _cut(rest[: limit + LONG_WORD], language, limit)
        pieces.append(rest[:cut].strip())
        rest = rest[cut:].strip()
        limit = _beyond(rest, tokenizer, room)
    return [*pieces, rest] if rest else pieces


def _beyond(text: str, tokenizer: Tokenizer, room: int) -> int | None:
    """Where the first token that does not fit begins; None if all fit.

    Only as much of the text is looked at as it takes, so that a long one is read once.
    """
    window = LONG_WORD + 8 * room
    while True:
        spans = tokenizer.spans(text[:window])
        if len(spans) > room:
            return spans[room][0]
        if window >= len(text):
            return None
        window *= 2


def _cut(text: str, language: str, limit: int) -> int:
    """The last good place at or before `limit`."""
    pauses = [match.end() for match in _PAUSE.finditer(text[:limit])]
    if pauses and pauses[-1] > limit // 2:
        return pauses[-1]
    starts = [word.start for word in words(text, language) if 0 < word.start <= limit]
    return starts[-1] if starts else max(1, limit)
