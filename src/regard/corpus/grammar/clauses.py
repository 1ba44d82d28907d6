"""Clauses, relative clauses and whole sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from regard.corpus.grammar.derivation import CHINESE, FRENCH, Realization, elide
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

    def realize(self, out: Realization) -> None:
        """Subject, predicate."""
        self.subject.realize(out)
        self.predicate.realize(out, self.subject)
        if self.then:
            out.add_form(("and", "et", "并"), self.node)
            self.then.realize(out, self.subject)


@dataclass(slots=True)
class SubjectRelative:
    """`who saw the dog`, `qui a vu le chien`, 看见了狗的."""

    node: int
    predicate: Predicate

    def realize(self, out: Realization, head: NounPhrase) -> None:
        """`who` for people, `that` for all else; the predicate agrees with the head."""
        pronoun = "who" if head.noun.kind == "person" else "that"
        out.add_form((pronoun, "qui", ""), self.node)
        self.predicate.realize(out, head)
        out.add_form(("", "", "的"), self.node, 1)


@dataclass(slots=True)
class ObjectRelative:
    """`that the man likes`, `que l'homme aime`, 男人喜欢的; present only, so nothing agrees."""

    node: int
    subject: Subject
    verb: PresentVerb
    verb_node: int

    def realize(self, out: Realization, head: NounPhrase) -> None:
        """A clause without its object."""
        out.add_form(("that", "que", ""), self.node)
        self.subject.realize(out)
        out.add_form(self.verb.forms(self.subject.plural), self.verb_node)
        out.add_form(("", "", "的"), self.node, 1)


@dataclass(slots=True)
class ThatClause:
    """`the doctor thinks that …`, `le médecin pense que …`, 医生认为…."""

    node: int
    that_node: int
    subject: Subject
    verb: PresentVerb
    clause: Statement
    present: ClassVar[bool] = True

    def realize(self, out: Realization) -> None:
        """Subject, verb, `that`, clause."""
        self.subject.realize(out)
        out.add_form(self.verb.forms(self.subject.plural), self.node)
        out.add_form(("that", "que", ""), self.that_node)
        self.clause.realize(out)


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

    def realize(self, out: Realization) -> None:
        """`…, and …`, …，而…; Chinese always has a comma."""
        self.first.realize(out)
        if self.connective.comma:
            out.add_form((",", ",", "，"), self.comma_node)
        elif out.language == CHINESE:
            out.add("，", self.node, 1)
        if out.language == FRENCH:
            for role, word in enumerate(self.connective.french):
                out.add(word, self.node, role)
        else:
            out.add_form((self.connective.english, "", self.connective.chinese), self.node)
        self.second.realize(out)


@dataclass(slots=True)
class SentenceTree:
    """A sentence: an optional time, a clause, a full stop."""

    stop_node: int
    clause: Statement
    time: TimeAdverbial | None = None
    time_nodes: tuple[int, int] = (0, 0)

    def realize(self, language: int) -> Realization:
        """The words in a language; French ones elided and contracted."""
        out = Realization(language)
        if self.time:
            for word, role in self.time[language]:
                out.add(word, self.time_nodes[0], role)
            out.add_form((",", ",", "，"), self.time_nodes[1])
        self.clause.realize(out)
        out.add_form((".", ".", "。"), self.stop_node)
        if language == FRENCH:
            out = elide(out)
        out.capitalize()
        return out
