"""Types of lexical entries in three languages, regular inflection, and the function words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

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
    """The sense of an ambiguous English noun; "" for ordinary nouns."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the English singular."""
        return tuple(self.english.split())

    @property
    def countable(self) -> bool:
        """Whether it can be counted, unlike `bread`."""
        return bool(self.measure)


@dataclass(frozen=True)
class Adjective:
    """An adjective with its agreeing French forms and its two Chinese forms."""

    english: str
    forms: tuple[str, str, str, str]
    """French: masculine, feminine, masculine plural, feminine plural."""
    before_vowel: str
    """French masculine singular before a vowel (`bel`)."""
    rank: int
    """0: before the French noun (size and age); 1: quality and 2: color, both after it."""
    order: int
    """Rank in English order: size, quality, age, color."""
    chinese: str
    attributive: str
    particle: bool
    """Whether 的 follows the attributive form."""
    nouns: frozenset[str]
    """Kinds and nouns that it can describe; with a minus, that it cannot."""

    def fits(self, noun: Noun) -> bool:
        """Whether it can describe the noun."""
        name = noun.english
        return (name in self.nouns or noun.kind in self.nouns) and "-" + name not in self.nouns

    def french(self, gender: Gender, plural: bool) -> str:
        """The agreeing form."""
        return self.forms[(gender == "f") + 2 * plural]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb, and the nouns that it takes."""

    chinese: str
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]


@dataclass(frozen=True, kw_only=True)
class PastVerb(Verb):
    """An event: simple past, passé composé with avoir, 了."""

    past: str
    base: str
    participle: str


@dataclass(frozen=True, kw_only=True)
class PresentVerb(Verb):
    """A state or an attitude: `likes`, `aime`, 喜欢."""

    base: str
    third: str
    french_singular: str
    french_plural: str
    negative: str
    """The Chinese negated verb where it is not 不 and the verb; else ""."""

    def forms(self, plural: bool) -> tuple[str, str, str]:
        """The forms that agree with the subject: `like`, `aiment`, 喜欢."""
        if plural:
            return self.base, self.french_plural, self.chinese
        return self.third, self.french_singular, self.chinese


@dataclass(frozen=True, kw_only=True)
class ProgressiveVerb(Verb):
    """An activity: `was sleeping`, `dormait`, 在睡觉."""

    english: str
    french_singular: str
    french_plural: str

    def french(self, plural: bool) -> str:
        """The form that agrees with its subject: `dormaient`, `dormait`."""
        return self.french_plural if plural else self.french_singular


class Preposition(NamedTuple):
    """A preposition; Chinese has a word before the noun and may have another after it."""

    english: str
    french: tuple[str, ...]
    head: int
    """Index of the French word with the meaning; the others are `à` and `de`."""
    before: str
    after: str
    weight: int
    """Relative frequency in phrases of place."""
    nouns: tuple[Noun, ...]


class WordForms(NamedTuple):
    """One form per language: an adverb or a city."""

    english: str
    french: str
    chinese: str


class PersonalWord(NamedTuple):
    """A personal pronoun or first name, with its form of avoir."""

    forms: tuple[str, str, str]
    auxiliary: str
    gender: Gender


class TimeAdverbial(NamedTuple):
    """A time that opens a sentence: words with their roles (see `derivation`)."""

    english: tuple[tuple[str, int], ...]
    french: tuple[tuple[str, int], ...]
    chinese: tuple[tuple[str, int], ...]


class Determiner(NamedTuple):
    """A determiner."""

    english: str
    masculine: str
    feminine: str
    chinese: str
    measured: bool
    """Whether a Chinese measure word follows."""
    plural: bool = False


THE = Determiner("the", "le", "la", "", False)
A = Determiner("a", "un", "une", "一", True)
ONE = Determiner("one", "un", "une", "一", True)
THIS = Determiner("this", "ce", "cette", "这", True)
THAT = Determiner("that", "ce", "cette", "那", True)
THE_PLURAL = Determiner("the", "les", "les", "", False, True)
THESE = Determiner("these", "ces", "ces", "这些", False, True)
THOSE = Determiner("those", "ces", "ces", "那些", False, True)
TWO = Determiner("two", "deux", "deux", "两", True, True)
THREE = Determiner("three", "trois", "trois", "三", True, True)
SOME = Determiner("some", "quelques", "quelques", "一些", False, True)
SEVERAL = Determiner("several", "plusieurs", "plusieurs", "几", True, True)
MANY = Determiner("many", "beaucoup de", "beaucoup de", "很多", False, True)
DEFINITE = (*(THE,) * 8, THIS, THAT)
SINGULAR = (*(THE,) * 10, *(A,) * 7, THIS, THAT)
DEFINITE_PLURAL = (*(THE_PLURAL,) * 6, THESE, THOSE)
PLURAL = (*(THE_PLURAL,) * 6, TWO, TWO, THREE, THREE, SOME, SOME, SEVERAL, MANY, THESE, THOSE)
COUNTED = (*(A,) * 8, ONE, TWO, THREE, SEVERAL)
COUNTED_SINGULAR = (*(A,) * 8, ONE)
UNITS = (ONE, ONE, TWO, THREE)
"""Determiners of each kind of phrase, repeated as often as they are drawn."""

PRONOUNS = (
    PersonalWord(("I", "je", "我"), "ai", "m"),
    PersonalWord(("we", "nous", "我们"), "avons", "m"),
    PersonalWord(("he", "il", "他"), "a", "m"),
    PersonalWord(("she", "elle", "她"), "a", "f"),
)
IT: dict[Gender, PersonalWord] = {
    "m": PersonalWord(("it", "il", "它"), "a", "m"),
    "f": PersonalWord(("it", "elle", "它"), "a", "f"),
}


class Connective(NamedTuple):
    """A word between clauses; Chinese has a comma before each, and `and` is that comma alone."""

    english: str
    french: tuple[str, ...]
    chinese: str
    comma: bool = True


AND = Connective("and", ("et",), "")
BUT = Connective("but", ("mais",), "但是")
SO = Connective("so", ("donc",), "所以")
WHILE = Connective("while", ("pendant", "que"), "而")
BECAUSE = Connective("because", ("parce", "que"), "因为", comma=False)
CONNECTIVES = (*(AND,) * 8, *(BUT,) * 5, *(SO,) * 2, *(WHILE,) * 3, *(BECAUSE,) * 2)
"""Repeated as often as they are drawn."""


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


def french_plural(word: str) -> str:
    """The regular French plural of a noun or an adjective.

    >>> [french_plural(word) for word in ("chien", "oiseau", "cheval", "souris", "bleu")]
    ['chiens', 'oiseaux', 'chevaux', 'souris', 'bleus']
    """
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "eu")) and word != "bleu":
        return word + "x"
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + "s"
