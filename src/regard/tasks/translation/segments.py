"""Text cut into what a model can read at once, and put together again.

Sentences are cut apart because that is what models are trained on; a sentence that is longer than
a model can hold is cut at the last good place that fits: after punctuation, else between words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from regard.text import Tokenizer, joiner, normalize, sentence_spans, words
from regard.text.language import SPACELESS_SCRIPTS

LONG_WORD = 64  # letters that are looked at beyond a place, so that a word there is seen whole
ENDLESS_WORD = 1000  # characters in a row without a space, which no word has
ENDLESS_SENTENCE = 10_000  # characters in a row without a space or a stop, where no spaces are used
_STOPS = ",;:，；：、。.!?！？…।॥"
_UNBROKEN = re.compile(
    rf"(?P<spaced>[^\s{SPACELESS_SCRIPTS}\u3000-\u303f\uff00-\uff65]+)|[^\s{_STOPS}]+"
)
_PAUSE = re.compile(r"[,;:，；：、。.!?！？…)）\]]")


class Segment(NamedTuple):
    """One piece: its text, what stands before it when all is put together, and if it is copied."""

    text: str
    before: str
    copied: bool = False


def pieces_of(
    text: str, language: str, tokenizer: Tokenizer, room: int, *, split: bool = True
) -> list[Segment]:
    """The pieces of a text, by sentence or (`split=False`) whole; endless words are copied.

    What has neither a space nor, in scripts that need none, a punctuation mark for so long is no
    word of any language; cut into pieces it would cost hours and come out as nonsense.
    """
    cut = segments if split else whole
    found: list[Segment] = []
    end = 0
    for start, stop in _endless_words(text):
        gap = text[end:start]
        found += cut(gap, language, tokenizer, room)
        found.append(Segment(text[start:stop], gap[len(gap.rstrip()) :] if split else " ", True))
        end = stop
    return [*found, *cut(text[end:], language, tokenizer, room)]


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
    pieces = _fitting(normalize(text), language, tokenizer, room)
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


def _endless_words(text: str) -> Iterator[tuple[int, int]]:
    """The places of words that are too long to be any."""
    if len(text) < ENDLESS_WORD:
        return
    for run in _UNBROKEN.finditer(text):
        length = run.end() - run.start()
        if length >= (ENDLESS_WORD if run["spaced"] else ENDLESS_SENTENCE):
            yield run.span()


def _fitting(text: str, language: str, tokenizer: Tokenizer, room: int) -> list[str]:
    """The text in pieces of at most `room` tokens."""
    normal = normalize(text)
    if not normal:
        return []
    if _beyond(normal, 0, tokenizer, room) is None:
        return [text]
    pieces: list[str] = []
    start = 0
    while (limit := _beyond(normal, start, tokenizer, room)) is not None:
        end = start + _cut(normal[start : start + limit + LONG_WORD], language, limit)
        pieces.append(normal[start:end].strip())
        start = end + (normal[end : end + 1] == " ")  # a normal text has single spaces only
    return [*pieces, normal[start:]] if start < len(normal) else pieces


def _beyond(text: str, start: int, tokenizer: Tokenizer, room: int) -> int | None:
    """Where, after `start`, the first token that does not fit begins; None if all fit.

    Only as much of the text is looked at as it takes, so that a long one is read once.
    """
    window = LONG_WORD + 2 * room
    while True:
        spans = tokenizer.spans(text[start : start + window])
        if len(spans) > room:
            return spans[room][0]
        if start + window >= len(text):
            return None
        window *= 2


def _cut(text: str, language: str, limit: int) -> int:
    """The last good place at or before `limit`."""
    pauses = [match.end() for match in _PAUSE.finditer(text[:limit])]
    if pauses and pauses[-1] > limit // 2:
        return pauses[-1]
    starts = [word.start for word in words(text, language) if 0 < word.start <= limit]
    return starts[-1] if starts else max(1, limit)
