"""The showcase sentences, derived by hand; no split contains any of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from regard.corpus.grammar.clauses import (
    Clause,
    CompoundClause,
    SentenceTree,
    Statement,
    ThatClause,
)
from regard.corpus.grammar.contexts import SENSES
from regard.corpus.grammar.derivation import CASES, Derivation
from regard.corpus.grammar.draw_annotated import annotate_sense, because_it
from regard.corpus.grammar.draw_phrases import add_adjectives
from regard.corpus.grammar.entries import AND, ONE, THE, A, Determiner
from regard.corpus.grammar.phrases import NounPhrase, PlacePhrase
from regard.corpus.grammar.predicates import ActivityPredicate, EventPredicate, StatePredicate
from regard.corpus.grammar.vocabulary import (
    ACTIVITY_VERBS,
    ATTITUDE_VERBS,
    DEGREES,
    EVENT_VERBS,
    NOUNS,
    PREPOSITIONS,
    STATE_VERBS,
    select_adjectives,
)

Recipe = Callable[[Derivation], Statement]


def phrase(
    derivation: Derivation, noun: str, determiner: Determiner = THE, adjectives: str = ""
) -> NounPhrase:
    """A noun phrase with these adjectives."""
    built = NounPhrase(derivation.node(), NOUNS[noun], determiner)
    add_adjectives(derivation, built, list(select_adjectives(adjectives)))
    return built


def sense_phrase(
    derivation: Derivation, lemma: str, sense: str, determiner: Determiner = THE
) -> NounPhrase:
    """An ambiguous noun in one of its senses."""
    noun = next(known.noun for known in SENSES[lemma] if known.noun.sense == sense)
    return NounPhrase(derivation.node(), noun, determiner)


def coreference(
    subject: str, verb: str, target: str, reason: str, *, subject_is_antecedent: bool
) -> Recipe:
    """`The {subject} didn't {verb} the {target} because it was too {reason}.`"""

    def derive(derivation: Derivation) -> Statement:
        doer, object_ = phrase(derivation, subject), phrase(derivation, target)
        event = EventPredicate(derivation.node(), EVENT_VERBS[verb], object_, True)
        (adjective,) = select_adjectives(reason)
        return because_it(
            derivation, doer, event, object_, adjective, DEGREES["too"], subject_is_antecedent
        )

    return derive


def sense_as_subject(lemma: str, sense: str, verb: str, target: str) -> Recipe:
    """`The {lemma} {verb} a {target}.`"""

    def derive(derivation: Derivation) -> Statement:
        word = sense_phrase(derivation, lemma, sense)
        event = EventPredicate(derivation.node(), EVENT_VERBS[verb], phrase(derivation, target, A))
        annotate_sense(derivation, word, event.node)
        return Clause(word, event)

    return derive


def sense_as_object(
    subject: str, verb: str, lemma: str, sense: str, place: str = "", determiner: Determiner = THE
) -> Recipe:
    """`The {subject} {verb} the {lemma} {place}.`"""

    def derive(derivation: Derivation) -> Statement:
        doer = phrase(derivation, subject)
        word = sense_phrase(derivation, lemma, sense, determiner)
        event = EventPredicate(derivation.node(), EVENT_VERBS[verb], word)
        cue = event.node
        if place:
            preposition, _, noun = place.partition(" ")
            location = phrase(derivation, noun)
            cue = location.node
            if preposition == "of":
                word.substance = location
            else:
                word.place = PlacePhrase(derivation.node(), PREPOSITIONS[preposition], location)
        annotate_sense(derivation, word, cue)
        return Clause(doer, event)

    return derive


def _creature(derivation: Derivation) -> Statement:
    subject = phrase(derivation, "creature", A, "fluffy blue")
    forest = phrase(derivation, "forest", THE, "verdant")
    return Clause(subject, EventPredicate(derivation.node(), EVENT_VERBS["roamed"], forest))


def _bird(derivation: Derivation) -> Statement:
    subject = phrase(derivation, "bear", THE, "old")
    bird = phrase(derivation, "bird", THE, "small blue")
    derivation.phenomena.add("negation")
    return Clause(subject, StatePredicate(derivation.node(), STATE_VERBS["sees"], bird, True))


def _long(derivation: Derivation) -> Statement:
    bridge = PlacePhrase(derivation.node(), PREPOSITIONS["near"], phrase(derivation, "bridge"))
    sleeping = ActivityPredicate(derivation.node(), ACTIVITY_VERBS["sleeping"], False, bridge)
    dog = Clause(phrase(derivation, "dog"), sleeping)
    heavy = coreference("donkey", "carried", "box", "heavy", subject_is_antecedent=False)
    carried = heavy(derivation)
    doctor, thinks = phrase(derivation, "doctor"), ATTITUDE_VERBS["thinks"]
    thought = ThatClause(derivation.node(), derivation.node(), doctor, thinks, carried)
    derivation.phenomena |= {"coordinated", "embedded"}
    return CompoundClause(derivation.node(), derivation.node(), dog, AND, thought)


RECIPES: tuple[Recipe, ...] = (
    coreference("animal", "crossed", "street", "tired", subject_is_antecedent=True),
    coreference("animal", "crossed", "street", "wide", subject_is_antecedent=False),
    coreference("van", "crossed", "bridge", "heavy", subject_is_antecedent=True),
    coreference("van", "crossed", "bridge", "narrow", subject_is_antecedent=False),
    sense_as_subject("mole", "animal", "dug", "tunnel"),
    sense_as_object("chemist", "measured", "mole", "unit", "of carbon dioxide", ONE),
    sense_as_object("doctor", "examined", "mole", "skin", "on arm"),
    sense_as_object("thief", "robbed", "bank", "money"),
    sense_as_object("boat", "reached", "bank", "river"),
    sense_as_object("owl", "chased", "bat", "animal"),
    sense_as_object("carpenter", "polished", "bat", "sport"),
    sense_as_object("mechanic", "replaced", "spring", "metal", "in clock", A),
    sense_as_object("camel", "found", "spring", "water", "in desert"),
    _creature,
    _bird,
    _long,
)


@cache
def showcase() -> tuple[tuple[SentenceTree, Derivation], ...]:
    """Every showcase sentence with its annotated derivation."""
    derived = []
    for recipe in RECIPES:
        derivation = Derivation(lambda: 0.0, "test", lambda _: CASES[0])
        clause = recipe(derivation)
        derived.append((SentenceTree(derivation.node(), clause), derivation))
    return tuple(derived)
