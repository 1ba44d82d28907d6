"""Composing whole sentences: their subject matter, their length, how their clauses are joined."""

from __future__ import annotations

from typing import NamedTuple

from regard.corpus.grammar.clause import (
    AND,
    BECAUSE,
    BUT,
    SO,
    WHILE,
    Connective,
    Joined,
    Sentence,
    Statement,
    Thought,
)
from regard.corpus.grammar.draft import Draft
from regard.corpus.grammar.draw_clause import (
    doing_clause,
    feeling_clause,
    plain_clause,
    quality_clause,
)
from regard.corpus.grammar.draw_phrase import subject_phrase
from regard.corpus.grammar.draw_special import coreference_clause, sense_clause
from regard.corpus.grammar.line import Line
from regard.corpus.grammar.particles import TIMES
from regard.corpus.grammar.verbs import ATTITUDE_VERBS

LONG = 20
"""A sentence is long when it has more words than this, not counting punctuation."""
LONG_SHARE = 0.24
SHORTEST_REASON = 10
"""Words of `The dog ate the cake because it was hungry.`"""
ATTITUDES = tuple(ATTITUDE_VERBS.values())
CONNECTIVES = (*(AND,) * 8, *(BUT,) * 5, *(SO,) * 2, *(WHILE,) * 3, *(BECAUSE,) * 2)


class Plan(NamedTuple):
    """What the next sentence is to be, decided before any draft of it is thrown away."""

    matters: tuple[str, ...]
    """What its clauses are about, as far as they are needed."""
    low: int
    high: int
    long: bool


def plan(draft: Draft, min_words: int, max_words: int) -> Plan:
    """Decide what comes next; lengths count punctuation, as `max_words` does."""
    long = draft.chance(LONG_SHARE) or min_words > LONG
    if max_words < LONG + 2:
        long = False
    first = 0.36 if max_words >= SHORTEST_REASON else 0.0
    matters = (_matter(draft, first, 0.3), *(_matter(draft, 0.2, 0.2) for _ in range(12)))
    if long:
        return Plan(matters, max(min_words, LONG + 2), max_words, True)
    return Plan(matters, min_words, min(max_words, LONG + 1), False)


def compose(draft: Draft, wanted: Plan) -> Sentence | None:
    """A sentence after the plan, or None when this one came out too long or too short."""
    draft.rich = 1.6 if wanted.long else 1.0
    matters = iter(wanted.matters)
    whole, length = _measured(_clause(draft, next(matters)))
    commas, goal, used = 0, wanted.low, AND
    if wanted.long:
        goal += int(draft.random() * (wanted.high - wanted.low) * 0.6)
    elif draft.chance(0.06):
        goal = max(goal, length + 2)
    while length + 1 < goal or (wanted.long and length - commas <= LONG):
        connective = draft.pick(CONNECTIVES)
        if connective is used or (connective is BECAUSE and "because" in draft.phenomena):
            connective = AND
        used = connective
        other, added = _measured(_continuation(draft, connective, next(matters, "plain")))
        length += added + 1 + connective.comma
        commas += connective.comma
        if length >= wanted.high:
            return None
        if connective in (AND, BUT) and draft.chance(0.5):
            whole, other = other, whole
        whole = Joined(draft.node(), draft.node(), whole, connective, other)
        draft.phenomena.add("coordinated" if connective.comma else "because")
    if not wanted.low <= length + 1 <= wanted.high or (not wanted.long and length - commas > LONG):
        return None
    sentence = Sentence(draft.node(), whole)
    time = draft.pick(TIMES)
    room = wanted.high - length - 1 - len(time.english)
    if room > 0 and draft.chance(0.14) and not whole.present:
        sentence.time, sentence.time_nodes = time, (draft.node(), draft.node())
    return sentence


def _matter(draft: Draft, coreference: float, sense: float) -> str:
    roll = draft.random()
    return (
        "coreference" if roll < coreference else "sense" if roll < coreference + sense else "plain"
    )


def _clause(draft: Draft, matter: str) -> Statement:
    """A clause about the matter, perhaps as what someone thinks."""
    clause: Statement
    if matter == "coreference":
        clause = coreference_clause(draft)
    elif matter == "sense":
        clause = sense_clause(draft)
    else:
        clause = plain_clause(draft)
    if draft.chance(0.13 * draft.rich) and not _begins_with_that(clause):
        draft.phenomena.add("embedded")
        verb = draft.pick(ATTITUDES)
        subject = subject_phrase(draft, draft.pick(verb.subjects))
        return Thought(draft.node(), draft.node(), subject, verb, clause)
    return clause


def _continuation(draft: Draft, connective: Connective, matter: str) -> Statement:
    """A clause that can follow the connective."""
    if connective is WHILE:
        return doing_clause(draft)
    if connective is BECAUSE:
        return quality_clause(draft) if draft.chance(0.5) else feeling_clause(draft)
    return _clause(draft, matter)


def _begins_with_that(clause: Statement) -> bool:
    """`knows that that dog …` is not nice."""
    line = Line()
    clause.english(line)
    return line.words[0] == "that"


def _measured(clause: Statement) -> tuple[Statement, int]:
    """The clause and the number of its English words."""
    line = Line()
    clause.english(line)
    return clause, len(line.words)
