"""Drawing the clauses the corpus is for: coreference and word senses."""

from __future__ import annotations

from regard.corpus.grammar.clause import BECAUSE, Clause, Joined
from regard.corpus.grammar.draft import Draft, Reading, Reference
from regard.corpus.grammar.draw_phrase import noun_phrase
from regard.corpus.grammar.entry import Gender, Noun
from regard.corpus.grammar.particles import DEGREES, ONE, THE, THREE, TWO
from regard.corpus.grammar.phrase import NounPhrase, Phrase, PlacePhrase, PronounPhrase
from regard.corpus.grammar.predicate import Event, Quality
from regard.corpus.grammar.reasons import WEIGHTED_FRAMES
from regard.corpus.grammar.senses import LEMMAS, MEANINGS, OBJECT, PLACE, SUBJECT, VERB, Context

HINDERED = ("too", "too", "too", "very")
MOVED = ("", "very", "very", "rather", "extremely")
UNITS = (ONE, ONE, TWO, THREE)
IT: dict[Gender, tuple[str, str, str]] = {"m": ("it", "il", "它"), "f": ("it", "elle", "它")}


def coreference_clause(draft: Draft) -> Joined:
    """`The animal didn't cross the street because it was too tired.`"""
    frame = draft.pick(WEIGHTED_FRAMES)
    cell = draft.cells(len(draft.references))
    doer, done = draft.pick(frame.pairs[draft.split, cell.subject_gender])
    first = cell.subject_is_antecedent
    reason = draft.pick(frame.reasons[doer.english if first else done.english])
    degree = draft.pick(HINDERED if frame.negated else MOVED)

    subject = noun_phrase(
        draft, doer, singular=True, definite=frame.negated, described=0.2, without=reason
    )
    target = noun_phrase(draft, done, singular=True, definite=True, described=0.15, without=reason)
    event = Event(draft.node(), draft.pick(frame.verbs), target, frame.negated)
    meant, other = (subject, target) if first else (target, subject)
    pronoun = PronounPhrase(draft.node(), IT[meant.gender], "a", meant.gender)
    quality = Quality(draft.node(), reason, DEGREES[degree], draft.node())

    draft.references.append(
        Reference(pronoun.node, meant.node, other.node, quality.node, meant.gender)
    )
    draft.phenomena |= {"coreference", "because"}
    if frame.negated:
        draft.phenomena.add("negation")
    because = Clause(pronoun, quality)
    return Joined(draft.node(), draft.node(), Clause(subject, event), BECAUSE, because)


def sense_clause(draft: Draft) -> Clause:
    """`The mole dug a tunnel.`"""
    meaning = draft.pick(MEANINGS[draft.pick(LEMMAS)])
    context = draft.pick(meaning.contexts)
    negated = draft.chance(0.2)
    if negated:
        draft.phenomena.add("negation")
    draft.phenomena.add("sense")
    word = _sense_phrase(draft, meaning.noun, context, negated)
    nodes = [0, 0, 0, 0]
    nodes[context.slot] = word.node
    subject = word
    if context.slot != SUBJECT:
        subject = noun_phrase(draft, draft.pick(context.subjects), singular=True, described=0.2)
        nodes[SUBJECT] = subject.node

    clause: Clause
    if context.qualities:
        degree = DEGREES["" if negated else draft.pick(MOVED)]
        quality = Quality(
            draft.node(), draft.pick(context.qualities), degree, draft.node(), negated
        )
        nodes[OBJECT] = quality.node
        clause = Clause(subject, quality)
    else:
        event = _sense_event(draft, context, word, nodes, negated)
        clause = Clause(subject, event)
    if word.substance:
        nodes[PLACE] = word.substance.node
    draft.readings.append(Reading(word.node, meaning.lemma, meaning.noun.sense, nodes[context.cue]))
    return clause


def _sense_phrase(draft: Draft, noun: Noun, context: Context, negated: bool) -> NounPhrase:
    """The ambiguous noun; a unit has a number before it and a substance after it."""
    definite = negated or context.slot == PLACE or bool(context.qualities)
    if noun.countable:
        return noun_phrase(draft, noun, singular=True, definite=definite)
    phrase = NounPhrase(draft.node(), noun, ONE if negated else draft.pick(UNITS))
    phrase.substance = NounPhrase(draft.node(), draft.pick(context.places), THE)
    return phrase


def _sense_event(
    draft: Draft, context: Context, word: NounPhrase, nodes: list[int], negated: bool
) -> Event:
    """The verb with its object and place, and their nodes noted."""
    target = word
    if context.slot != OBJECT:
        noun = draft.pick(context.objects)
        target = noun_phrase(draft, noun, singular=True, definite=negated, described=0.2)
        nodes[OBJECT] = target.node
    place: Phrase | None = None
    if context.preposition:
        where = word
        if context.slot != PLACE:
            where = noun_phrase(
                draft, draft.pick(context.places), singular=True, definite=True, described=0.0
            )
            nodes[PLACE] = where.node
        place = PlacePhrase(draft.node(), context.preposition, where)
    nodes[VERB] = draft.node()
    event = Event(nodes[VERB], draft.pick(context.verbs), target, negated)
    if isinstance(place, PlacePhrase) and context.of_noun:
        target.place = place
    else:
        event.place = place
    return event
