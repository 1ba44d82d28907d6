"""Predicates: events, transfers, states, activities and qualities of a subject.

Roles in a verb's node: 0 the verb, 1 auxiliary, negation, 了, copula; 2 `to`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from regard.corpus.grammar.derivation import Realization
from regard.corpus.grammar.entries import (
    Adjective,
    Adverb,
    PastVerb,
    PresentVerb,
    ProgressiveVerb,
)
from regard.corpus.grammar.phrases import NounPhrase, Phrase, Subject


class Predicate(Protocol):
    """A predicate, realized after its subject."""

    present: ClassVar[bool]
    """Whether it is in the present tense."""

    def english(self, out: Realization, subject: Subject) -> None:
        """Append the English words."""

    def french(self, out: Realization, subject: Subject) -> None:
        """Append the French words, agreeing with the subject."""

    def chinese(self, out: Realization) -> None:
        """Append the Chinese words."""


def past_copula(subject: Subject, negated: bool) -> str:
    """`was`, `were`, `wasn't` or `weren't`."""
    return ("were" if subject.plural else "was") + ("n't" if negated else "")


@dataclass(slots=True)
class EventPredicate:
    """`crossed the street`, `n'a pas traversé la rue`, 穿过了街道."""

    present: ClassVar[bool] = False
    node: int
    verb: PastVerb
    object: Phrase
    negated: bool = False
    place: Phrase | None = None
    adverb: tuple[int, Adverb] | None = None

    def english(self, out: Realization, subject: Subject) -> None:
        """Simple past, or `didn't` and the base form."""
        if self.adverb:
            out.add(self.adverb[1].english, self.adverb[0])
        if self.negated:
            out.add("didn't", self.node, 1)
            out.add(self.verb.base, self.node)
        else:
            out.add(self.verb.past, self.node)
        self.object.english(out)
        if self.place:
            self.place.english(out)

    def french(self, out: Realization, subject: Subject) -> None:
        """Passé composé with avoir."""
        if self.negated:
            out.add("ne", self.node, 1)
        out.add(subject.auxiliary, self.node, 1)
        if self.negated:
            out.add("pas", self.node, 1)
        if self.adverb:
            out.add(self.adverb[1].french, self.adverb[0])
        out.add(self.verb.participle, self.node)
        self.object.french(out)
        if self.place:
            self.place.french(out)

    def chinese(self, out: Realization) -> None:
        """没有 or 了, and the place before the verb."""
        if self.negated:
            out.add("没有", self.node, 1)
        if self.place:
            self.place.chinese(out)
        if self.adverb:
            out.add(self.adverb[1].chinese, self.adverb[0])
        out.add(self.verb.chinese, self.node)
        if not self.negated:
            out.add("了", self.node, 1)
        self.object.chinese(out)


@dataclass(slots=True)
class TransferPredicate:
    """`gave a book to the girl`, `a donné un livre à la fille`, 送给了女孩一本书."""

    present: ClassVar[bool] = False
    node: int
    verb: PastVerb
    object: NounPhrase
    receiver: Phrase

    def english(self, out: Realization, subject: Subject) -> None:
        """Object first, then `to`."""
        out.add(self.verb.past, self.node)
        self.object.english(out)
        out.add("to", self.node, 2)
        self.receiver.english(out)

    def french(self, out: Realization, subject: Subject) -> None:
        """Object first, then `à`."""
        out.add(subject.auxiliary, self.node, 1)
        out.add(self.verb.participle, self.node)
        self.object.french(out)
        out.add("à", self.node, 2)
        self.receiver.french(out)

    def chinese(self, out: Realization) -> None:
        """Receiver first."""
        out.add(self.verb.chinese, self.node)
        out.add("了", self.node, 1)
        self.receiver.chinese(out)
        self.object.chinese(out)


@dataclass(slots=True)
class StatePredicate:
    """`doesn't like the cat`, `n'aime pas le chat`, 不喜欢猫."""

    present: ClassVar[bool] = True
    node: int
    verb: PresentVerb
    object: Phrase
    negated: bool = False

    def english(self, out: Realization, subject: Subject) -> None:
        """Present, or `doesn't` and the base form."""
        if self.negated:
            out.add("don't" if subject.plural else "doesn't", self.node, 1)
            out.add(self.verb.base, self.node)
        else:
            out.add(self.verb.english(subject.plural), self.node)
        self.object.english(out)

    def french(self, out: Realization, subject: Subject) -> None:
        """Present, within `ne … pas` if negated."""
        if self.negated:
            out.add("ne", self.node, 1)
        out.add(self.verb.french(subject.plural), self.node)
        if self.negated:
            out.add("pas", self.node, 1)
        self.object.french(out)

    def chinese(self, out: Realization) -> None:
        """不 before the verb, or the verb's own negative form."""
        if self.negated and self.verb.negative:
            out.add(self.verb.negative, self.node)
            out.mark_last(self.node, 1)
        else:
            if self.negated:
                out.add("不", self.node, 1)
            out.add(self.verb.chinese, self.node)
        self.object.chinese(out)


@dataclass(slots=True)
class ActivityPredicate:
    """`was sleeping in the park`, `dormait dans le parc`, 在公园里睡觉."""

    present: ClassVar[bool] = False
    node: int
    verb: ProgressiveVerb
    negated: bool = False
    place: Phrase | None = None

    def english(self, out: Realization, subject: Subject) -> None:
        """Past progressive."""
        out.add(past_copula(subject, self.negated), self.node, 1)
        out.add(self.verb.english, self.node)
        if self.place:
            self.place.english(out)

    def french(self, out: Realization, subject: Subject) -> None:
        """Imparfait."""
        if self.negated:
            out.add("ne", self.node, 1)
        out.add(self.verb.french(subject.plural), self.node)
        if self.negated:
            out.add("pas", self.node, 1)
        if self.place:
            self.place.french(out)

    def chinese(self, out: Realization) -> None:
        """在, unless the place has it."""
        if self.negated:
            out.add("没有", self.node, 1)
        if self.place:
            self.place.chinese(out)
        else:
            out.add("在", self.node, 1)
        out.add(self.verb.chinese, self.node)


@dataclass(slots=True)
class AdjectivePredicate:
    """`was too tired`, `était trop fatigué`, 太累了."""

    present: ClassVar[bool] = False
    node: int
    adjective: Adjective
    degree: Adverb
    degree_node: int
    negated: bool = False

    def english(self, out: Realization, subject: Subject) -> None:
        """Past of `be`."""
        out.add(past_copula(subject, self.negated), self.node, 1)
        if self.degree.english:
            out.add(self.degree.english, self.degree_node)
        out.add(self.adjective.english, self.node)

    def french(self, out: Realization, subject: Subject) -> None:
        """Imparfait of être; the adjective agrees."""
        if self.negated:
            out.add("ne", self.node, 1)
        out.add("étaient" if subject.plural else "était", self.node, 1)
        if self.negated:
            out.add("pas", self.node, 1)
        if self.degree.english:
            out.add(self.degree.french, self.degree_node)
        out.add(self.adjective.french(subject.gender, subject.plural), self.node)

    def chinese(self, out: Realization) -> None:
        """No verb: 很, 非常, 太 … 了 or 不 before the adjective."""
        if self.negated:
            out.add("不", self.node, 1)
        elif self.degree.english:
            out.add(self.degree.chinese, self.degree_node)
        else:
            out.add("很", self.node, 1)
        out.add(self.adjective.chinese, self.node)
        if self.degree.english == "too":
            out.add("了", self.node, 1)
