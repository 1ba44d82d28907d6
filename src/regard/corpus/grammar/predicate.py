"""What is said of a subject: events, states, activities, qualities, gifts.

Roles in a verb's node: 0 the verb, 1 auxiliary, negation, 了, copula; 2 `to`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from regard.corpus.grammar.entry import Activity, Adjective, State, Verb
from regard.corpus.grammar.line import Line
from regard.corpus.grammar.particles import Adverb
from regard.corpus.grammar.phrase import NounPhrase, Phrase, Subject


class Predicate(Protocol):
    """A predicate, said after its subject."""

    present: ClassVar[bool]
    """Whether it is told in the present."""

    def english(self, line: Line, subject: Subject) -> None:
        """Say it in English."""

    def french(self, line: Line, subject: Subject) -> None:
        """Say it in French, agreeing with the subject."""

    def chinese(self, line: Line) -> None:
        """Say it in Chinese."""


@dataclass(slots=True)
class Event:
    """`crossed the street`, `n'a pas traversé la rue`, 穿过了街道."""

    present: ClassVar[bool] = False
    node: int
    verb: Verb
    object: Phrase
    negated: bool = False
    place: Phrase | None = None
    adverb: tuple[int, Adverb] | None = None

    def english(self, line: Line, subject: Subject) -> None:
        """Simple past, or `didn't` and the base form."""
        if self.adverb:
            line.add(self.adverb[1].english, self.adverb[0])
        if self.negated:
            line.add("didn't", self.node, 1)
            line.add(self.verb.base, self.node)
        else:
            line.add(self.verb.past, self.node)
        self.object.english(line)
        if self.place:
            self.place.english(line)

    def french(self, line: Line, subject: Subject) -> None:
        """Passé composé with avoir."""
        if self.negated:
            line.add("ne", self.node, 1)
        line.add(subject.auxiliary, self.node, 1)
        if self.negated:
            line.add("pas", self.node, 1)
        if self.adverb:
            line.add(self.adverb[1].french, self.adverb[0])
        line.add(self.verb.participle, self.node)
        self.object.french(line)
        if self.place:
            self.place.french(line)

    def chinese(self, line: Line) -> None:
        """没有 or 了, and the place before the verb."""
        if self.negated:
            line.add("没有", self.node, 1)
        if self.place:
            self.place.chinese(line)
        if self.adverb:
            line.add(self.adverb[1].chinese, self.adverb[0])
        line.add(self.verb.chinese, self.node)
        if not self.negated:
            line.add("了", self.node, 1)
        self.object.chinese(line)


@dataclass(slots=True)
class Gift:
    """`gave a book to the girl`, `a donné un livre à la fille`, 送给了女孩一本书."""

    present: ClassVar[bool] = False
    node: int
    verb: Verb
    object: NounPhrase
    receiver: Phrase

    def english(self, line: Line, subject: Subject) -> None:
        """Object first, then `to`."""
        line.add(self.verb.past, self.node)
        self.object.english(line)
        line.add("to", self.node, 2)
        self.receiver.english(line)

    def french(self, line: Line, subject: Subject) -> None:
        """Object first, then `à`."""
        line.add(subject.auxiliary, self.node, 1)
        line.add(self.verb.participle, self.node)
        self.object.french(line)
        line.add("à", self.node, 2)
        self.receiver.french(line)

    def chinese(self, line: Line) -> None:
        """Receiver first."""
        line.add(self.verb.chinese, self.node)
        line.add("了", self.node, 1)
        self.receiver.chinese(line)
        self.object.chinese(line)


@dataclass(slots=True)
class Feeling:
    """`doesn't like the cat`, `n'aime pas le chat`, 不喜欢猫."""

    present: ClassVar[bool] = True
    node: int
    verb: State
    object: Phrase
    negated: bool = False

    def english(self, line: Line, subject: Subject) -> None:
        """Present, or `doesn't` and the base form."""
        if self.negated:
            line.add("don't" if subject.plural else "doesn't", self.node, 1)
            line.add(self.verb.base, self.node)
        else:
            line.add(self.verb.base if subject.plural else self.verb.third, self.node)
        self.object.english(line)

    def french(self, line: Line, subject: Subject) -> None:
        """Present, within `ne … pas` if negated."""
        if self.negated:
            line.add("ne", self.node, 1)
        line.add(self.verb.french_plural if subject.plural else self.verb.french, self.node)
        if self.negated:
            line.add("pas", self.node, 1)
        self.object.french(line)

    def chinese(self, line: Line) -> None:
        """不 before the verb, or a negative word of its own."""
        if self.negated and self.verb.negative:
            line.add(self.verb.negative, self.node)
            line.also_for(self.node, 1)
        else:
            if self.negated:
                line.add("不", self.node, 1)
            line.add(self.verb.chinese, self.node)
        self.object.chinese(line)


@dataclass(slots=True)
class Doing:
    """`was sleeping in the park`, `dormait dans le parc`, 在公园里睡觉."""

    present: ClassVar[bool] = False
    node: int
    verb: Activity
    negated: bool = False
    place: Phrase | None = None

    def english(self, line: Line, subject: Subject) -> None:
        """Past progressive."""
        if subject.plural:
            line.add("weren't" if self.negated else "were", self.node, 1)
        else:
            line.add("wasn't" if self.negated else "was", self.node, 1)
        line.add(self.verb.english, self.node)
        if self.place:
            self.place.english(line)

    def french(self, line: Line, subject: Subject) -> None:
        """Imparfait."""
        if self.negated:
            line.add("ne", self.node, 1)
        line.add(self.verb.french_plural if subject.plural else self.verb.french, self.node)
        if self.negated:
            line.add("pas", self.node, 1)
        if self.place:
            self.place.french(line)

    def chinese(self, line: Line) -> None:
        """在, which is the place's if there is one."""
        if self.negated:
            line.add("没有", self.node, 1)
        if self.place:
            self.place.chinese(line)
        else:
            line.add("在", self.node, 1)
        line.add(self.verb.chinese, self.node)


@dataclass(slots=True)
class Quality:
    """`was too tired`, `était trop fatigué`, 太累了."""

    present: ClassVar[bool] = False
    node: int
    adjective: Adjective
    degree: Adverb
    degree_node: int
    negated: bool = False

    def english(self, line: Line, subject: Subject) -> None:
        """Past of `be`."""
        if subject.plural:
            line.add("weren't" if self.negated else "were", self.node, 1)
        else:
            line.add("wasn't" if self.negated else "was", self.node, 1)
        if self.degree.english:
            line.add(self.degree.english, self.degree_node)
        line.add(self.adjective.english, self.node)

    def french(self, line: Line, subject: Subject) -> None:
        """Imparfait of être; the adjective agrees."""
        if self.negated:
            line.add("ne", self.node, 1)
        line.add("étaient" if subject.plural else "était", self.node, 1)
        if self.negated:
            line.add("pas", self.node, 1)
        if self.degree.english:
            line.add(self.degree.french, self.degree_node)
        line.add(self.adjective.french(subject.gender, subject.plural), self.node)

    def chinese(self, line: Line) -> None:
        """No verb: 很, 非常, 太 … 了 or 不 before the adjective."""
        if self.negated:
            line.add("不", self.node, 1)
        elif self.degree.english:
            line.add(self.degree.chinese, self.degree_node)
        else:
            line.add("很", self.node, 1)
        line.add(self.adjective.chinese, self.node)
        if self.degree.english == "too":
            line.add("了", self.node, 1)
