"""Lexical entries: one English word with its French and its Chinese, and the rules of inflection.

The lexicon is written as tables, one entry a line and its columns apart by spaces. An underscore is
a space inside a column, a slash gives an irregular form (`man/men`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Gender = Literal["m", "f"]


@dataclass(frozen=True)
class Noun:
    """A noun: English and French in both numbers, French gender, Chinese with its measure word."""

    english: str
    plural: str
    french: tuple[str, ...]
    french_plural: tuple[str, ...]
    gender: Gender
    chinese: str
    measure: str
    kind: str
    sense: str = ""
    """Which sense of an ambiguous English word this is; "" for ordinary nouns."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The English singular, word by word."""
        return tuple(self.english.split())

    @property
    def countable(self) -> bool:
        """Whether it can be counted; `the bread` can not."""
        return self.measure != "-"


@dataclass(frozen=True)
class Adjective:
    """An adjective: four French forms, the place before or after the noun, two Chinese forms."""

    english: str
    forms: tuple[str, str, str, str]
    """French: masculine, feminine, masculine plural, feminine plural."""
    before_vowel: str
    """French masculine singular before a vowel (`bel`); else the same as `forms[0]`."""
    rank: int
    """0: before the French noun (size and age); 1: quality and 2: colour, both after it."""
    order: int
    """Place among English adjectives: size, quality, age, colour."""
    chinese: str
    attributive: str
    particle: bool
    """Whether 的 joins it to a Chinese noun."""
    kinds: frozenset[str]
    """Kinds of nouns, and single nouns, that can be so; with a minus, that can not."""

    def fits(self, noun: Noun) -> bool:
        """Whether the noun can be so."""
        name, kinds = noun.english, self.kinds
        return (name in kinds or noun.kind in kinds) and "-" + name not in kinds

    def french(self, gender: Gender, plural: bool) -> str:
        """The form that agrees."""
        return self.forms[(gender == "f") + 2 * plural]


@dataclass(frozen=True)
class Verb:
    """An event, told in the past: simple past, passé composé with avoir, 了."""

    past: str
    base: str
    participle: str
    chinese: str
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]


@dataclass(frozen=True)
class State:
    """A verb of feeling or thinking, told in the present: `likes`, `aime`, 喜欢."""

    base: str
    third: str
    french: str
    french_plural: str
    chinese: str
    negative: str
    """The Chinese word for not doing so where that is more than 不 before it; else ""."""
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]


@dataclass(frozen=True)
class Activity:
    """Something going on: `was sleeping`, `dormait`, 在睡觉."""

    english: str
    french: str
    french_plural: str
    chinese: str
    subjects: tuple[Noun, ...]


def rows(table: str) -> Iterator[list[str]]:
    """The table's lines as lists of columns."""
    for line in table.strip().splitlines():
        if line.strip():
            yield line.split()


def noun(columns: list[str], kind: str, sense: str = "") -> Noun:
    """A noun from its columns: English, French, gender, Chinese, measure word.

    >>> noun("horse cheval m 马 匹".split(), "animal").french_plural
    ('chevaux',)
    """
    english, french, gender, chinese, measure = columns
    singular, _, plural = english.replace("_", " ").partition("/")
    french, _, french_plural = french.partition("/")
    return Noun(
        english=singular,
        plural=plural or english_plural(singular),
        french=tuple(french.split("_")),
        french_plural=tuple((french_plural or french_plural_of(french)).split("_")),
        gender="f" if gender == "f" else "m",
        chinese=chinese,
        measure=measure,
        kind=kind,
        sense=sense,
    )


def adjective(columns: list[str], rank: int, order: int) -> Adjective:
    """An adjective: English, French masculine and feminine, Chinese, attributive Chinese, kinds.

    The masculine may carry its form before a vowel (`vieux/vieil`); the attributive Chinese is `.`
    when it is the same, and ends in `=` when it goes without 的.
    """
    english, masculine, feminine, chinese, attributive, kinds = columns
    masculine, _, before_vowel = masculine.partition("/")
    return Adjective(
        english=english,
        forms=(masculine, feminine, french_plural_of(masculine), feminine + "s"),
        before_vowel=before_vowel or masculine,
        rank=rank,
        order=order,
        chinese=chinese,
        attributive=chinese if attributive[0] in ".=" else attributive.rstrip("="),
        particle=not attributive.endswith("="),
        kinds=frozenset(kinds.split(",")),
    )


def english_plural(word: str) -> str:
    """The regular English plural.

    >>> [english_plural(word) for word in ("dog", "fox", "cherry", "monkey", "torch")]
    ['dogs', 'foxes', 'cherries', 'monkeys', 'torches']
    """
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def french_plural_of(word: str) -> str:
    """The regular French plural of a noun or an adjective.

    >>> [french_plural_of(word) for word in ("chien", "oiseau", "cheval", "souris", "bleu")]
    ['chiens', 'oiseaux', 'chevaux', 'souris', 'bleus']
    """
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "eu")) and word != "bleu":
        return word + "x"
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + "s"
