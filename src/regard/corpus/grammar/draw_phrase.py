"""Drawing noun phrases and places."""

from __future__ import annotations

from regard.corpus.grammar.adjectives import ATTRIBUTES
from regard.corpus.grammar.draft import Draft
from regard.corpus.grammar.entry import Adjective, Noun
from regard.corpus.grammar.nouns import KINDS, PLURAL_KINDS
from regard.corpus.grammar.particles import (
    CITIES,
    DURING,
    MANY,
    NAMES,
    ONE,
    PLACES,
    SEVERAL,
    SOME,
    THAT,
    THE,
    THE_MANY,
    THESE,
    THIS,
    THOSE,
    THREE,
    TWO,
    A,
    Determiner,
)
from regard.corpus.grammar.phrase import (
    BothPhrase,
    CityPhrase,
    NamePhrase,
    NounPhrase,
    Phrase,
    PlacePhrase,
    PronounPhrase,
    Subject,
)

DEFINITE = (*(THE,) * 8, THIS, THAT)
SINGULAR = (*(THE,) * 10, *(A,) * 7, THIS, THAT)
DEFINITE_PLURAL = (*(THE_MANY,) * 6, THESE, THOSE)
PLURAL = (*(THE_MANY,) * 6, TWO, TWO, THREE, THREE, SOME, SOME, SEVERAL, MANY, THESE, THOSE)
COUNTED = (*(A,) * 8, ONE, TWO, THREE, SEVERAL)
COUNTED_ONCE = (*(A,) * 8, ONE)
RANKS = (
    ((1,), (1,), (2,), (0,)),
    ((1, 2), (1, 2), (0, 1), (0, 2)),
    ((0, 1, 2),),
)
"""Ranks of adjectives on one noun, by their number less one."""
ONLY_THE = frozenset({"season", "body", "drink", "substance"})
PRONOUNS = (
    (("I", "je", "我"), "ai", "m"),
    (("we", "nous", "我们"), "avons", "m"),
    (("he", "il", "他"), "a", "m"),
    (("she", "elle", "她"), "a", "f"),
)


def noun_phrase(
    draft: Draft,
    noun: Noun,
    *,
    singular: bool = False,
    definite: bool = False,
    described: float = 0.3,
    without: Adjective | None = None,
) -> NounPhrase:
    """A determiner, perhaps adjectives (other than `without`), and this noun."""
    node = draft.node()
    if not singular and noun.kind in PLURAL_KINDS and draft.chance(0.24):
        determiner = draft.pick(DEFINITE_PLURAL if definite else PLURAL)
    else:
        determiner = _singular(draft, noun, definite)
    phrase = NounPhrase(node, noun, determiner)
    if draft.random() < described * draft.rich:
        _describe(draft, phrase, without)
    return phrase


def counted_phrase(draft: Draft, noun: Noun) -> NounPhrase:
    """An indefinite phrase: `a book`, `two books`."""
    determiners = COUNTED if noun.kind in PLURAL_KINDS else COUNTED_ONCE
    phrase = NounPhrase(draft.node(), noun, draft.pick(determiners))
    if draft.chance(0.3):
        _describe(draft, phrase, None)
    return phrase


def subject_phrase(draft: Draft, noun: Noun) -> Subject:
    """A noun phrase, or for people a name, or two phrases joined by `and`."""
    roll = draft.random()
    if noun.kind == "person" and roll < 0.12:
        return NamePhrase(draft.node(), draft.pick(NAMES))
    if noun.kind in PLURAL_KINDS and roll > 1 - 0.05 * draft.rich:
        draft.phenomena.add("coordinated")
        node = draft.node()
        return BothPhrase(node, noun_phrase(draft, noun), _companion(draft, noun))
    return noun_phrase(draft, noun)


def pronoun_phrase(draft: Draft) -> PronounPhrase:
    """`I`, `we`, `he` or `she`."""
    forms, auxiliary, gender = draft.pick(PRONOUNS)
    return PronounPhrase(draft.node(), forms, auxiliary, "f" if gender == "f" else "m")


def place_phrase(draft: Draft) -> Phrase:
    """Where something happens, or in which season."""
    if draft.chance(0.12):
        return CityPhrase(draft.node(), draft.pick(CITIES))
    preposition = DURING if draft.chance(0.08) else draft.pick(PLACES)
    noun = draft.pick(preposition.nouns)
    node = draft.node()
    return PlacePhrase(
        node, preposition, noun_phrase(draft, noun, singular=True, definite=True, described=0.12)
    )


def _singular(draft: Draft, noun: Noun, definite: bool) -> Determiner:
    if not noun.countable or noun.kind in ONLY_THE:
        return THE
    return draft.pick(DEFINITE if definite else SINGULAR)


def _companion(draft: Draft, noun: Noun) -> Subject:
    """Someone of the same kind to join the noun."""
    if noun.kind == "person" and draft.chance(0.3):
        return NamePhrase(draft.node(), draft.pick(NAMES))
    other = draft.pick(KINDS[noun.kind])
    while other is noun:
        other = draft.pick(KINDS[noun.kind])
    return noun_phrase(draft, other, definite=True)


def _order(adjective: Adjective) -> int:
    return adjective.order


def _describe(draft: Draft, phrase: NounPhrase, without: Adjective | None) -> None:
    """Put one to three adjectives on the noun, of different ranks."""
    attributes = ATTRIBUTES.get(phrase.noun.english)
    if attributes is None:
        return
    roll = draft.random()
    ranks = draft.pick(RANKS[0 if roll < 0.35 else 1 if roll < 0.88 else 2])
    chosen = [draft.pick(attributes[rank]) for rank in ranks if attributes[rank]]
    for adjective in sorted(chosen, key=_order):
        if adjective is not without:
            node = draft.node()
            phrase.adjectives.append((node, adjective))
            draft.adjectives.append((phrase.node, node))
    if phrase.adjectives:
        draft.phenomena.add("agreement")
    if len(phrase.adjectives) > 1:
        draft.phenomena.add("order")
