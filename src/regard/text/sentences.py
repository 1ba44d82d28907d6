"""Sentence splitting by punctuation and its context.

A line break always ends a sentence, and so do 。！？ and the stops of scripts without capitals.
. ! ? … end one before white space and anything but a small letter, unless a full stop belongs to
an abbreviation, an initial, an ordinal or the number of a list. Closing quotation marks and
brackets stay with their sentence. No character but white space is lost.
"""

from __future__ import annotations

import re
from functools import cache

from regard.text import abbreviations
from regard.text.language import SPACELESS_SCRIPTS, base_language, is_spaceless

_STRONG = "。！？｡।॥։።۔"  # ends a sentence with or without a space after it
_WEAK = ".!?…‽؟．"
_CLOSERS = "\"'”’»«›)\\]}）」』】》〉〗〕］＂＇"
_OPENERS = "\"'“‘„‚«»‹›¿¡([{（「『【《〈-–—―*•"
_CONTINUES = "、，,；;：:・" + _WEAK
_WORD = re.compile(r"\w")  # a sentence has a word; a stop alone is none
_PARTICLES = "とのはがをにもでだなっ"  # Japanese: 「…。」と言った continues
_ENUMERATOR = re.compile(r"[(\[]?(?:\d{1,3}|[^\W\d_]|[ivxIVX]{1,5})")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_LAST_TOKEN = re.compile(r"\S+$")
_NEXT_TOKEN = re.compile(r"[^\W_]+['’]?")
_SPACELESS = re.compile(f"[{SPACELESS_SCRIPTS}]")
_CONTEXT = 80  # characters that are examined on either side of a stop
_HESITATION = 3  # characters: 我……不知道 is one sentence


def split_sentences(text: str, language: str = "") -> list[str]:
    """The sentences of a text in order, without the white space around them.

    >>> split_sentences("Dr. Brown paid $3.50. “Really?” she asked. Yes!", "en")
    ['Dr. Brown paid $3.50.', '“Really?” she asked.', 'Yes!']
    >>> split_sentences("你好！“他来了。”我很高兴。", "zh")
    ['你好！', '“他来了。”', '我很高兴。']
    """
    return [text[start:end] for start, end in sentence_spans(text, language)]


def sentence_spans(text: str, language: str = "") -> list[tuple[int, int]]:
    """The spans of the sentences, from which the white space between them can be restored."""
    spans: list[tuple[int, int]] = []
    stops = _stops(base_language(language) == "fr")
    for paragraph in re.finditer(r"[^\n]+", text):
        start, limit = paragraph.span()
        has_word, examined = False, start
        for stop in stops.finditer(text, start, limit):
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
    if token in abbreviations.leading(language):
        return False
    if token in abbreviations.numbered(language) and begins[:1].isdigit():
        return False
    ordinal = (
        abbreviations.writes_ordinals_with_stop(language) and token.isdigit() and len(token) <= 2
    )
    named = len(token) == 1 and token.isalpha() and not _SPACELESS.match(token)
    if ordinal or named or _INITIALS.fullmatch(token) or token in abbreviations.names(language):
        return _begins_sentence(begins, language)
    return True


def _begins_sentence(begins: str, language: str) -> bool:
    word = _NEXT_TOKEN.match(begins)
    if word is None:
        return False
    known = abbreviations.starters(language)
    text = word.group().lower().replace("’", "'")
    return text in known or text.rstrip("'") in known


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
