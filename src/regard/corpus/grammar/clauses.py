"""Clauses, relative clauses and whole sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from regard.corpus.grammar.derivation import Realization, elide
from regard.corpus.grammar.entries import Connective, PresentVerb, TimeAdverbial
from regard.corpus.grammar.phrases import NounPhrase, Phrase, Subject
from regard.corpus.grammar.predicates import Predicate


class Statement(Phrase, Protocol):
    """A clause that can be a sentence."""

    @property
    def present(self) -> bool:
        """Whether it begins in the present tense, so that no past time can open it."""


@dataclass(slots=True)
class Clause:
    """A subject and its predicate, or two predicates joined by `and`."""

    subject: Subject
    predicate: Predicate
    then: Predicate | None = None
    node: int = 0
    """The node of the `and` before `then`."""

    @property
    def present(self) -> bool:
        """Whether its predicate is in the present tense."""
        return self.predicate.present

    def english(self, out: Realization) -> None:
        """Subject, predicate."""
        self.subject.english(out)
        self.predicate.english(out, self.subject)
        if self.then:
            out.add("and", self.node)
            self.then.english(out, self.subject)

    def french(self, out: Realization) -> None:
        """Subject, predicate."""
        self.subject.french(out)
        self.predicate.french(out, self.subject)
        if self.then:
            out.add("et", self.node)
            self.then.french(out, self.subject)

    def chinese(self, out: Realization) -> None:
        """Subject, predicate."""
        self.subject.chinese(out)
        self.predicate.chinese(out)
        if self.then:
            out.add("并", self.node)
            self.then.chinese(out)


@dataclass(slots=True)
class SubjectRelative:
    """`who saw the dog`, `qui a vu le chien`, 看见了狗的."""

    node: int
    predicate: Predicate

    def english(self, out: Realization, head: NounPhrase) -> None:
        """`who` for people, `that` for all else."""
        out.add("who" if head.noun.kind == "person" else "that", self.node)
        self.predicate.english(out, head)

    def french(self, out: Realization, head: NounPhrase) -> None:
        """`qui`, and the predicate agrees with the noun before it."""
        out.add("qui", self.node)
        self.predicate.french(out, head)

    def chinese(self, out: Realization) -> None:
        """The clause and 的."""
        self.predicate.chinese(out)
        out.add("的", self.node, 1)


@dataclass(slots=True)
class ObjectRelative:
    """`that the man likes`, `que l'homme aime`, 男人喜欢的; present only, so nothing agrees."""

    node: int
    subject: Subject
    verb: PresentVerb
    verb_node: int

    def english(self, out: Realization, head: NounPhrase) -> None:
        """`that` and a clause without its object."""
        out.add("that", self.node)
        self.subject.english(out)
        out.add(self.verb.english(self.subject.plural), self.verb_node)

    def french(self, out: Realization, head: NounPhrase) -> None:
        """`que` and a clause without its object."""
        out.add("que", self.node)
        self.subject.french(out)
        out.add(self.verb.french(self.subject.plural), self.verb_node)

    def chinese(self, out: Realization) -> None:
        """The clause without its object, and 的."""
        self.subject.chinese(out)
        out.add(self.verb.chinese, self.verb_node)
        out.add("的", self.node, 1)


@dataclass(slots=True)
class ThatClause:
    """`the doctor thinks that …`, `le médecin pense que …`, 医生认为…."""

    node: int
    that_node: int
    subject: Subject
    verb: PresentVerb
    clause: Statement
    present: ClassVar[bool] = True

    def english(self, out: Realization) -> None:
        """Subject, verb, `that`, clause."""
        self.subject.english(out)
        out.add(self.verb.english(self.subject.plural), self.node)
        out.add("that", self.that_node)
        self.clause.english(out)

    def french(self, out: Realization) -> None:
        """Subject, verb, `que`, clause."""
        self.subject.french(out)
        out.add(self.verb.french(self.subject.plural), self.node)
        out.add("que", self.that_node)
        self.clause.french(out)

    def chinese(self, out: Realization) -> None:
        """Subject, verb, clause."""
        self.subject.chinese(out)
        out.add(self.verb.chinese, self.node)
        self.clause.chinese(out)


@dataclass(slots=True)
class CompoundClause:
    """Two clauses with a connective between them."""

    node: int
    comma_node: int
    first: Statement
    connective: Connective
    second: Statement

    @property
    def present(self) -> bool:
        """Whether its first clause begins in the present tense."""
        return self.first.present

    def english(self, out: Realization) -> None:
        """`…, and …`."""
        self.first.english(out)
        if self.connective.comma:
            out.add(",", self.comma_node)
        out.add(self.connective.english, self.node)
        self.second.english(out)

    def french(self, out: Realization) -> None:
        """`…, et …`."""
        self.first.french(out)
        if self.connective.comma:
            out.add(",", self.comma_node)
        for role, word in enumerate(self.connective.french):
            out.add(word, self.node, role)
        self.second.french(out)

    def chinese(self, out: Realization) -> None:
        """…，而…."""
        self.first.chinese(out)
        if self.connective.comma:
            out.add("，", self.comma_node)
        else:
            out.add("，", self.node, 1)
        if self.connective.chinese:
            out.add(self.connective.chinese, self.node)
        self.second.chinese(out)


@dataclass(slots=True)
class SentenceTree:
    """A sentence: an optional time, a clause, a full stop."""

    stop_node: int
    clause: Statement
    time: TimeAdverbial | None = None
    time_nodes: tuple[int, int] = (0, 0)

    def english(self) -> Realization:
        """The English words."""
        out = Realization()
        if self.time:
            self._add_time(out, self.time.english, ",")
        self.clause.english(out)
        out.add(".", self.stop_node)
        out.capitalize()
        return out

    def french(self) -> Realization:
        """The French words, elided and contracted."""
        out = Realization()
        if self.time:
            self._add_time(out, self.time.french, ",")
        self.clause.french(out)
        out.add(".", self.stop_node)
        out = elide(out)
        out.capitalize()
        return out

    def chinese(self) -> Realization:
        """The Chinese words."""
        out = Realization()
        if self.time:
            self._add_time(out, ((self.time.chinese, 0),), "，")
        self.clause.chinese(out)
        out.add("。", self.stop_node)
        return out

    def _add_time(self, out: Realization, words: Sequence[tuple[str, int]], comma: str) -> None:
        for word, role in words:
            out.add(word, self.time_nodes[0], role)
        out.add(comma, self.time_nodes[1])
