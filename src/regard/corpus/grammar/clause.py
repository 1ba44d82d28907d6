"""Clauses: a subject with its predicate, alone, joined, embedded, or hung on a noun."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

from regard.corpus.grammar.entry import State
from regard.corpus.grammar.french import joined
from regard.corpus.grammar.line import Line
from regard.corpus.grammar.particles import Time
from regard.corpus.grammar.phrase import NounPhrase, Phrase, Subject
from regard.corpus.grammar.predicate import Predicate


class Statement(Phrase, Protocol):
    """A clause that can be a sentence."""

    @property
    def present(self) -> bool:
        """Whether it begins in the present, so that no past time can open it."""


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
        """Whether its predicate is."""
        return self.predicate.present

    def english(self, line: Line) -> None:
        """Subject, predicate."""
        self.subject.english(line)
        self.predicate.english(line, self.subject)
        if self.then:
            line.add("and", self.node)
            self.then.english(line, self.subject)

    def french(self, line: Line) -> None:
        """Subject, predicate."""
        self.subject.french(line)
        self.predicate.french(line, self.subject)
        if self.then:
            line.add("et", self.node)
            self.then.french(line, self.subject)

    def chinese(self, line: Line) -> None:
        """Subject, predicate."""
        self.subject.chinese(line)
        self.predicate.chinese(line)
        if self.then:
            line.add("并", self.node)
            self.then.chinese(line)


@dataclass(slots=True)
class SubjectRelative:
    """`who saw the dog`, `qui a vu le chien`, 看见了狗的."""

    node: int
    predicate: Predicate

    def english(self, line: Line, head: NounPhrase) -> None:
        """`who` for people, `that` for all else."""
        line.add("who" if head.noun.kind == "person" else "that", self.node)
        self.predicate.english(line, head)

    def french(self, line: Line, head: NounPhrase) -> None:
        """`qui`, and the predicate agrees with the noun before it."""
        line.add("qui", self.node)
        self.predicate.french(line, head)

    def chinese(self, line: Line) -> None:
        """The clause and 的."""
        self.predicate.chinese(line)
        line.add("的", self.node, 1)


@dataclass(slots=True)
class ObjectRelative:
    """`that the man likes`, `que l'homme aime`, 男人喜欢的; present only, so nothing agrees."""

    node: int
    subject: Subject
    verb: State
    verb_node: int

    def english(self, line: Line, head: NounPhrase) -> None:
        """`that` and a clause without its object."""
        line.add("that", self.node)
        self.subject.english(line)
        line.add(self.verb.base if self.subject.plural else self.verb.third, self.verb_node)

    def french(self, line: Line, head: NounPhrase) -> None:
        """`que` and a clause without its object."""
        line.add("que", self.node)
        self.subject.french(line)
        verb = self.verb
        line.add(verb.french_plural if self.subject.plural else verb.french, self.verb_node)

    def chinese(self, line: Line) -> None:
        """The clause without its object, and 的."""
        self.subject.chinese(line)
        line.add(self.verb.chinese, self.verb_node)
        line.add("的", self.node, 1)


@dataclass(slots=True)
class Thought:
    """`the doctor thinks that …`, `le médecin pense que …`, 医生认为…."""

    node: int
    that_node: int
    subject: Subject
    verb: State
    clause: Statement
    present: ClassVar[bool] = True

    def english(self, line: Line) -> None:
        """Subject, verb, `that`, clause."""
        self.subject.english(line)
        line.add(self.verb.base if self.subject.plural else self.verb.third, self.node)
        line.add("that", self.that_node)
        self.clause.english(line)

    def french(self, line: Line) -> None:
        """Subject, verb, `que`, clause."""
        self.subject.french(line)
        line.add(self.verb.french_plural if self.subject.plural else self.verb.french, self.node)
        line.add("que", self.that_node)
        self.clause.french(line)

    def chinese(self, line: Line) -> None:
        """Subject, verb, clause."""
        self.subject.chinese(line)
        line.add(self.verb.chinese, self.node)
        self.clause.chinese(line)


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


@dataclass(slots=True)
class Joined:
    """Two clauses with a connective between them."""

    node: int
    comma_node: int
    first: Statement
    connective: Connective
    second: Statement

    @property
    def present(self) -> bool:
        """Whether its first clause is."""
        return self.first.present

    def english(self, line: Line) -> None:
        """`…, and …`."""
        self.first.english(line)
        if self.connective.comma:
            line.add(",", self.comma_node)
        line.add(self.connective.english, self.node)
        self.second.english(line)

    def french(self, line: Line) -> None:
        """`…, et …`."""
        self.first.french(line)
        if self.connective.comma:
            line.add(",", self.comma_node)
        for role, word in enumerate(self.connective.french):
            line.add(word, self.node, role)
        self.second.french(line)

    def chinese(self, line: Line) -> None:
        """…，而…."""
        self.first.chinese(line)
        if self.connective.comma:
            line.add("，", self.comma_node)
        else:
            line.add("，", self.node, 1)
        if self.connective.chinese:
            line.add(self.connective.chinese, self.node)
        self.second.chinese(line)


@dataclass(slots=True)
class Sentence:
    """A whole sentence: perhaps a time, a clause, a full stop."""

    stop_node: int
    clause: Statement
    time: Time | None = None
    time_nodes: tuple[int, int] = field(default=(0, 0))

    def english(self) -> Line:
        """The English line."""
        line = Line()
        if self.time:
            for word, role in self.time.english:
                line.add(word, self.time_nodes[0], role)
            line.add(",", self.time_nodes[1])
        self.clause.english(line)
        line.add(".", self.stop_node)
        line.capitalise()
        return line

    def french(self) -> Line:
        """The French line, elided and contracted."""
        line = Line()
        if self.time:
            for word, role in self.time.french:
                line.add(word, self.time_nodes[0], role)
            line.add(",", self.time_nodes[1])
        self.clause.french(line)
        line.add(".", self.stop_node)
        line = joined(line)
        line.capitalise()
        return line

    def chinese(self) -> Line:
        """The Chinese line."""
        line = Line()
        if self.time:
            line.add(self.time.chinese, self.time_nodes[0])
            line.add("，", self.time_nodes[1])
        self.clause.chinese(line)
        line.add("。", self.stop_node)
        return line
