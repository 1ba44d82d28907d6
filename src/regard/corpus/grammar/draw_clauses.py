"""Drawing ordinary clauses at random: events, states, activities, qualities, transfers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from regard.corpus.grammar.clauses import Clause, ObjectRelative, SubjectRelative
from regard.corpus.grammar.contexts import COREFERENCE_FRAMES
from regard.corpus.grammar.derivation import Derivation
from regard.corpus.grammar.draw_phrases import (
    another_noun,
    counted_phrase,
    name_phrase,
    noun_phrase,
    place_phrase,
    pronoun_phrase,
    subject_phrase,
)
from regard.corpus.grammar.entries import Noun, PastVerb, PresentVerb, ProgressiveVerb, Verb
from regard.corpus.grammar.pair import pair_split
from regard.corpus.grammar.phrases import CoordinatedPhrase, NounPhrase, Phrase, Subject
from regard.corpus.grammar.predicates import (
    ActivityPredicate,
    AdjectivePredicate,
    EventPredicate,
    Predicate,
    StatePredicate,
    TransferPredicate,
)
from regard.corpus.grammar.vocabulary import (
    ACTIVITY_VERBS,
    ATTRIBUTES,
    DEGREES,
    EVENT_VERBS,
    KINDS,
    MANNERS,
    STATE_VERBS,
    TRANSFER_VERBS,
)

V = TypeVar("V", bound=Verb)


def _by_subject(verbs: Iterable[V]) -> dict[str, tuple[V, ...]]:
    verbs_of: dict[str, list[V]] = {}
    for verb in verbs:
        for noun in verb.subjects:
            verbs_of.setdefault(noun.english, []).append(verb)
    return {name: tuple(listed) for name, listed in verbs_of.items()}


EVENTS = tuple(EVENT_VERBS.values())
STATES = tuple(STATE_VERBS.values())
ACTIVITIES = tuple(ACTIVITY_VERBS.values())
TRANSFERS = tuple(TRANSFER_VERBS.values())
EVENTS_OF = _by_subject(EVENTS)
STATES_OF = _by_subject(STATES)
ACTIVITIES_OF = _by_subject(ACTIVITIES)
OBJECT_RELATIVE_VERBS = tuple(STATE_VERBS[third] for third in ("likes", "wants"))
"""Verbs of `the box that the man wants`."""
PLACE_KINDS = frozenset({"way", "shelter"})
"""Kinds of objects that are places themselves: their clauses have no other place."""
SUBJECT_KINDS = frozenset(frame.subject_kind for frame in COREFERENCE_FRAMES)
OBJECT_KINDS = frozenset(frame.object_kind for frame in COREFERENCE_FRAMES)
"""Kinds of subjects and of objects in coreference."""
RELATIVE = 0.08
"""Probability of a relative clause on a noun."""
TRANSFER = 0.08
"""Share of plain clauses in which something is given or sent to someone."""
QUALITY_DEGREES = ("", "very", "rather", "extremely")
DESCRIBED = tuple(KINDS["person"] + KINDS["animal"]) * 2 + tuple(
    noun for kind in ("vehicle", "way", "shelter", "food") for noun in KINDS[kind]
)
"""Subjects of clauses about qualities; people and animals are twice as frequent."""


def plain_clause(derivation: Derivation) -> Clause:
    """Any ordinary clause."""
    if derivation.rare > 1 and derivation.rare_chance(TRANSFER):
        return transfer_clause(derivation)
    roll = derivation.random()
    if roll < 0.58:
        return event_clause(derivation)
    if roll < 0.72:
        return state_clause(derivation)
    if roll < 0.82:
        return activity_clause(derivation)
    if roll < 1 - TRANSFER:
        return quality_clause(derivation)
    return transfer_clause(derivation)


def event_clause(derivation: Derivation) -> Clause:
    """`The brave dog didn't cross the street.`"""
    verb = derivation.pick(EVENTS)
    noun = derivation.pick(verb.subjects)
    if noun.kind == "person" and derivation.rare_chance(0.1):
        return Clause(pronoun_phrase(derivation), event(derivation, verb, ()))
    subject = subject_phrase(derivation, noun)
    add_relative(derivation, subject, RELATIVE)
    predicate = event(derivation, verb, head_nouns(subject))
    if not predicate.negated and derivation.rare_chance(0.06 * derivation.expansion):
        derivation.phenomena.add("coordinated")
        node = derivation.node()
        verb = derivation.pick(EVENTS_OF[noun.english])
        then = event(derivation, verb, head_nouns(subject), negatable=False)
        return Clause(subject, predicate, then, node)
    add_relative(derivation, predicate.object, 0.0 if predicate.place else RELATIVE)
    return Clause(subject, predicate)


def state_clause(derivation: Derivation) -> Clause:
    """`The dog doesn't like the cat.`"""
    verb = derivation.pick(STATES)
    subject = _subject(derivation, derivation.pick(verb.subjects))
    predicate = state(derivation, verb, head_nouns(subject))
    add_relative(derivation, predicate.object, RELATIVE)
    return Clause(subject, predicate)


def activity_clause(derivation: Derivation) -> Clause:
    """`The dog was sleeping in the park.`"""
    verb = derivation.pick(ACTIVITIES)
    subject = _subject(derivation, derivation.pick(verb.subjects))
    return Clause(subject, activity(derivation, verb))


def quality_clause(derivation: Derivation) -> Clause:
    """`The street was very wide.`"""
    noun = derivation.pick(DESCRIBED)
    subject = _subject(derivation, noun)
    return Clause(subject, quality(derivation, noun))


def transfer_clause(derivation: Derivation) -> Clause:
    """`The man gave a book to the girl.`"""
    verb = derivation.pick(TRANSFERS)
    giver = derivation.pick(verb.subjects)
    subject = subject_phrase(derivation, giver)
    node = derivation.node()
    gift = counted_phrase(derivation, derivation.pick(verb.objects))
    receiver = _object(derivation, another_noun(derivation, giver, "person"), definite=True)
    return Clause(subject, TransferPredicate(node, verb, gift, receiver))


def event(
    derivation: Derivation, verb: PastVerb, subjects: tuple[Noun, ...], *, negatable: bool = True
) -> EventPredicate:
    """An event, perhaps negated, perhaps with a place or a manner."""
    node = derivation.node()
    negated = negatable and derivation.negated(0.3)
    noun = _object_noun(derivation, verb, subjects)
    predicate = EventPredicate(node, verb, _object(derivation, noun, negated), negated)
    if noun.kind not in PLACE_KINDS and derivation.chance(0.2):
        predicate.place = place_phrase(derivation)
    elif not negated and derivation.chance(0.12):
        predicate.adverb = (derivation.node(), derivation.pick(MANNERS))
    return predicate


def state(derivation: Derivation, verb: PresentVerb, subjects: tuple[Noun, ...]) -> StatePredicate:
    """A state, perhaps negated."""
    node = derivation.node()
    negated = derivation.negated(0.35)
    noun = _object_noun(derivation, verb, subjects)
    return StatePredicate(node, verb, _object(derivation, noun, True), negated)


def activity(derivation: Derivation, verb: ProgressiveVerb) -> ActivityPredicate:
    """An activity, perhaps negated, perhaps with a place."""
    node = derivation.node()
    negated = derivation.negated(0.2)
    place = place_phrase(derivation) if derivation.chance(0.6) else None
    return ActivityPredicate(node, verb, negated, place)


def quality(derivation: Derivation, noun: Noun) -> AdjectivePredicate:
    """A quality of the noun, perhaps negated."""
    node = derivation.node()
    negated = derivation.negated(0.2)
    degree = DEGREES["" if negated else derivation.pick(QUALITY_DEGREES)]
    adjective = derivation.pick(ATTRIBUTES[noun.english][1])
    return AdjectivePredicate(node, adjective, degree, derivation.node(), negated)


def add_relative(derivation: Derivation, phrase: Phrase, probability: float) -> None:
    """Add a relative clause to a noun phrase with this probability."""
    if not isinstance(phrase, NounPhrase) or not derivation.rare_chance(
        probability * derivation.expansion
    ):
        return
    noun = phrase.noun
    if not noun.countable:
        return
    if noun.kind in ("person", "animal"):
        derivation.phenomena.add("embedded")
        phrase.relative = SubjectRelative(derivation.node(), _relative_predicate(derivation, noun))
    elif noun.kind in ("thing", "vehicle"):
        derivation.phenomena.add("embedded")
        node, verb = derivation.node(), derivation.pick(OBJECT_RELATIVE_VERBS)
        person = derivation.pick(KINDS["person"])
        subject = noun_phrase(derivation, person, definite=True, described=0.1)
        phrase.relative = ObjectRelative(node, subject, verb, derivation.node())


def _relative_predicate(derivation: Derivation, noun: Noun) -> Predicate:
    roll = derivation.random()
    if roll < 0.5:
        return event(derivation, derivation.pick(EVENTS_OF[noun.english]), (noun,))
    if roll < 0.7:
        return state(derivation, derivation.pick(STATES_OF[noun.english]), (noun,))
    if roll < 0.85:
        return activity(derivation, derivation.pick(ACTIVITIES_OF[noun.english]))
    return quality(derivation, noun)


def _subject(derivation: Derivation, noun: Noun) -> Subject:
    subject = subject_phrase(derivation, noun)
    add_relative(derivation, subject, RELATIVE)
    return subject


def _object(derivation: Derivation, noun: Noun, definite: bool) -> Phrase:
    """An object; definite after a negation, where French and Chinese change `a`."""
    if noun.kind == "person" and derivation.chance(0.12):
        return name_phrase(derivation)
    return noun_phrase(derivation, noun, definite=definite)


def head_nouns(subject: Subject) -> tuple[Noun, ...]:
    """The nouns of a subject."""
    if isinstance(subject, NounPhrase):
        return (subject.noun,)
    if isinstance(subject, CoordinatedPhrase):
        return head_nouns(subject.first) + head_nouns(subject.second)
    return ()


def _object_noun(derivation: Derivation, verb: Verb, subjects: tuple[Noun, ...]) -> Noun:
    """An object other than the subjects; in train, no held-out coreference pair with them."""
    while True:
        noun = derivation.pick(verb.objects)
        if noun not in subjects and not (
            derivation.split == "train"
            and noun.kind in OBJECT_KINDS
            and any(
                subject.kind in SUBJECT_KINDS
                and pair_split(subject.english, noun.english) != "train"
                for subject in subjects
            )
        ):
            return noun
