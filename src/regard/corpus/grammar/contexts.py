"""Contexts that show the senses of ambiguous nouns, and frames that decide what `it` stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from regard.corpus.grammar.entries import Adjective, Gender, Noun, PastVerb, Preposition
from regard.corpus.grammar.pair import pair_split
from regard.corpus.grammar.vocabulary import (
    EVENT_VERBS,
    KINDS,
    PREPOSITIONS,
    build_noun,
    indexed,
    known,
    read_table,
    select_adjectives,
    select_nouns,
)
from regard.corpus.splits import SPLITS, Split

SUBJECT, VERB, OBJECT, PLACE = range(4)


class SenseContext(NamedTuple):
    """A context of a sense; `slot` and `cue` are the columns of the ambiguous noun and its cue."""

    slot: int
    cue: int
    subjects: tuple[Noun, ...]
    verbs: tuple[PastVerb, ...]
    objects: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    preposition: Preposition | None
    places: tuple[Noun, ...]
    of_object: bool
    """Whether the place modifies the object (`the mole on the arm`) and not the verb."""


class NounSense(NamedTuple):
    """One sense of an ambiguous noun."""

    lemma: str
    noun: Noun
    contexts: list[SenseContext]


def _sense(lemma: str, sense: str, **columns: str) -> NounSense:
    noun = build_noun(f"sense:{sense}", lemma, plural="", sense=sense, **columns)
    return NounSense(lemma, noun, [])


def _verbs(names: str) -> tuple[PastVerb, ...]:
    return tuple(known("verb", name, EVENT_VERBS) for name in names.split())


def _context(
    lemma: str,
    sense: str,
    subjects: str,
    verbs: str,
    objects: str,
    preposition: str,
    attached: str,
    place: str,
) -> None:
    """Add a context to its sense."""
    columns = [subjects, verbs, objects, place]
    cue = next((index for index, column in enumerate(columns) if "*" in column), None)
    slot = next((index for index, column in enumerate(columns) if "@" in column), None)
    if cue is None or slot is None or (lemma, sense) not in _SENSES:
        raise ValueError("a context needs a known sense, one column with * and one with @")
    subjects, verbs, objects, place = (c.replace("*", "").replace("@", "") for c in columns)
    copula = verbs == "be"
    relation = None  # `of` belongs to a unit of measurement
    if preposition not in ("", "of"):
        relation = known("preposition", preposition, PREPOSITIONS)
    context = SenseContext(
        slot=slot,
        cue=cue,
        subjects=select_nouns(subjects),
        verbs=() if copula else _verbs(verbs),
        objects=() if copula else select_nouns(objects),
        adjectives=select_adjectives(objects) if copula else (),
        preposition=relation,
        places=select_nouns(place),
        of_object=attached == "object",
    )
    _SENSES[lemma, sense].contexts.append(context)


_SENSES = indexed(read_table("senses", _sense), lambda sense: (sense.lemma, sense.noun.sense))
read_table("sense_contexts", _context)
SENSES: dict[str, tuple[NounSense, ...]] = {
    lemma: tuple(sense for sense in _SENSES.values() if sense.lemma == lemma)
    for lemma, _ in _SENSES
}
"""The senses of each ambiguous noun."""
LEMMAS = tuple(SENSES)


@dataclass(frozen=True)
class CoreferenceFrame:
    """Verbs, noun pairs, and adjectives that fit only one noun of a pair and give the reason."""

    subject_kind: str
    object_kind: str
    negated: bool
    weight: int
    verbs: tuple[PastVerb, ...]
    reasons: dict[str, tuple[Adjective, ...]]
    """By the English noun that they describe."""
    pairs: dict[tuple[Split, Gender], tuple[tuple[Noun, Noun], ...]]
    """Subject and object nouns of different gender, by split and the subject's gender."""
    same_gender_pairs: dict[tuple[Split, Gender], tuple[tuple[Noun, Noun], ...]]
    """Subject and object nouns of the same gender."""


def _frame(
    subject_kind: str,
    object_kind: str,
    negated: str,
    weight: str,
    verbs: str,
    subject_adjectives: str,
    object_adjectives: str,
) -> CoreferenceFrame:
    subjects, objects = (known("kind", kind, KINDS) for kind in (subject_kind, object_kind))
    reasons = _reasons(subjects, subject_adjectives) | _reasons(objects, object_adjectives)
    return CoreferenceFrame(
        subject_kind,
        object_kind,
        known("polarity", negated, {"yes": True, "no": False}),
        int(weight),
        _verbs(verbs),
        reasons,
        _pairs(subjects, objects, same=False),
        _pairs(subjects, objects, same=True),
    )


def _reasons(nouns: tuple[Noun, ...], names: str) -> dict[str, tuple[Adjective, ...]]:
    listed = select_adjectives(names)
    return {
        noun.english: tuple(adjective for adjective in listed if adjective.fits(noun))
        for noun in nouns
    }


def _pairs(
    subjects: tuple[Noun, ...], objects: tuple[Noun, ...], *, same: bool
) -> dict[tuple[Split, Gender], tuple[tuple[Noun, Noun], ...]]:
    pairs_by_key: dict[tuple[Split, Gender], list[tuple[Noun, Noun]]] = {
        (split, gender): [] for split in SPLITS for gender in ("m", "f")
    }
    for first in subjects:
        for second in objects:
            if (first.gender == second.gender) is same:
                split = pair_split(first.english, second.english)
                pairs_by_key[split, first.gender].append((first, second))
    return {key: tuple(pairs) for key, pairs in pairs_by_key.items()}


COREFERENCE_FRAMES = tuple(read_table("coreference_frames", _frame))
WEIGHTED_FRAMES = tuple(frame for frame in COREFERENCE_FRAMES for _ in range(frame.weight))
