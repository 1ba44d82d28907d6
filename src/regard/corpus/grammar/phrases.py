"""Noun phrases and their modifiers, each realized in English, French and Chinese.

Roles in a noun phrase's node: 0 noun, 1 determiner, 2 `of`, 3 measure word, 4 们.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from regard.corpus.grammar.derivation import Realization, begins_with_vowel
from regard.corpus.grammar.entries import (
    THE,
    THE_PLURAL,
    Adjective,
    City,
    Determiner,
    FirstName,
    Gender,
    Noun,
    Preposition,
    Pronoun,
)

CONSONANT_SOUND = frozenset({"useless"})
"""English words that begin with a vowel letter but take `a`."""


class Phrase(Protocol):
    """A phrase that can be realized in three languages."""

    def english(self, out: Realization) -> None:
        """Append the English words."""

    def french(self, out: Realization) -> None:
        """Append the French words, before elision and contraction."""

    def chinese(self, out: Realization) -> None:
        """Append the Chinese words."""


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

    def english(self, out: Realization, head: NounPhrase) -> None:
        """Append `who …` or `that …`."""

    def french(self, out: Realization, head: NounPhrase) -> None:
        """Append `qui …` or `que …`."""

    def chinese(self, out: Realization) -> None:
        """Append … 的."""


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

    def english(self, out: Realization) -> None:
        """`a fluffy blue creature`."""
        determiner = self.determiner.english
        if determiner == "a":
            following = self.adjectives[0][1].english if self.adjectives else self.noun.english
            if following[0] in "aeiou" and following not in CONSONANT_SOUND:
                determiner = "an"
        out.add(determiner, self.node, 1)
        for node, adjective in self.adjectives:
            out.add(adjective.english, node)
        if self.plural:
            out.add(self.noun.plural, self.node)
        else:
            out.add_all(self.noun.words, self.node)
        if self.substance:
            out.add("of", self.node, 2)
            out.add_all(self.substance.noun.words, self.substance.node)
        if self.place:
            self.place.english(out)
        if self.relative:
            self.relative.english(out, self)

    def french(self, out: Realization) -> None:
        """`une créature bleue et duveteuse`: size and age before the noun, the rest after it."""
        noun, gender, plural, node = self.noun, self.noun.gender, self.plural, self.node
        determiner = self.determiner.feminine if gender == "f" else self.determiner.masculine
        for word in determiner.split():
            out.add(word, node, 1)
        words = noun.french_plural if plural else noun.french
        after = []
        for adjective_node, adjective in self.adjectives:
            if adjective.rank:
                after.append((adjective_node, adjective))
            elif gender == "m" and not plural and begins_with_vowel(words[0]):
                out.add(adjective.before_vowel, adjective_node)
            else:
                out.add(adjective.french(gender, plural), adjective_node)
        out.add_all(words, node)
        for index, (adjective_node, adjective) in enumerate(reversed(after)):
            if index:
                out.add("et", adjective_node, 1)
            out.add(adjective.french(gender, plural), adjective_node)
        if self.substance:
            out.add("de", node, 2)
            out.add_all(self.substance.noun.french, self.substance.node)
        if self.place:
            self.place.french(out)
        if self.relative:
            self.relative.french(out, self)

    def chinese(self, out: Realization) -> None:
        """一只毛茸茸的蓝色的生物: modifiers precede the noun, size and age last."""
        noun, node = self.noun, self.node
        if self.place:
            self.place.chinese_of(out)
        self._chinese_determiner(out)
        if self.relative:
            self.relative.chinese(out)
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
    """One word per language: a name, a pronoun, or a city after its preposition."""

    node: int
    forms: tuple[str, str, str]
    auxiliary: str = "a"
    gender: Gender = "m"
    prepositions: tuple[str, str, str] | None = None
    plural: bool = False

    @classmethod
    def of_name(cls, node: int, name: FirstName) -> WordPhrase:
        """`Alice`, 爱丽丝."""
        return cls(node, (name.english, name.english, name.chinese), gender=name.gender)

    @classmethod
    def of_pronoun(cls, node: int, pronoun: Pronoun) -> WordPhrase:
        """`I`, `je`, 我."""
        return cls(node, *pronoun)

    @classmethod
    def of_city(cls, node: int, city: City) -> WordPhrase:
        """`in Geneva`, `à Genève`, 在日内瓦."""
        return cls(node, (city.english, city.french, city.chinese), prepositions=("in", "à", "在"))

    def english(self, out: Realization) -> None:
        """`Alice`, `in Geneva`."""
        self._add(out, 0)

    def french(self, out: Realization) -> None:
        """`Alice`, `à Genève`."""
        self._add(out, 1)

    def chinese(self, out: Realization) -> None:
        """爱丽丝, 在日内瓦."""
        self._add(out, 2)

    def _add(self, out: Realization, language: int) -> None:
        if self.prepositions:
            out.add(self.prepositions[language], self.node, 1)
        out.add(self.forms[language], self.node)


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

    def english(self, out: Realization) -> None:
        """`the dog and the cat`."""
        self.first.english(out)
        out.add("and", self.node)
        self.second.english(out)

    def french(self, out: Realization) -> None:
        """`le chien et le chat`."""
        self.first.french(out)
        out.add("et", self.node)
        self.second.french(out)

    def chinese(self, out: Realization) -> None:
        """狗和猫."""
        self.first.chinese(out)
        out.add("和", self.node)
        self.second.chinese(out)


@dataclass(slots=True)
class PlacePhrase:
    """A preposition with a noun phrase: place, time or instrument."""

    node: int
    preposition: Preposition
    noun: NounPhrase

    def english(self, out: Realization) -> None:
        """`near the bridge`."""
        out.add(self.preposition.english, self.node)
        self.noun.english(out)

    def french(self, out: Realization) -> None:
        """`près du pont`."""
        for position, word in enumerate(self.preposition.french):
            out.add(word, self.node, 0 if position == self.preposition.head else 1)
        self.noun.french(out)

    def chinese(self, out: Realization) -> None:
        """在桥附近."""
        out.add(self.preposition.before, self.node, 1 if self.preposition.after else 0)
        self.noun.chinese(out)
        if self.preposition.after:
            out.add(self.preposition.after, self.node)

    def chinese_of(self, out: Realization) -> None:
        """手臂上的, before the noun that it modifies."""
        self.noun.chinese(out)
        out.add(self.preposition.after, self.node)
        out.add("的", self.node, 1)
