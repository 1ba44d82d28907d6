"""Cut a text into segments that fit a model, and join their translations.

A text is cut into sentences, since models are trained on them. A sentence that is longer than the
model's input is cut at the last good position: after punctuation, else between words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from regard.text import Tokenizer, joiner, normalize, sentence_spans, words
from regard.text.language import SPACELESS_SCRIPTS

LOOKAHEAD = 64  # characters read beyond a limit, so that a word at the limit is seen whole
MAX_WORD = 1000  # characters without a space; a longer run is no word of any language
MAX_UNBROKEN = 10_000  # characters without a space or punctuation, in scripts without spaces
_STOPS = ",;:，；：、。.!?！？…।॥"
_UNBROKEN = re.compile(
    rf"(?P<spaced>[^\s{SPACELESS_SCRIPTS}\u3000-\u303f\uff00-\uff65]+)|[^\s{_STOPS}]+"
)
_PAUSE = re.compile(r"[,;:，；：、。.!?！？…)）\]]")


class Segment(NamedTuple):
    """A part of a text that the model translates at once.

    text    as it stands in the source
    before  the white space before it
    copied  whether it is copied, not translated
    ids     its tokens, without special tokens; empty if copied
    """

    text: str
    before: str
    copied: bool = False
    ids: Sequence[int] = ()


def segment_text(
    text: str, language: str, tokenizer: Tokenizer, max_tokens: int, *, split: bool = True
) -> list[Segment]:
    """The segments of a text: its sentences or, with `split=False`, as few as fit the model.

    A run of characters that is too long for a word is copied: its parts would take hours to
    translate and mean nothing.
    """
    cut = split_sentences if split else split_long
    segments: list[Segment] = []
    end = 0
    for start, stop in _overlong_words(text):
        gap = text[end:start]
        segments += cut(gap, language, tokenizer, max_tokens)
        before = gap[len(gap.rstrip()) :] if split else " "
        segments.append(Segment(text[start:stop], before, copied=True))
        end = stop
    return [*segments, *cut(text[end:], language, tokenizer, max_tokens)]


def split_sentences(
    text: str, language: str, tokenizer: Tokenizer, max_tokens: int
) -> list[Segment]:
    """The sentences of a text, those of more than `max_tokens` tokens in parts."""
    segments: list[Segment] = []
    end = 0
    for start, stop in sentence_spans(text, language):
        parts = _fitting(text[start:stop], language, tokenizer, max_tokens)
        segments += _numbered(parts, text[end:start])
        end = stop
    return segments


def split_long(text: str, language: str, tokenizer: Tokenizer, max_tokens: int) -> list[Segment]:
    """The text as one segment, or in parts if it has more than `max_tokens` tokens."""
    return _numbered(_fitting(normalize(text), language, tokenizer, max_tokens), "")


def join_translations(
    segments: Sequence[Segment], translations: Sequence[str], language: str
) -> str:
    """The translations with the line breaks between the segments, else the language's space."""
    parts: list[str] = []
    for segment, translation in zip(segments, translations, strict=True):
        if "\n" in segment.before:
            parts.append("\n" * segment.before.count("\n"))
        elif parts:
            parts.append(joiner(language))
        parts.append(translation)
    return "".join(parts)


def _numbered(parts: Sequence[tuple[str, list[int]]], before: str) -> list[Segment]:
    return [
        Segment(text, " " if number else before, ids=ids)
        for number, (text, ids) in enumerate(parts)
    ]


def _overlong_words(text: str) -> Iterator[tuple[int, int]]:
    """The spans of runs of characters that are too long for a word."""
    if len(text) < MAX_WORD:
        return
    for run in _UNBROKEN.finditer(text):
        length = run.end() - run.start()
        if length >= (MAX_WORD if run["spaced"] else MAX_UNBROKEN):
            yield run.span()


def _fitting(
    text: str, language: str, tokenizer: Tokenizer, max_tokens: int
) -> list[tuple[str, list[int]]]:
    """The text in parts of at most `max_tokens` tokens, with their ids."""
    normal = normalize(text)
    if not normal:
        return []
    parts: list[tuple[str, list[int]]] = []
    start = 0
    while start < len(normal):
        ids, limit = _first_tokens(normal, start, tokenizer, max_tokens)
        if limit is None:
            parts.append((normal[start:] if parts else text, ids))
            break
        end = start + _cut(normal[start : start + limit + LOOKAHEAD], language, limit)
        part = normal[start:end].strip()
        parts.append((part, tokenizer.encode(part)))
        start = end + (normal[end : end + 1] == " ")  # normalized text has single spaces only
    return parts


def _first_tokens(
    text: str, start: int, tokenizer: Tokenizer, max_tokens: int
) -> tuple[list[int], int | None]:
    """The ids from `start` on, and None if all of them fit; else where the first too many begins.

    The window grows until it has enough tokens, so that a long text is tokenized once.
    """
    window = LOOKAHEAD + 2 * max_tokens
    while True:
        chunk = text[start : start + window]
        ids = tokenizer.encode(chunk)
        if len(ids) > max_tokens:
            return ids, tokenizer.spans(chunk, ids)[max_tokens][0]
        if start + window >= len(text):
            return ids, None
        window *= 2


def _cut(text: str, language: str, limit: int) -> int:
    """The last good position for a cut, at or before `limit`."""
    pauses = [match.end() for match in _PAUSE.finditer(text[:limit])]
    if pauses and pauses[-1] > limit // 2:
        return pauses[-1]
    starts = [word.start for word in words(text, language) if 0 < word.start <= limit]
    return starts[-1] if starts else max(1, limit)
