"""Noun phrases and their modifiers, each realized in English, French and Chinese.

Roles in a noun phrase's node: 0 noun, 1 determiner, 2 `of`, 3 measure word, 4 们.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from regard.corpus.grammar.derivation import CHINESE, ENGLISH, FRENCH, VOWELS, Realization
from regard.corpus.grammar.entries import (
    THE,
    THE_PLURAL,
    Adjective,
    Determiner,
    Gender,
    Noun,
    Preposition,
)

CONSONANT_SOUND = frozenset({"useless"})
"""English words that begin with a vowel letter but take `a`."""


class Phrase(Protocol):
    """A phrase that can be realized in three languages."""

    def realize(self, out: Realization) -> None:
        """Append the words in the language of `out`; French before elision and contraction."""


class Subject(Phrase, Protocol):
    """A phrase that verbs and adjectives agree with."""

    @property
    def gender(self) -> Gender:
        """Grammatical gender in French."""

    @property
    def plural(self) -> bool:
        """Whether it is plural."""

    @property
    def auxiliary(self) -> str:
        """The agreeing form of avoir."""


class Relative(Protocol):
    """A relative clause: after its noun in English and French, before it in Chinese."""

    def realize(self, out: Realization, head: NounPhrase) -> None:
        """Append `who …`, `qui …` or … 的."""


@dataclass(slots=True)
class NounPhrase:
    """Determiner, adjectives (in English order), noun, and its modifiers."""

    node: int
    noun: Noun
    determiner: Determiner
    adjectives: list[tuple[int, Adjective]] = field(default_factory=list)
    place: PlacePhrase | None = None
    substance: NounPhrase | None = None
    relative: Relative | None = None

    @property
    def gender(self) -> Gender:
        """The noun's gender."""
        return self.noun.gender

    @property
    def plural(self) -> bool:
        """The determiner's number."""
        return self.determiner.plural

    @property
    def auxiliary(self) -> str:
        """`a` or `ont`."""
        return "ont" if self.determiner.plural else "a"

    def realize(self, out: Realization) -> None:
        """In Chinese all modifiers precede the noun."""
        if out.language == CHINESE:
            self._chinese(out)
            return
        if out.language == ENGLISH:
            self._english(out)
        else:
            self._french(out)
        if self.substance:
            out.add_form(("of", "de", ""), self.node, 2)
            noun = self.substance.noun
            out.add_all(noun.words if out.language == ENGLISH else noun.french, self.substance.node)
        if self.place:
            self.place.realize(out)
        if self.relative:
            self.relative.realize(out, self)

    def _english(self, out: Realization) -> None:
        """`a fluffy blue creature`."""
        determiner = self.determiner.english
        if determiner == "a":
            following = self.adjectives[0][1].english if self.adjectives else self.noun.english
            if following[0] in "aeiou" and following not in CONSONANT_SOUND:
                determiner = "an"
        out.add(determiner, self.node, 1)
        for node, adjective in self.adjectives:
            out.add(adjective.english, node)
        if self.determiner.plural:
            out.add(self.noun.plural, self.node)
        else:
            out.add_all(self.noun.words, self.node)

    def _french(self, out: Realization) -> None:
        """`une créature bleue et duveteuse`: size and age before the noun, the rest after it."""
        noun, plural, node = self.noun, self.determiner.plural, self.node
        gender = noun.gender
        determiner = self.determiner.feminine if gender == "f" else self.determiner.masculine
        for word in determiner.split():
            out.add(word, node, 1)
        words = noun.french_plural if plural else noun.french
        after = []
        for adjective_node, adjective in self.adjectives:
            if adjective.rank:
                after.append((adjective_node, adjective))
            elif gender == "m" and not plural and words[0][0] in VOWELS:
                out.add(adjective.before_vowel, adjective_node)
            else:
                out.add(adjective.french(gender, plural), adjective_node)
        out.add_all(words, node)
        for index, (adjective_node, adjective) in enumerate(reversed(after)):
            if index:
                out.add("et", adjective_node, 1)
            out.add(adjective.french(gender, plural), adjective_node)

    def _chinese(self, out: Realization) -> None:
        """一只毛茸茸的蓝色的生物: size and age last."""
        noun, node = self.noun, self.node
        if self.place:
            self.place.realize_as_modifier(out)
        self._chinese_determiner(out)
        if self.relative:
            self.relative.realize(out, self)
        last = None
        for adjective_node, adjective in self.adjectives:
            if adjective.particle:
                out.add(adjective.attributive, adjective_node)
                out.add("的", adjective_node, 1)
            else:
                last = (adjective_node, adjective)
        if last:
            out.add(last[1].attributive, last[0])
        out.add(noun.chinese, node)
        if noun.kind == "person" and self.determiner is THE_PLURAL and not self.relative:
            out.add("们", node, 4)
        if self.substance:
            out.add(self.substance.noun.chinese, self.substance.node)

    def _chinese_determiner(self, out: Realization) -> None:
        determiner, node = self.determiner, self.node
        if determiner.chinese:
            out.add(determiner.chinese, node, 1)
            if determiner.measured and not self.substance:
                out.add(self.noun.measure, node, 3)
        elif self.relative and determiner is THE:
            out.add("那", node, 1)
            out.add(self.noun.measure, node, 3)
        elif self.relative:
            out.add("那些", node, 1)


@dataclass(slots=True)
class WordPhrase:
    """One word per language: a name, a pronoun, or a city after its preposition (`in Geneva`)."""

    node: int
    forms: tuple[str, str, str]
    auxiliary: str = "a"
    gender: Gender = "m"
    prepositions: tuple[str, str, str] = ("", "", "")
    plural: bool = False

    def realize(self, out: Realization) -> None:
        """Preposition, word."""
        out.add_form(self.prepositions, self.node, 1)
        out.add_form(self.forms, self.node)


@dataclass(slots=True)
class CoordinatedPhrase:
    """Two phrases joined by `and`; masculine in French unless both are feminine."""

    node: int
    first: Subject
    second: Subject
    plural: bool = True
    auxiliary: str = "ont"

    @property
    def gender(self) -> Gender:
        """Feminine only if both are."""
        return "f" if self.first.gender == self.second.gender == "f" else "m"

    def realize(self, out: Realization) -> None:
        """`the dog and the cat`."""
        self.first.realize(out)
        out.add_form(("and", "et", "和"), self.node)
        self.second.realize(out)


@dataclass(slots=True)
class PlacePhrase:
    """A preposition with a noun phrase: place, time or instrument."""

    node: int
    preposition: Preposition
    noun: NounPhrase

    def realize(self, out: Realization) -> None:
        """`near the bridge`, `près du pont`, 在桥附近."""
        preposition, node = self.preposition, self.node
        if out.language == FRENCH:
            for position, word in enumerate(preposition.french):
                out.add(word, node, 0 if position == preposition.head else 1)
        else:
            role = 1 if out.language == CHINESE and preposition.after else 0
            out.add_form((preposition.english, "", preposition.before), node, role)
        self.noun.realize(out)
        out.add_form(("", "", preposition.after), node)

    def realize_as_modifier(self, out: Realization) -> None:
        """手臂上的, before the noun that it modifies in Chinese."""
        self.noun.realize(out)
        out.add(self.preposition.after, self.node)
        out.add("的", self.node, 1)
