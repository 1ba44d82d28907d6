"""Cut a text into sentences and into segments that fit a model, and join their translations.

A line break always ends a sentence, and so do 。！？ and the stops of scripts without capitals.
. ! ? … end one before white space and anything but a small letter, unless a full stop belongs to
an abbreviation, an initial, an ordinal or the number of a list. Closing quotation marks and
brackets stay with their sentence. No character but white space is lost.

A sentence that is longer than the model's input is cut at the last good position: after
punctuation, else between words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from regard.text.abbreviations import listed, writes_ordinals_with_stop
from regard.text.masking import StandIn, mask, name_spans, restore
from regard.text.normalization import normalize
from regard.text.placeholders import protected_spans, shield, spans_within
from regard.text.tokenizer import Tokenizer
from regard.text.words import SPACELESS_SCRIPTS, base_language, is_spaceless, words

LOOKAHEAD = 64  # characters read beyond a limit, so that a word at the limit is seen whole
MAX_WORD = 1000  # characters without a space; a longer run is no word of any language
MAX_UNBROKEN = 10_000  # characters without a space or punctuation, in scripts without spaces
_STOPS = ",;:，；：、。.!?！？…।॥"
_UNBROKEN = re.compile(
    rf"(?P<spaced>[^\s{SPACELESS_SCRIPTS}\u3000-\u303f\uff00-\uff65]+)|[^\s{_STOPS}]+"
)
_PAUSE = re.compile(r"[,;:，；：、。.!?！？…)）\]]")

_STRONG = "。！？｡।॥։።۔"  # ends a sentence with or without a space after it
_WEAK = ".!?…‽؟．"
_CLOSERS = "\"'”’»«›)\\]}）」』】》〉〗〕］＂＇"
_OPENERS = "\"'“‘„‚«»‹›¿¡([{（「『【《〈-–—―*•"
_CONTINUES = "、，,；;：:・" + _WEAK
_WORD = re.compile(r"\w")  # a sentence has a word; a stop alone is none
_PARTICLES = "とのはがをにもでだなっ"  # Japanese: 「…。」と言った continues
_ENUMERATOR = re.compile(r"[(\[]?(?:\d{1,3}|[^\W\d_]|[ivxIVX]{1,5})")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_LAST_TOKEN = re.compile(r"(?<!\S)\S++$")
_NEXT_TOKEN = re.compile(r"[^\W_]+['’]?")
_SPACELESS = re.compile(f"[{SPACELESS_SCRIPTS}]")
_CONTEXT = 80  # characters that are examined on either side of a stop
_HESITATION = 3  # characters: 我……不知道 is one sentence


class Segment(NamedTuple):
    """A part of a text that the model translates at once.

    text       as it stands in the source, but with stand-ins
    before     the white space before it
    copied     whether it is copied, not translated
    ids        its tokens, without special tokens; empty if copied
    stand_ins  words of the text that are in place of placeholders
    """

    text: str
    before: str
    copied: bool = False
    ids: Sequence[int] = ()
    stand_ins: tuple[StandIn, ...] = ()

    @property
    def source(self) -> str:
        """The text as it stands in the source."""
        return restore(self.text, self.stand_ins) if self.stand_ins else self.text


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


def segment_protected(
    text: str,
    language: str,
    tokenizer: Tokenizer,
    max_tokens: int,
    names: Sequence[str],
    *,
    split: bool = True,
) -> list[Segment]:
    """The segments of a text with `names` as stand-ins in place of its placeholders.

    No segment ends inside of a placeholder. One without a letter besides them is copied.
    """
    spans = protected_spans(text)
    if not spans:
        return segment_text(text, language, tokenizer, max_tokens, split=split)
    shielded = shield(text, spans)
    sentences = sentence_spans(shielded, language) if split else [_trimmed(text, 0, len(text))]
    segments: list[Segment] = []
    end = 0
    for start, stop in sentences:
        sentence, before, end = text[start:stop], text[end:start], stop
        protected = spans_within(spans, start, stop)
        masked, stand_ins = mask(sentence, protected, names)
        if protected and not any(map(str.isalpha, _without(sentence, protected))):
            segments.append(Segment(sentence, before, copied=True))
            continue
        parts = segment_text(masked, language, tokenizer, max_tokens, split=False)
        segments += [
            part._replace(
                before=part.before if number else before,
                stand_ins=tuple(s for s in stand_ins if name_spans(s.name, part.text)),
            )
            for number, part in enumerate(parts)
        ]
    return segments


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text without some spans."""
    starts, ends = (0, *(end for _, end in spans)), (*(start for start, _ in spans), len(text))
    return "".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def split_sentences(
    text: str, language: str, tokenizer: Tokenizer, max_tokens: int
) -> list[Segment]:
    """The sentences of a text, those of more than `max_tokens` tokens in parts."""
    segments: list[Segment] = []
    end = 0
    for start, stop in sentence_spans(text, language):
        sentence, before = text[start:stop], text[end:start]
        segments += _fitting(sentence, before, language, tokenizer, max_tokens)
        end = stop
    return segments


def split_long(text: str, language: str, tokenizer: Tokenizer, max_tokens: int) -> list[Segment]:
    """The text as one segment, or in parts if it has more than `max_tokens` tokens."""
    return _fitting(normalize(text), "", language, tokenizer, max_tokens)


