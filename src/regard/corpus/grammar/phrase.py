"""Noun phrases and what hangs on them: each rule says itself in English, French and Chinese.

Roles in a noun phrase's node: 0 noun, 1 determiner, 2 `of`, 3 measure word, 4 们.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from regard.corpus.grammar.entry import Adjective, Gender, Noun
from regard.corpus.grammar.french import begins_with_vowel
from regard.corpus.grammar.line import Line
from regard.corpus.grammar.particles import THE, THE_MANY, City, Determiner, Name, Preposition

SOUNDS_CONSONANT = frozenset({"useless"})
"""English words that begin with a vowel letter but take `a`."""


class Phrase(Protocol):
    """Anything that can be said in three languages."""

    def english(self, line: Line) -> None:
        """Say it in English."""

    def french(self, line: Line) -> None:
        """Say it in French, before elision and contraction."""

    def chinese(self, line: Line) -> None:
        """Say it in Chinese."""


class Subject(Phrase, Protocol):
    """A phrase that verbs and adjectives agree with."""

    @property
    def gender(self) -> Gender:
        """Grammatical gender in French."""

    @property
    def plural(self) -> bool:
        """Grammatical number."""

    @property
    def auxiliary(self) -> str:
        """The form of avoir that agrees."""


class Relative(Protocol):
    """A relative clause: said after its noun in English and French, before it in Chinese."""

    def english(self, line: Line, head: NounPhrase) -> None:
        """Say `who …` or `that …`."""

    def french(self, line: Line, head: NounPhrase) -> None:
        """Say `qui …` or `que …`."""

    def chinese(self, line: Line) -> None:
        """Say … 的."""


@dataclass(slots=True)
class NounPhrase:
    """Determiner, adjectives (in English order) and noun, with what follows the noun."""

    node: int
    noun: Noun
    determiner: Determiner
    adjectives: list[tuple[int, Adjective]] = field(default_factory=list)
    place: PlacePhrase | None = None
    substance: NounPhrase | None = None
    relative: Relative | None = None

    @property
    def gender(self) -> Gender:
        """The noun's."""
        return self.noun.gender

    @property
    def plural(self) -> bool:
        """The determiner's."""
        return self.determiner.plural

    @property
    def auxiliary(self) -> str:
        """`a` or `ont`."""
        return "ont" if self.determiner.plural else "a"

    def english(self, line: Line) -> None:
        """`a fluffy blue creature`."""
        determiner = self.determiner.english
        if determiner == "a":
            following = self.adjectives[0][1].english if self.adjectives else self.noun.english
            if following[0] in "aeiou" and following not in SOUNDS_CONSONANT:
                determiner = "an"
        line.add(determiner, self.node, 1)
        for node, adjective in self.adjectives:
            line.add(adjective.english, node)
        if self.plural:
            line.add(self.noun.plural, self.node)
        else:
            line.add_all(self.noun.words, self.node)
        if self.substance:
            line.add("of", self.node, 2)
            line.add_all(self.substance.noun.words, self.substance.node)
        if self.place:
            self.place.english(line)
        if self.relative:
            self.relative.english(line, self)

    def french(self, line: Line) -> None:
        """`une créature bleue et duveteuse`: size and age before the noun, the rest after it."""
        noun, gender, plural, node = self.noun, self.noun.gender, self.plural, self.node
        determiner = self.determiner.feminine if gender == "f" else self.determiner.masculine
        for word in determiner.split():
            line.add(word, node, 1)
        words = noun.french_plural if plural else noun.french
        after = []
        for adjective_node, adjective in self.adjectives:
            if adjective.rank:
                after.append((adjective_node, adjective))
            elif gender == "m" and not plural and begins_with_vowel(words[0]):
                line.add(adjective.before_vowel, adjective_node)
            else:
                line.add(adjective.french(gender, plural), adjective_node)
        line.add_all(words, node)
        for count, (adjective_node, adjective) in enumerate(reversed(after)):
            if count:
                line.add("et", adjective_node, 1)
            line.add(adjective.french(gender, plural), adjective_node)
        if self.substance:
            line.add("de", node, 2)
            line.add_all(self.substance.noun.french, self.substance.node)
        if self.place:
            self.place.french(line)
        if self.relative:
            self.relative.french(line, self)

    def chinese(self, line: Line) -> None:
        """一只毛茸茸的蓝色的生物: what describes the noun comes before it, size and age last."""
        noun, node = self.noun, self.node
        if self.place:
            self.place.chinese_of(line)
        self._chinese_determiner(line)
        if self.relative:
            self.relative.chinese(line)
        before = None
        for adjective_node, adjective in self.adjectives:
            if adjective.particle:
                line.add(adjective.attributive, adjective_node)
                line.add("的", adjective_node, 1)
            else:
                before = (adjective_node, adjective)
        if before:
            line.add(before[1].attributive, before[0])
        line.add(noun.chinese, node)
        if noun.kind == "person" and self.determiner is THE_MANY and not self.relative:
            line.add("们", node, 4)
        if self.substance:
            line.add(self.substance.noun.chinese, self.substance.node)

    def _chinese_determiner(self, line: Line) -> None:
        determiner, node = self.determiner, self.node
        if determiner.chinese:
            line.add(determiner.chinese, node, 1)
            if determiner.measured and not self.substance:
                line.add(self.noun.measure, node, 3)
        elif self.relative and determiner is THE:
            line.add("那", node, 1)
            line.add(self.noun.measure, node, 3)
        elif self.relative:
            line.add("那些", node, 1)


