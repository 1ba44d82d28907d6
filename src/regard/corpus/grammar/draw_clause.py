"""Drawing ordinary clauses: events, feelings, activities, qualities, gifts, and relatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from regard.corpus.grammar.adjectives import ATTRIBUTES
from regard.corpus.grammar.clause import Clause, ObjectRelative, SubjectRelative
from regard.corpus.grammar.draft import Draft
from regard.corpus.grammar.draw_phrase import (
    counted_phrase,
    noun_phrase,
    place_phrase,
    pronoun_phrase,
    subject_phrase,
)
from regard.corpus.grammar.entry import Activity, Noun, State, Verb
from regard.corpus.grammar.nouns import KINDS
from regard.corpus.grammar.particles import DEGREES, MANNERS, NAMES
from regard.corpus.grammar.phrase import BothPhrase, NamePhrase, NounPhrase, Phrase, Subject
from regard.corpus.grammar.predicate import Doing, Event, Feeling, Gift, Predicate, Quality
from regard.corpus.grammar.reasons import REASON_FRAMES
from regard.corpus.grammar.splits import pair_split
from regard.corpus.grammar.verbs import ACTIVITY_VERBS, EVENT_VERBS, STATE_VERBS, TRANSFER_VERBS

V = TypeVar("V", Verb, State, Activity)


def _by_subject(verbs: Iterable[V]) -> dict[str, tuple[V, ...]]:
    found: dict[str, list[V]] = {}
    for verb in verbs:
        for noun in verb.subjects:
            found.setdefault(noun.english, []).append(verb)
    return {name: tuple(listed) for name, listed in found.items()}


EVENTS = tuple(EVENT_VERBS.values())
STATES = tuple(STATE_VERBS.values())
ACTIVITIES = tuple(ACTIVITY_VERBS.values())
TRANSFERS = tuple(TRANSFER_VERBS.values())
EVENTS_OF = _by_subject(EVENTS)
STATES_OF = _by_subject(STATES)
ACTIVITIES_OF = _by_subject(ACTIVITIES)
WISHES = tuple(STATE_VERBS[third] for third in ("likes", "wants"))
"""Verbs for `the box that the man wants`."""

SETTLED = frozenset({"way", "shelter"})
"""Kinds of objects that are places themselves: their clauses tell no other place."""
ASKING = frozenset(frame.subject_kind for frame in REASON_FRAMES)
ASKED = frozenset(frame.object_kind for frame in REASON_FRAMES)
"""Kinds of subjects and of objects in coreference."""
RELATIVE = 0.08
"""How often a noun carries a relative clause."""
LOOKS = ("", "very", "rather", "extremely")
JUDGED = tuple(KINDS["person"] + KINDS["animal"]) * 2 + tuple(
    noun for kind in ("vehicle", "way", "shelter", "food") for noun in KINDS[kind]
)
"""Nouns for clauses about qualities: those who feel, twice as often as those which do not."""


def plain_clause(draft: Draft) -> Clause:
    """Any ordinary clause."""
    roll = draft.random()
    if roll < 0.58:
        return event_clause(draft)
    if roll < 0.72:
        return feeling_clause(draft)
    if roll < 0.82:
        return doing_clause(draft)
    if roll < 0.92:
        return quality_clause(draft)
    return gift_clause(draft)


def event_clause(draft: Draft) -> Clause:
    """`The brave dog didn't cross the street.`"""
    verb = draft.pick(EVENTS)
    noun = draft.pick(verb.subjects)
    if noun.kind == "person" and draft.chance(0.1):
        return Clause(pronoun_phrase(draft), event(draft, verb, ()))
    subject = subject_phrase(draft, noun)
    with_relative(draft, subject, RELATIVE)
    predicate = event(draft, verb, heads(subject))
    if not predicate.negated and draft.chance(0.06 * draft.rich):
        draft.phenomena.add("coordinated")
        node = draft.node()
        verb = draft.pick(EVENTS_OF[noun.english])
        then = event(draft, verb, heads(subject), negatable=False)
        return Clause(subject, predicate, then, node)
    with_relative(draft, predicate.object, 0.0 if predicate.place else RELATIVE)
    return Clause(subject, predicate)


def feeling_clause(draft: Draft) -> Clause:
    """`The dog doesn't like the cat.`"""
    verb = draft.pick(STATES)
    noun = draft.pick(verb.subjects)
    subject = subject_phrase(draft, noun)
    with_relative(draft, subject, RELATIVE)
    predicate = feeling(draft, verb, heads(subject))
    with_relative(draft, predicate.object, RELATIVE)
    return Clause(subject, predicate)


def doing_clause(draft: Draft) -> Clause:
    """`The dog was sleeping in the park.`"""
    verb = draft.pick(ACTIVITIES)
    subject = subject_phrase(draft, draft.pick(verb.subjects))
    with_relative(draft, subject, RELATIVE)
    return Clause(subject, doing(draft, verb))


def quality_clause(draft: Draft) -> Clause:
    """`The street was very wide.`"""
    noun = draft.pick(JUDGED)
    subject = subject_phrase(draft, noun)
    with_relative(draft, subject, RELATIVE)
    return Clause(subject, quality(draft, noun))


def gift_clause(draft: Draft) -> Clause:
    """`The man gave a book to the girl.`"""
    verb = draft.pick(TRANSFERS)
    giver = draft.pick(verb.subjects)
    subject = subject_phrase(draft, giver)
    node = draft.node()
    given = counted_phrase(draft, draft.pick(verb.objects))
    return Clause(subject, Gift(node, verb, given, _someone(draft, giver)))


def event(draft: Draft, verb: Verb, subjects: tuple[Noun, ...], *, negatable: bool = True) -> Event:
    """What the subjects did, perhaps not, perhaps somewhere or somehow."""
    node = draft.node()
    negated = negatable and draft.chance(0.3)
    if negated:
        draft.phenomena.add("negation")
    noun = _object_noun(draft, verb, subjects)
    predicate = Event(node, verb, _object(draft, noun, negated), negated)
    if noun.kind not in SETTLED and draft.chance(0.2):
        predicate.place = place_phrase(draft)
    elif not negated and draft.chance(0.12):
        predicate.adverb = (draft.node(), draft.pick(MANNERS))
    return predicate


def feeling(draft: Draft, verb: State, subjects: tuple[Noun, ...]) -> Feeling:
    """What the subjects feel, or do not."""
    node = draft.node()
    negated = draft.chance(0.35)
    if negated:
        draft.phenomena.add("negation")
    noun = _object_noun(draft, verb, subjects)
    return Feeling(node, verb, _object(draft, noun, True), negated)


def doing(draft: Draft, verb: Activity) -> Doing:
    """What the subject was doing, or was not."""
    node = draft.node()
    negated = draft.chance(0.2)
    if negated:
        draft.phenomena.add("negation")
    return Doing(node, verb, negated, place_phrase(draft) if draft.chance(0.6) else None)


def quality(draft: Draft, noun: Noun) -> Quality:
    """What the subject was like, or was not."""
    node = draft.node()
    negated = draft.chance(0.2)
    if negated:
        draft.phenomena.add("negation")
    degree = DEGREES["" if negated else draft.pick(LOOKS)]
    adjective = draft.pick(ATTRIBUTES[noun.english][1])
    return Quality(node, adjective, degree, draft.node(), negated)


def with_relative(draft: Draft, phrase: Phrase, probability: float) -> None:
    """Perhaps hang a relative clause on a noun phrase."""
    if not isinstance(phrase, NounPhrase) or not draft.chance(probability * draft.rich):
        return
    if not phrase.noun.countable:
        return
    noun = phrase.noun
    if noun.kind in ("person", "animal"):
        draft.phenomena.add("embedded")
        phrase.relative = SubjectRelative(draft.node(), _relative_predicate(draft, noun))
    elif noun.kind in ("thing", "vehicle"):
        draft.phenomena.add("embedded")
        node, verb = draft.node(), draft.pick(WISHES)
        subject = noun_phrase(draft, draft.pick(KINDS["person"]), definite=True, described=0.1)
        phrase.relative = ObjectRelative(node, subject, verb, draft.node())


def _relative_predicate(draft: Draft, noun: Noun) -> Predicate:
    roll = draft.random()
    if roll < 0.5:
        return event(draft, draft.pick(EVENTS_OF[noun.english]), (noun,))
    if roll < 0.7:
        return feeling(draft, draft.pick(STATES_OF[noun.english]), (noun,))
    if roll < 0.85:
        return doing(draft, draft.pick(ACTIVITIES_OF[noun.english]))
    return quality(draft, noun)


def _object(draft: Draft, noun: Noun, definite: bool) -> Phrase:
    """An object; definite after a negation, where French and Chinese change `a`."""
    if noun.kind == "person" and draft.chance(0.12):
        return NamePhrase(draft.node(), draft.pick(NAMES))
    return noun_phrase(draft, noun, definite=definite)


def _someone(draft: Draft, other: Noun) -> Phrase:
    """A person, not the other one."""
    noun = draft.pick(KINDS["person"])
    while noun is other:
        noun = draft.pick(KINDS["person"])
    return _object(draft, noun, True)


def heads(subject: Subject) -> tuple[Noun, ...]:
    """The nouns a subject is made of."""
    if isinstance(subject, NounPhrase):
        return (subject.noun,)
    if isinstance(subject, BothPhrase):
        return heads(subject.first) + heads(subject.second)
    return ()


def _object_noun(draft: Draft, verb: Verb | State, subjects: tuple[Noun, ...]) -> Noun:
    """An object that is none of the subjects.

    Nor one that train must not see with them, because dev or test ask what `it` means there.
    """
    while True:
        noun = draft.pick(verb.objects)
        if noun not in subjects and not (
            draft.split == "train"
            and noun.kind in ASKED
            and any(
                subject.kind in ASKING and pair_split(subject.english, noun.english) != "train"
                for subject in subjects
            )
        ):
            return noun