def join_translations(
    segments: Sequence[Segment], translations: Sequence[str], language: str
) -> str:
    """The translations with the line breaks between the segments, else the language's space."""
    space = "" if is_spaceless(language) else " "
    parts: list[str] = []
    for segment, translation in zip(segments, translations, strict=True):
        if "\n" in segment.before:
            parts.append("\n" * segment.before.count("\n"))
        elif parts:
            parts.append(space)
        parts.append(translation)
    return "".join(parts)


def sentence_spans(text: str, language: str = "") -> list[tuple[int, int]]:
    """The spans of a text's sentences in order, without the white space around them.

    >>> text = "Dr. Brown paid $3.50. “Really?” she asked. Yes!"
    >>> [text[start:end] for start, end in sentence_spans(text, "en")]
    ['Dr. Brown paid $3.50.', '“Really?” she asked.', 'Yes!']
    """
    spans: list[tuple[int, int]] = []
    stops = _stops(base_language(language) == "fr")
    for paragraph in re.finditer(r"[^\n]+", text):
        start, limit = paragraph.span()
        has_word, examined = False, start
        for stop in stops.finditer(text, start, limit):
            if stop.end() == limit:  # it ends the paragraph
                break
            has_word = has_word or bool(_WORD.search(text, examined, stop.start()))
            examined = stop.end()
            before = text[max(start, stop.start() - _CONTEXT) : stop.start()]
            after = text[stop.end() : min(stop.end() + _CONTEXT, limit)]
            closed = stop.end() > stop.end("mark")
            if _ends(before, stop["mark"], closed, after, language, has_word):
                spans.append((start, stop.end()))
                start, has_word = stop.end(), False
        spans.append((start, limit))
    return [span for span in (_trimmed(text, *span) for span in spans) if span[0] < span[1]]


@cache
def _stops(french: bool) -> re.Pattern[str]:
    """A run of stops and closing marks after it; in French a space may precede »."""
    spaced = r"|\s?»" if french else ""
    return re.compile(rf"(?P<mark>[{_STRONG}{_WEAK}]+)(?:[{_CLOSERS}]{spaced})*")


def _ends(before: str, mark: str, closed: bool, after: str, language: str, has_word: bool) -> bool:
    """Whether a sentence ends with `mark`.

    before, after  the text on either side, up to `_CONTEXT` characters
    closed         whether a quote or bracket closes the sentence
    has_word       whether the sentence has a word
    """
    following = after.lstrip()
    if not following:
        return True
    if following[0] in _CONTINUES or not has_word:
        return False
    if mark[-1] in _STRONG:
        return not (closed and following[0] in _PARTICLES)
    if not after[0].isspace():
        return is_spaceless(language) and _ends_unspaced(before, mark, after)
    begins = following.lstrip(_OPENERS + " ")
    if begins and begins[0].islower():
        return False
    return mark != "." or closed or _full_stop_ends(before, begins, base_language(language))


def _ends_unspaced(before: str, mark: str, after: str) -> bool:
    """Whether a Western stop without a space ends a sentence: 你好!我…; not 3.5 or Python.org."""
    if mark[-1] == "…":
        return len(before.strip()) >= _HESITATION
    return bool(before and _SPACELESS.match(before[-1]) and _SPACELESS.match(after))


def _full_stop_ends(before: str, begins: str, language: str) -> bool:
    """Whether a single full stop is not just part of an abbreviation or number."""
    if _ENUMERATOR.fullmatch(before.strip()):
        return False
    last = _LAST_TOKEN.search(before[-_CONTEXT:])
    token = last.group().lstrip(_OPENERS).lower() if last else ""
    token = re.split("['’]", token)[-1]  # l'art. 5
    if token in listed("leading", language):
        return False
    if token in listed("numbered", language) and begins[:1].isdigit():
        return False
    ordinal = writes_ordinals_with_stop(language) and token.isdigit() and len(token) <= 2
    named = len(token) == 1 and token.isalpha() and not _SPACELESS.match(token)
    if ordinal or named or _INITIALS.fullmatch(token) or token in listed("name", language):
        return _begins_sentence(begins, language)
    return True


def _begins_sentence(begins: str, language: str) -> bool:
    word = _NEXT_TOKEN.match(begins)
    if word is None:
        return False
    known = listed("starter", language)
    text = word.group().lower().replace("’", "'")
    return text in known or text.rstrip("'") in known


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _overlong_words(text: str) -> Iterator[tuple[int, int]]:
    """The spans of runs of characters that are too long for a word."""
    if len(text) < MAX_WORD:
        return
    for run in _UNBROKEN.finditer(text):
        length = run.end() - run.start()
        if length >= (MAX_WORD if run["spaced"] else MAX_UNBROKEN):
            yield run.span()


def _fitting(
    text: str, before: str, language: str, tokenizer: Tokenizer, max_tokens: int
) -> list[Segment]:
    """The text in segments of at most `max_tokens` tokens; none if it is white space."""
    normal = normalize(text)
    segments: list[Segment] = []
    start = 0
    while start < len(normal):
        ids, limit = _first_tokens(normal, start, tokenizer, max_tokens)
        if limit is None:
            part, start = normal[start:] if segments else text, len(normal)
        else:
            end = start + _cut(normal[start : start + limit + LOOKAHEAD], language, limit)
            part = normal[start:end].strip()
            ids = tokenizer.encode(part)
            start = end + (normal[end : end + 1] == " ")  # normalized text has single spaces only
        segments.append(Segment(part, " " if segments else before, ids=ids))
    return segments


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
