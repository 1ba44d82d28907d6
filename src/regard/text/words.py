"""Words with their spans, for display, alignment and the word tokenizer.

A word is a run of letters, digits and their marks. English words keep their apostrophes (didn't),
languages with elision split after them (l' animal). Letters of scripts without spaces (Han, kana,
Thai …) are words of their own, with their marks. Numbers keep their points, initials their stops
(U.S.), and a run of one punctuation mark (...) is one word. Every character that is not white
space belongs to exactly one word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from regard.text.language import SPACELESS_SCRIPTS, base_language

ELIDING = frozenset({"fr", "it", "ca", "oc", "wa", "pms", "scn"})


class Word(NamedTuple):
    """A word and its span: `text == whole[start:end]`."""

    text: str
    start: int
    end: int


def words(text: str, language: str = "") -> list[Word]:
    """The words of a text in order.

    >>> [word.text for word in words("The animal didn't cross.", "en")]
    ['The', 'animal', "didn't", 'cross', '.']
    >>> [word.text for word in words("L'animal, aujourd'hui...", "fr")]
    ["L'", 'animal', ',', "aujourd'hui", '...']
    >>> [word.text for word in words("我用Python 3.11。", "zh")]
    ['我', '用', 'Python', '3.11', '。']
    """
    matches = _pattern(base_language(language) in ELIDING).finditer(text)
    return [Word(match.group(), match.start(), match.end()) for match in matches]


def count_words(text: str, language: str = "") -> int:
    """The number of words of a text."""
    return len(_pattern(base_language(language) in ELIDING).findall(text))


def has_long_word(text: str, longest: int) -> bool:
    """Whether there are more than `longest` characters between two spaces.

    Letters of scripts without spaces are not counted and end a word.

    >>> has_long_word("a base64 string: QUJDREVGR0hJSktM", 10), has_long_word("没有空格" * 9, 10)
    (True, False)
    """
    return len(text) > longest and _run_over(longest).search(text) is not None


@cache
def _run_over(longest: int) -> re.Pattern[str]:
    return re.compile(rf"[^\s{SPACELESS_SCRIPTS}]{{{longest + 1}}}")


@cache
def _pattern(eliding: bool) -> re.Pattern[str]:
    marks = f"[{_marks()}]"
    letter = rf"[^\W{SPACELESS_SCRIPTS}]"
    run = rf"{letter}(?:{letter}|{marks}|·(?={letter}))*"  # Catalan: col·lecció
    alphabetic = rf"[^\W\d_{SPACELESS_SCRIPTS}]"
    kinds = [
        rf"[{SPACELESS_SCRIPTS}]{marks}*",
        rf"(?:{alphabetic}\.){{2,}}",  # U.S., e.g.
        r"\d+(?:[.,:]\d+)+",
    ]
    if eliding:
        kinds += [
            rf"(?i:aujourd|prud|quelqu|presqu|entr)['’]{run}",  # exceptions: one word
            r"(?i:\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’])",
            rf"{run}['’](?={letter})",
            run,
        ]
    else:
        kinds += [rf"{run}(?:['’]{run})*"]
    kinds += [
        r"[\U0001f1e6-\U0001f1ff]{2}",  # flags
        rf"([^\w\s])\1*(?:{marks}(?:(?<=\u200d)[^\w\s])?)*",  # after a joiner, the joined emoji
    ]
    return re.compile("|".join(kinds))


@cache
def _marks() -> str:
    """Combining marks, joiners and skin tones, as ranges of a regular expression."""
    codes = [
        code
        for code in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0))
        if unicodedata.category(chr(code))[0] == "M"
        or code in (0x200C, 0x200D)
        or 0x1F3FB <= code <= 0x1F3FF
    ]
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
