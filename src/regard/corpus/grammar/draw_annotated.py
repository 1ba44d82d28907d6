"""Drawing clauses with annotated coreference and word senses."""

from __future__ import annotations

from collections.abc import Iterable

from regard.corpus.grammar.clauses import Clause, CompoundClause
from regard.corpus.grammar.contexts import (
    LEMMAS,
    OBJECT,
    PLACE,
    SENSES,
    SUBJECT,
    VERB,
    WEIGHTED_FRAMES,
    CoreferenceFrame,
    SenseContext,
)
from regard.corpus.grammar.derivation import Derivation
from regard.corpus.grammar.draw_phrases import noun_phrase
from regard.corpus.grammar.entries import BECAUSE, IT, ONE, THE, UNITS, Adjective, Noun, WordForms
from regard.corpus.grammar.pair import Coreference, SenseAnnotation
from regard.corpus.grammar.phrases import NounPhrase, PlacePhrase, WordPhrase
from regard.corpus.grammar.predicates import AdjectivePredicate, EventPredicate
from regard.corpus.grammar.vocabulary import DEGREES, KINDS

NEGATED_DEGREES = ("too", "too", "too", "very")
AFFIRMED_DEGREES = ("", "very", "very", "rather", "extremely")
ADJECTIVE_CONTEXTS = tuple(
    (sense, context)
    for lemma in LEMMAS
    for sense in SENSES[lemma]
    for context in sense.contexts
    if context.adjectives
)
"""Senses that only an adjective shows: `the fan was noisy`, `the fan was happy`."""
BY_ADJECTIVE = 0.2
"""Probability of choosing one of these where rare constructions are wanted."""


def _reasons(kinds: Iterable[tuple[CoreferenceFrame, str]]) -> frozenset[Adjective]:
    """The adjectives that give a reason with nouns of these kinds."""
    return frozenset(
        adjective
        for frame, kind in kinds
        for noun in KINDS[kind]
        for adjective in frame.reasons[noun.english]
    )


TWO_SIDED_REASONS = _reasons((frame, frame.subject_kind) for frame in WEIGHTED_FRAMES) & _reasons(
    (frame, frame.object_kind) for frame in WEIGHTED_FRAMES
)
"""Reasons that describe the subject in some sentences and the object in others: `heavy`."""
TWO_SIDED = 0.3
"""Probability of choosing among these where rare constructions are wanted."""


def coreference_clause(derivation: Derivation) -> CompoundClause:
    """`The animal didn't cross the street because it was too tired.`"""
    frame = derivation.pick(WEIGHTED_FRAMES)
    case = derivation.case(len(derivation.coreferences))
    same = derivation.same_gender > 0 and derivation.chance(derivation.same_gender)
    pairs = frame.same_gender_pairs if same else frame.pairs
    doer, done = derivation.pick(pairs[derivation.split, case.subject_gender])
    first = case.subject_is_antecedent
    reasons = frame.reasons[doer.english if first else done.english]
    if derivation.rare > 1 and derivation.rare_chance(TWO_SIDED):
        reasons = tuple(filter(TWO_SIDED_REASONS.__contains__, reasons)) or reasons
    reason = derivation.pick(reasons)
    degree = derivation.pick(NEGATED_DEGREES if frame.negated else AFFIRMED_DEGREES)

    subject = noun_phrase(
        derivation, doer, singular=True, definite=frame.negated, described=0.2, without=reason
    )
    target = noun_phrase(
        derivation, done, singular=True, definite=True, described=0.15, without=reason
    )
    event = EventPredicate(derivation.node(), derivation.pick(frame.verbs), target, frame.negated)
    return because_it(derivation, subject, event, target, reason, DEGREES[degree], first)


