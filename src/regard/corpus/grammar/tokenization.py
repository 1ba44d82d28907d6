"""Splitting text into the grammar's words and joining them again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from regard.corpus.grammar.entries import CONNECTIVES, COUNTED, PLURAL, PRONOUNS, SINGULAR
from regard.corpus.grammar.vocabulary import read_table

PUNCTUATION = frozenset(".,!?;:。，！？；：、")
_ENGLISH = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_FRENCH = re.compile(r"\w+(?:-\w+)*['’]?|[^\w\s]")
_CHINESE = re.compile(r"[A-Za-z0-9]+|\S")
_CHINESE_COLUMNS = ("chinese", "attributive", "measure", "negative", "before", "after")
_CHINESE_TABLES = (
    "nouns",
    "senses",
    "adjectives",
    "verbs_past",
    "verbs_present",
    "verbs_progressive",
    "prepositions",
    "adverbs",
    "names",
    "cities",
    "times",
)
_CHINESE_PARTICLES = "的 了 们 在 很 不 没有 它 和 并 那 那些 。 ，"


def split_words(text: str, language: str) -> tuple[str, ...]:
    """The words of a text in `en`, `fr` or `zh`, with punctuation as separate words.

    Elided French articles and particles are separate words. Chinese is segmented into the longest
    words of the grammar's lexicon, and into single characters where none matches.

    >>> split_words("L'animal n'a pas traversé la rue.", "fr")
    ("L'", 'animal', "n'", 'a', 'pas', 'traversé', 'la', 'rue', '.')
    >>> split_words("动物没有穿过街道。", "zh")
    ('动物', '没有', '穿过', '街道', '。')
    """
    if language == "en":
        return tuple(_ENGLISH.findall(text))
    if language == "fr":
        return tuple(_FRENCH.findall(text))
    _check_language(language)
    return tuple(_longest_words(text))


def detokenize(words: Sequence[str], language: str) -> str:
    """Join words to text; the inverse of `split_words`.

    >>> detokenize(["L'", "animal", "dormait", "."], "fr")
    "L'animal dormait."
    """
    _check_language(language)
    if language == "zh":
        return "".join(words)
    text = "".join([word if word in PUNCTUATION else f" {word}" for word in words])
    if language == "fr":
        text = text.replace("' ", "'").replace("’ ", "’")
    return text.removeprefix(" ")


def _check_language(language: str) -> None:
    if language not in ("en", "fr", "zh"):
        raise ValueError(f"language must be 'en', 'fr' or 'zh', got {language!r}.")


def _longest_words(text: str) -> list[str]:
    lexicon = _chinese_lexicon()
    longest = max(map(len, lexicon))
    words, start = [], 0
    while start < len(text):
        for end in range(min(len(text), start + longest), start, -1):
            if text[start:end] in lexicon:
                break
        else:
            match = _CHINESE.match(text, start)
            end = match.end() if match else start + 1
        if not text[start:end].isspace():
            words.append(text[start:end])
        start = end
    return words


@cache
def _chinese_lexicon() -> frozenset[str]:
    """Every Chinese word of the grammar."""
    words = set(_CHINESE_PARTICLES.split())

    def add(**columns: str) -> None:
        words.update(columns.get(name, "") for name in _CHINESE_COLUMNS)

    for table in _CHINESE_TABLES:
        read_table(table, add)
    words |= {word.chinese for word in (*SINGULAR, *PLURAL, *COUNTED, *CONNECTIVES)}
    words |= {pronoun.forms[2] for pronoun in PRONOUNS}
    return frozenset(words - {""})