@dataclass(slots=True)
class NamePhrase:
    """A person by name."""

    node: int
    name: Name
    plural: bool = False
    auxiliary: str = "a"

    @property
    def gender(self) -> Gender:
        """The person's."""
        return self.name.gender

    def english(self, line: Line) -> None:
        """`Alice`."""
        line.add(self.name.english, self.node)

    def french(self, line: Line) -> None:
        """`Alice`."""
        line.add(self.name.english, self.node)

    def chinese(self, line: Line) -> None:
        """爱丽丝."""
        line.add(self.name.chinese, self.node)


@dataclass(slots=True)
class PronounPhrase:
    """A personal pronoun as a subject: said in three languages, with its form of avoir."""

    node: int
    forms: tuple[str, str, str]
    auxiliary: str
    gender: Gender = "m"
    plural: bool = False

    def english(self, line: Line) -> None:
        """`I`."""
        line.add(self.forms[0], self.node)

    def french(self, line: Line) -> None:
        """`je`."""
        line.add(self.forms[1], self.node)

    def chinese(self, line: Line) -> None:
        """我."""
        line.add(self.forms[2], self.node)


@dataclass(slots=True)
class BothPhrase:
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

    def english(self, line: Line) -> None:
        """`the dog and the cat`."""
        self.first.english(line)
        line.add("and", self.node)
        self.second.english(line)

    def french(self, line: Line) -> None:
        """`le chien et le chat`."""
        self.first.french(line)
        line.add("et", self.node)
        self.second.french(line)

    def chinese(self, line: Line) -> None:
        """狗和猫."""
        self.first.chinese(line)
        line.add("和", self.node)
        self.second.chinese(line)


@dataclass(slots=True)
class PlacePhrase:
    """A preposition with a noun phrase: where, when or with what."""

    node: int
    preposition: Preposition
    noun: NounPhrase

    def english(self, line: Line) -> None:
        """`near the bridge`."""
        line.add(self.preposition.english, self.node)
        self.noun.english(line)

    def french(self, line: Line) -> None:
        """`près du pont`."""
        for position, word in enumerate(self.preposition.french):
            line.add(word, self.node, 0 if position == self.preposition.head else 1)
        self.noun.french(line)

    def chinese(self, line: Line) -> None:
        """在桥附近."""
        line.add(self.preposition.before, self.node, 1 if self.preposition.after else 0)
        self.noun.chinese(line)
        if self.preposition.after:
            line.add(self.preposition.after, self.node)

    def chinese_of(self, line: Line) -> None:
        """手臂上的, before the noun that is there."""
        self.noun.chinese(line)
        line.add(self.preposition.after, self.node)
        line.add("的", self.node, 1)


@dataclass(slots=True)
class CityPhrase:
    """A city where something happens."""

    node: int
    city: City

    def english(self, line: Line) -> None:
        """`in Geneva`."""
        line.add("in", self.node, 1)
        line.add(self.city.english, self.node)

    def french(self, line: Line) -> None:
        """`à Genève`."""
        line.add("à", self.node, 1)
        line.add(self.city.french, self.node)

    def chinese(self, line: Line) -> None:
        """在日内瓦."""
        line.add("在", self.node, 1)
        line.add(self.city.chinese, self.node)
