"""Words with their spans, and the languages and scripts without spaces between words.

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

CHINESE = frozenset(["zh", "cmn", "yue", "wuu", "hak", "nan", "gan", "hsn", "lzh", "cjy"])
SPACELESS_LANGUAGES = CHINESE | frozenset(["ja", "th", "lo", "km", "my", "bo", "dz", "shn", "nod"])

SPACELESS_SCRIPTS = (
    "\u2e80-\u2fdf"  # radicals
    "\u3005-\u3007\u3021-\u3029\u3038-\u303b"  # 々 〆 〇 and numerals
    "\u3040-\u3098\u309b-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"  # kana
    "\u3100-\u312f\u31a0-\u31bf"  # bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Han
    "\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46"  # Thai, without its marks
    "\u0e81-\u0eb0\u0eb2-\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"  # Lao
    "\u1000-\u102a\u103f\u1050-\u1055"  # Myanmar
    "\u1780-\u17b3\u17d7\u17dc"  # Khmer
)
"""Letters of scripts written without spaces, as ranges of a regular expression."""

_NOT_SIMPLE = re.compile("[^\0-\u02ff\u2010-\u2027]")
"""Characters that marks, scripts without spaces, joiners and emoji are among; most texts have none.
"""

ELIDING = frozenset({"fr", "it", "ca", "oc", "wa", "pms", "scn"})


class Word(NamedTuple):
    """A word and its span: `text == whole[start:end]`."""

    text: str
    start: int
    end: int


def base_language(tag: str) -> str:
    """The language subtag of a language tag, in lower case.

    >>> base_language("zh-Hant-TW"), base_language("EN_us")
    ('zh', 'en')
    """
    return tag.lower().replace("_", "-").partition("-")[0]


def is_spaceless(language: str) -> bool:
    """Whether the language is written without spaces between words (Chinese, Japanese, Thai …).

    >>> is_spaceless("zh-CN"), is_spaceless("ko")
    (True, False)
    """
    return base_language(language) in SPACELESS_LANGUAGES


def words(text: str, language: str = "") -> list[Word]:
    """The words of a text in order.

    >>> [word.text for word in words("The animal didn't cross.", "en")]
    ['The', 'animal', "didn't", 'cross', '.']
    >>> [word.text for word in words("L'animal, aujourd'hui...", "fr")]
    ["L'", 'animal', ',', "aujourd'hui", '...']
    >>> [word.text for word in words("我用Python 3.11。", "zh")]
    ['我', '用', 'Python', '3.11', '。']
    """
    matches = _pattern_for(text, language).finditer(text)
    return [Word(match.group(), match.start(), match.end()) for match in matches]


def word_texts(text: str, language: str = "") -> list[str]:
    """The words of a text in order, without their places; faster than `words`.

    >>> word_texts("L'animal dort.", "fr")
    ["L'", 'animal', 'dort', '.']
    """
    return [match.group() for match in _pattern_for(text, language).finditer(text)]


def count_words(text: str, language: str = "") -> int:
    """The number of words of a text."""
    return len(_pattern_for(text, language).findall(text))


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


def _pattern_for(text: str, language: str) -> re.Pattern[str]:
    eliding = bool(language) and base_language(language) in ELIDING
    return _pattern(eliding, _NOT_SIMPLE.search(text) is None)


@cache
def _pattern(eliding: bool, simple: bool) -> re.Pattern[str]:
    """Matches words; the one for `simple` texts finds the same in them, in half the time."""
    if simple:
        letter, alphabetic, spaceless, emoji = r"\w", r"[^\W\d_]", [], []
        run, punctuation = r"\w+(?:·\w+)*", r"([^\w\s])\1*"
    else:
        marks, letter = f"[{_marks()}]", rf"[^\W{SPACELESS_SCRIPTS}]"
        alphabetic = rf"[^\W\d_{SPACELESS_SCRIPTS}]"
        spaceless = [rf"[{SPACELESS_SCRIPTS}]{marks}*"]
        emoji = [r"[\U0001f1e6-\U0001f1ff]{2}"]  # flags
        run = rf"{letter}(?:{letter}|{marks}|·(?={letter}))*"  # Catalan: col·lecció
        # after a joiner, the joined emoji
        punctuation = rf"([^\w\s])\1*(?:{marks}(?:(?<=\u200d)[^\w\s])?)*"
    if eliding:
        kinds = [
            rf"(?i:aujourd|prud|quelqu|presqu|entr)['’]{run}",  # exceptions: one word
            r"(?i:\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’])",
            rf"{run}['’](?={letter})",
            run,
        ]
    else:
        kinds = [rf"{run}(?:['’]{run})*"]
    numbers = r"\d+(?:[.,:]\d+)+"
    initials = rf"(?:{alphabetic}\.){{2,}}"  # U.S., e.g.
    return re.compile("|".join([*spaceless, initials, numbers, *kinds, *emoji, punctuation]))


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
