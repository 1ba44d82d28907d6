"""Predicates: events, transfers, states, activities and qualities of a subject.

Roles in a verb's node: 0 the verb, 1 auxiliary, negation, 了, copula; 2 `to`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from regard.corpus.grammar.derivation import CHINESE, ENGLISH, FRENCH, Realization
from regard.corpus.grammar.entries import (
    Adjective,
    PastVerb,
    PresentVerb,
    ProgressiveVerb,
    WordForms,
)
from regard.corpus.grammar.phrases import NounPhrase, Phrase, Subject


class Predicate(Protocol):
    """A predicate, realized after its subject, which it agrees with."""

    present: ClassVar[bool]
    """Whether it is in the present tense."""

    def realize(self, out: Realization, subject: Subject) -> None:
        """Append the words in the language of `out`."""


def past_copula(subject: Subject, negated: bool) -> str:
    """`was`, `were`, `wasn't` or `weren't`."""
    return ("were" if subject.plural else "was") + ("n't" if negated else "")


def add_french_verb(out: Realization, verb: str, node: int, role: int, negated: bool) -> None:
    """Append a conjugated verb, within `ne … pas` if negated."""
    if negated:
        out.add("ne", node, 1)
    out.add(verb, node, role)
    if negated:
        out.add("pas", node, 1)


@dataclass(slots=True)
class EventPredicate:
    """`crossed the street`, `n'a pas traversé la rue`, 穿过了街道."""

    present: ClassVar[bool] = False
    node: int
    verb: PastVerb
    object: Phrase
    negated: bool = False
    place: Phrase | None = None
    adverb: tuple[int, WordForms] | None = None

    def realize(self, out: Realization, subject: Subject) -> None:
        """Simple past, or `didn't` and the base form; passé composé with avoir."""
        if out.language == CHINESE:
            self._chinese(out)
            return
        if out.language == FRENCH:
            add_french_verb(out, subject.auxiliary, self.node, 1, self.negated)
        if self.adverb:
            out.add_form(self.adverb[1], self.adverb[0])
        if out.language == FRENCH:
            out.add(self.verb.participle, self.node)
        elif self.negated:
            out.add("didn't", self.node, 1)
            out.add(self.verb.base, self.node)
        else:
            out.add(self.verb.past, self.node)
        self.object.realize(out)
        if self.place:
            self.place.realize(out)

    def _chinese(self, out: Realization) -> None:
        """没有 or 了, and the place before the verb."""
        if self.negated:
            out.add("没有", self.node, 1)
        if self.place:
            self.place.realize(out)
        if self.adverb:
            out.add_form(self.adverb[1], self.adverb[0])
        out.add(self.verb.chinese, self.node)
        if not self.negated:
            out.add("了", self.node, 1)
        self.object.realize(out)


@dataclass(slots=True)
class TransferPredicate:
    """`gave a book to the girl`, `a donné un livre à la fille`, 送给了女孩一本书."""

    present: ClassVar[bool] = False
    node: int
    verb: PastVerb
    object: NounPhrase
    receiver: Phrase

    def realize(self, out: Realization, subject: Subject) -> None:
        """Object first, then `to`; in Chinese the receiver first."""
        verb, node = self.verb, self.node
        out.add_form(("", subject.auxiliary, ""), node, 1)
        out.add_form((verb.past, verb.participle, verb.chinese), node)
        if out.language == CHINESE:
            out.add("了", node, 1)
            self.receiver.realize(out)
            self.object.realize(out)
        else:
            self.object.realize(out)
            out.add_form(("to", "à", ""), node, 2)
            self.receiver.realize(out)


@dataclass(slots=True)
class StatePredicate:
    """`doesn't like the cat`, `n'aime pas le chat`, 不喜欢猫."""

    present: ClassVar[bool] = True
    node: int
    verb: PresentVerb
    object: Phrase
    negated: bool = False

    def realize(self, out: Realization, subject: Subject) -> None:
        """Present; `doesn't` and the base form, `ne … pas`, or 不 if negated."""
        verb, node = self.verb, self.node
        if not self.negated:
            out.add_form(verb.forms(subject.plural), node)
        elif out.language == ENGLISH:
            out.add("don't" if subject.plural else "doesn't", node, 1)
            out.add(verb.base, node)
        elif out.language == FRENCH:
            add_french_verb(out, verb.forms(subject.plural)[FRENCH], node, 0, True)
        elif verb.negative:
            out.add(verb.negative, node)
            out.mark_last(node, 1)
        else:
            out.add("不", node, 1)
            out.add(verb.chinese, node)
        self.object.realize(out)


@dataclass(slots=True)
class ActivityPredicate:
    """`was sleeping in the park`, `dormait dans le parc`, 在公园里睡觉."""

    present: ClassVar[bool] = False
    node: int
    verb: ProgressiveVerb
    negated: bool = False
    place: Phrase | None = None

    def realize(self, out: Realization, subject: Subject) -> None:
        """Past progressive; imparfait; 在, unless the place has it."""
        if out.language == ENGLISH:
            out.add(past_copula(subject, self.negated), self.node, 1)
            out.add(self.verb.english, self.node)
        elif out.language == FRENCH:
            add_french_verb(out, self.verb.french(subject.plural), self.node, 0, self.negated)
        elif self.negated:
            out.add("没有", self.node, 1)
        if self.place:
            self.place.realize(out)
        elif out.language == CHINESE:
            out.add("在", self.node, 1)
        if out.language == CHINESE:
            out.add(self.verb.chinese, self.node)


@dataclass(slots=True)
class AdjectivePredicate:
    """`was too tired`, `était trop fatigué`, 太累了."""

    present: ClassVar[bool] = False
    node: int
    adjective: Adjective
    degree: WordForms
    degree_node: int
    negated: bool = False

    def realize(self, out: Realization, subject: Subject) -> None:
        """Past of `be` or être; the French adjective agrees."""
        if out.language == CHINESE:
            self._chinese(out)
            return
        if out.language == ENGLISH:
            out.add(past_copula(subject, self.negated), self.node, 1)
        else:
            copula = "étaient" if subject.plural else "était"
            add_french_verb(out, copula, self.node, 1, self.negated)
        out.add_form(self.degree, self.degree_node)
        agreeing = self.adjective.french(subject.gender, subject.plural)
        out.add_form((self.adjective.english, agreeing, ""), self.node)

    def _chinese(self, out: Realization) -> None:
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