def because_it(
    derivation: Derivation,
    subject: NounPhrase,
    event: EventPredicate,
    target: NounPhrase,
    reason: Adjective,
    degree: WordForms,
    subject_is_antecedent: bool,
) -> CompoundClause:
    """The event, `because it was` and the reason, with its annotation."""
    antecedent, distractor = (subject, target) if subject_is_antecedent else (target, subject)
    pronoun = WordPhrase(derivation.node(), *IT[antecedent.gender])
    quality = AdjectivePredicate(derivation.node(), reason, degree, derivation.node())
    derivation.coreferences.append(
        Coreference(
            pronoun.node,
            antecedent.node,
            distractor.node,
            quality.node,
            pronoun.node,
            antecedent.gender,
        )
    )
    derivation.phenomena |= {"coreference", "because"}
    if event.negated:
        derivation.phenomena.add("negation")
    main, because = Clause(subject, event), Clause(pronoun, quality)
    return CompoundClause(derivation.node(), derivation.node(), main, BECAUSE, because)


def sense_clause(derivation: Derivation) -> Clause:
    """`The mole dug a tunnel.`"""
    if derivation.rare > 1 and derivation.rare_chance(BY_ADJECTIVE):
        sense, context = derivation.pick(ADJECTIVE_CONTEXTS)
    else:
        sense = derivation.pick(SENSES[derivation.pick(LEMMAS)])
        context = derivation.pick(sense.contexts)
    negated = derivation.negated(0.2)
    word = _sense_phrase(derivation, sense.noun, context, negated)
    nodes = [0, 0, 0, 0]
    nodes[context.slot] = word.node
    subject = word
    if context.slot != SUBJECT:
        noun = derivation.pick(context.subjects)
        subject = noun_phrase(derivation, noun, singular=True, described=0.2)
        nodes[SUBJECT] = subject.node

    if context.adjectives:
        degree = DEGREES["" if negated else derivation.pick(AFFIRMED_DEGREES)]
        quality = AdjectivePredicate(
            derivation.node(),
            derivation.pick(context.adjectives),
            degree,
            derivation.node(),
            negated,
        )
        nodes[OBJECT] = quality.node
        clause = Clause(subject, quality)
    else:
        clause = Clause(subject, _sense_event(derivation, context, word, nodes, negated))
    if word.substance:
        nodes[PLACE] = word.substance.node
    annotate_sense(derivation, word, nodes[context.cue])
    return clause


def annotate_sense(derivation: Derivation, word: NounPhrase, cue: int) -> None:
    """Annotate the sense of a noun and the node that shows it."""
    derivation.phenomena.add("sense")
    noun, node = word.noun, word.node
    derivation.senses.append(SenseAnnotation(node, noun.english, noun.sense, node, cue))


def _sense_phrase(
    derivation: Derivation, noun: Noun, context: SenseContext, negated: bool
) -> NounPhrase:
    """The ambiguous noun; a unit has a number before it and a substance after it."""
    definite = negated or context.slot == PLACE or bool(context.adjectives)
    if noun.countable:
        return noun_phrase(derivation, noun, singular=True, definite=definite)
    phrase = NounPhrase(derivation.node(), noun, ONE if negated else derivation.pick(UNITS))
    phrase.substance = NounPhrase(derivation.node(), derivation.pick(context.places), THE)
    return phrase


def _sense_event(
    derivation: Derivation, context: SenseContext, word: NounPhrase, nodes: list[int], negated: bool
) -> EventPredicate:
    """The verb with its object and place; their nodes are stored in `nodes`."""
    target = word
    if context.slot != OBJECT:
        noun = derivation.pick(context.objects)
        target = noun_phrase(derivation, noun, singular=True, definite=negated, described=0.2)
        nodes[OBJECT] = target.node
    place: PlacePhrase | None = None
    if context.preposition:
        location = word
        if context.slot != PLACE:
            noun = derivation.pick(context.places)
            location = noun_phrase(derivation, noun, singular=True, definite=True, described=0.0)
            nodes[PLACE] = location.node
        place = PlacePhrase(derivation.node(), context.preposition, location)
    nodes[VERB] = derivation.node()
    event = EventPredicate(nodes[VERB], derivation.pick(context.verbs), target, negated)
    if context.of_object:
        target.place = place
    else:
        event.place = place
    return event
