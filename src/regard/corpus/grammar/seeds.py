"""The showcase sentences, derived by hand; no split holds any of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from regard.corpus.grammar.adjectives import ADJECTIVES
from regard.corpus.grammar.clause import AND, BECAUSE, Clause, Joined, Sentence, Statement, Thought
from regard.corpus.grammar.draft import CELLS, Draft, Reading, Reference
from regard.corpus.grammar.draw_special import IT
from regard.corpus.grammar.entry import Noun
from regard.corpus.grammar.nouns import NOUNS
from regard.corpus.grammar.particles import DEGREES, ONE, PREPOSITIONS, THE, A, Determiner
from regard.corpus.grammar.phrase import NounPhrase, PlacePhrase, PronounPhrase
from regard.corpus.grammar.predicate import Doing, Event, Feeling, Quality
from regard.corpus.grammar.senses import MEANINGS
from regard.corpus.grammar.verbs import ACTIVITY_VERBS, ATTITUDE_VERBS, EVENT_VERBS, STATE_VERBS

Recipe = Callable[[Draft], Statement]


def phrase(
    draft: Draft, noun: Noun, determiner: Determiner = THE, adjectives: str = ""
) -> NounPhrase:
    """A noun phrase as it is asked for."""
    made = NounPhrase(draft.node(), noun, determiner)
    for name in adjectives.split():
        node = draft.node()
        made.adjectives.append((node, ADJECTIVES[name]))
        draft.adjectives.append((made.node, node))
    if made.adjectives:
        draft.phenomena.add("agreement")
    if len(made.adjectives) > 1:
        draft.phenomena.add("order")
    return made


def reason(doer: str, verb: str, done: str, why: str, *, doer_meant: bool) -> Recipe:
    """`The {doer} didn't {verb} the {done} because it was too {why}.`"""

    def derive(draft: Draft) -> Statement:
        subject, target = phrase(draft, NOUNS[doer]), phrase(draft, NOUNS[done])
        meant, other = (subject, target) if doer_meant else (target, subject)
        pronoun = PronounPhrase(draft.node(), IT[meant.gender], "a", meant.gender)
        quality = Quality(draft.node(), ADJECTIVES[why], DEGREES["too"], draft.node())
        draft.references.append(
            Reference(pronoun.node, meant.node, other.node, quality.node, meant.gender)
        )
        draft.phenomena |= {"coreference", "because", "negation"}
        main = Clause(subject, Event(draft.node(), EVENT_VERBS[verb], target, True))
        return Joined(draft.node(), draft.node(), main, BECAUSE, Clause(pronoun, quality))

    return derive


def meant(draft: Draft, lemma: str, sense: str, determiner: Determiner = THE) -> NounPhrase:
    """An ambiguous noun in one of its senses."""
    found = next(m.noun for m in MEANINGS[lemma] if m.noun.sense == sense)
    return phrase(draft, found, determiner)


def noted(draft: Draft, word: NounPhrase, cue: int) -> None:
    """Write down the sense of a noun and the node that shows it."""
    draft.phenomena.add("sense")
    draft.readings.append(Reading(word.node, word.noun.english, word.noun.sense, cue))


def sense_as_subject(
    lemma: str, sense: str, verb: str, done: str, determiner: Determiner = A
) -> Recipe:
    """`The {lemma} {verb} a {done}.`"""

    def derive(draft: Draft) -> Statement:
        word = meant(draft, lemma, sense)
        event = Event(draft.node(), EVENT_VERBS[verb], phrase(draft, NOUNS[done], determiner))
        noted(draft, word, event.node)
        return Clause(word, event)

    return derive


def sense_as_object(
    doer: str, verb: str, lemma: str, sense: str, place: str = "", determiner: Determiner = THE
) -> Recipe:
    """`The {doer} {verb} the {lemma} {place}.`"""

    def derive(draft: Draft) -> Statement:
        subject, word = phrase(draft, NOUNS[doer]), meant(draft, lemma, sense, determiner)
        event = Event(draft.node(), EVENT_VERBS[verb], word)
        cue = event.node
        if place:
            preposition, _, where = place.partition(" ")
            spot = phrase(draft, NOUNS[where])
            cue = spot.node
            if preposition == "of":
                word.substance = spot
            else:
                word.place = PlacePhrase(draft.node(), PREPOSITIONS[preposition], spot)
        noted(draft, word, cue)
        return Clause(subject, event)

    return derive


def _creature(draft: Draft) -> Statement:
    subject = phrase(draft, NOUNS["creature"], A, "fluffy blue")
    forest = phrase(draft, NOUNS["forest"], THE, "verdant")
    return Clause(subject, Event(draft.node(), EVENT_VERBS["roamed"], forest))


def _bird(draft: Draft) -> Statement:
    subject = phrase(draft, NOUNS["bear"], THE, "old")
    bird = phrase(draft, NOUNS["bird"], THE, "small blue")
    draft.phenomena.add("negation")
    return Clause(subject, Feeling(draft.node(), STATE_VERBS["sees"], bird, True))


def _long(draft: Draft) -> Statement:
    park = PlacePhrase(draft.node(), PREPOSITIONS["near"], phrase(draft, NOUNS["bridge"]))
    sleeping = Clause(
        phrase(draft, NOUNS["dog"]), Doing(draft.node(), ACTIVITY_VERBS["sleeping"], False, park)
    )
    tired = reason("donkey", "carried", "box", "heavy", doer_meant=False)(draft)
    thinks = ATTITUDE_VERBS["thinks"]
    doctor = phrase(draft, NOUNS["doctor"])
    thought = Thought(draft.node(), draft.node(), doctor, thinks, tired)
    draft.phenomena |= {"coordinated", "embedded"}
    return Joined(draft.node(), draft.node(), sleeping, AND, thought)


RECIPES: tuple[Recipe, ...] = (
    reason("animal", "crossed", "street", "tired", doer_meant=True),
    reason("animal", "crossed", "street", "wide", doer_meant=False),
    reason("van", "crossed", "bridge", "heavy", doer_meant=True),
    reason("van", "crossed", "bridge", "narrow", doer_meant=False),
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
def showcase() -> tuple[tuple[Sentence, Draft], ...]:
    """Every showcase sentence with its notes."""
    found = []
    for recipe in RECIPES:
        draft = Draft(lambda: 0.0, "test", lambda _: CELLS[0])
        clause = recipe(draft)
        found.append((Sentence(draft.node(), clause), draft))
    return tuple(found)
