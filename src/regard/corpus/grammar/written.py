"""Sentences as they are written, and their words: `words` splits, `detokenised` joins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from regard.corpus.grammar import particles
from regard.corpus.grammar.adjectives import ADJECTIVES
from regard.corpus.grammar.clause import AND, BECAUSE, BUT, SO, WHILE
from regard.corpus.grammar.draw_phrase import PRONOUNS
from regard.corpus.grammar.nouns import NOUNS
from regard.corpus.grammar.senses import MEANINGS
from regard.corpus.grammar.verbs import (
    ACTIVITY_VERBS,
    ATTITUDE_VERBS,
    EVENT_VERBS,
    STATE_VERBS,
    TRANSFER_VERBS,
)

PUNCTUATION = frozenset(".,!?;:。，！？；：、")
_ENGLISH = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_FRENCH = re.compile(r"\w+(?:-\w+)*['’]?|[^\w\s]")
_CHINESE = re.compile(r"[A-Za-z0-9]+|\S")
_CHINESE_PARTICLES = "的 了 们 在 很 不 没有 它 和 并 那 那些 。 ，"


def words(text: str, language: str) -> tuple[str, ...]:
    """The words of a text in `en`, `fr` or `zh`, punctuation apart.

    French articles and particles that lost their vowel are words of their own; Chinese is cut into
    the longest words of the grammar's lexicon, and into single characters where it has none.

    >>> words("L'animal n'a pas traversé la rue.", "fr")
    ("L'", 'animal', "n'", 'a', 'pas', 'traversé', 'la', 'rue', '.')
    >>> words("动物没有穿过街道。", "zh")
    ('动物', '没有', '穿过', '街道', '。')
    """
    if language == "en":
        return tuple(_ENGLISH.findall(text))
    if language == "fr":
        return tuple(_FRENCH.findall(text))
    _known(language)
    return tuple(_longest_words(text))


def detokenised(words: Sequence[str], language: str) -> str:
    """The words as a written text; the inverse of `words`.

    >>> detokenised(["L'", "animal", "dormait", "."], "fr")
    "L'animal dormait."
    """
    _known(language)
    if language == "zh":
        return "".join(words)
    text = ""
    for word in words:
        if text and word not in PUNCTUATION and not (language == "fr" and text[-1] in "'’"):
            text += " "
        text += word
    return text


def chinese_lexicon() -> frozenset[str]:
    """Every Chinese word the grammar can say."""
    return _chinese_lexicon()


def _known(language: str) -> None:
    if language not in ("en", "fr", "zh"):
        raise ValueError(f"language is {language!r} but must be 'en', 'fr' or 'zh'.")


def _longest_words(text: str) -> list[str]:
    lexicon = _chinese_lexicon()
    longest = max(map(len, lexicon))
    found, start = [], 0
    while start < len(text):
        for end in range(min(len(text), start + longest), start, -1):
            if text[start:end] in lexicon:
                break
        else:
            match = _CHINESE.match(text, start)
            end = match.end() if match else start + 1
        if not text[start:end].isspace():
            found.append(text[start:end])
        start = end
    return found


@cache
def _chinese_lexicon() -> frozenset[str]:
    found = set(_CHINESE_PARTICLES.split())
    nouns = [*NOUNS.values(), *(m.noun for senses in MEANINGS.values() for m in senses)]
    for noun in nouns:
        found |= {noun.chinese, noun.measure}
    for adjective in ADJECTIVES.values():
        found |= {adjective.chinese, adjective.attributive}
    for table in (EVENT_VERBS, ACTIVITY_VERBS, ATTITUDE_VERBS, STATE_VERBS, TRANSFER_VERBS):
        found |= {verb.chinese for verb in table.values()}
    found |= {verb.negative for verb in STATE_VERBS.values()}
    found |= {determiner.chinese for determiner in particles.DETERMINERS}
    for preposition in particles.PREPOSITIONS.values():
        found |= {preposition.before, preposition.after}
    found |= {adverb.chinese for adverb in (*particles.DEGREES.values(), *particles.MANNERS)}
    found |= {name.chinese for name in particles.NAMES}
    found |= {city.chinese for city in particles.CITIES}
    found |= {time.chinese for time in particles.TIMES}
    found |= {connective.chinese for connective in (AND, BECAUSE, BUT, SO, WHILE)}
    found |= {forms[2] for forms, _, _ in PRONOUNS}
    return frozenset(found - {"", "-"})
