"""Drawing noun phrases and places at random."""

from __future__ import annotations

from regard.corpus.grammar.derivation import Derivation
from regard.corpus.grammar.entries import (
    COUNTED,
    COUNTED_SINGULAR,
    DEFINITE,
    DEFINITE_PLURAL,
    PLURAL,
    PRONOUNS,
    SINGULAR,
    THE,
    Adjective,
    Determiner,
    Noun,
)
from regard.corpus.grammar.phrases import (
    CoordinatedPhrase,
    NounPhrase,
    Phrase,
    PlacePhrase,
    Subject,
    WordPhrase,
)
from regard.corpus.grammar.vocabulary import (
    ATTRIBUTES,
    CITIES,
    FIRST_NAMES,
    KINDS,
    PLURAL_KINDS,
    PREPOSITIONS,
)

RANKS = (
    ((1,), (1,), (2,), (0,)),
    ((1, 2), (1, 2), (0, 1), (0, 2)),
    ((0, 1, 2),),
)
"""Ranks of the adjectives of a noun with one, two and three of them."""
ONLY_THE = frozenset({"season", "body", "drink", "substance"})
PLACE_PREPOSITIONS = tuple(p for p in PREPOSITIONS.values() for _ in range(p.weight))


def noun_phrase(
    derivation: Derivation,
    noun: Noun,
    *,
    singular: bool = False,
    definite: bool = False,
    described: float = 0.3,
    without: Adjective | None = None,
) -> NounPhrase:
    """A determiner, adjectives (other than `without`) with probability `described`, the noun."""
    node = derivation.node()
    if not singular and noun.kind in PLURAL_KINDS and derivation.rare_chance(0.24):
        determiner = derivation.pick(DEFINITE_PLURAL if definite else PLURAL)
    else:
        determiner = _singular(derivation, noun, definite)
    phrase = NounPhrase(node, noun, determiner)
    if derivation.rare_chance(described * derivation.expansion):
        _describe(derivation, phrase, without)
    return phrase


def counted_phrase(derivation: Derivation, noun: Noun) -> NounPhrase:
    """An indefinite phrase: `a book`, `two books`."""
    determiners = COUNTED if noun.kind in PLURAL_KINDS else COUNTED_SINGULAR
    phrase = NounPhrase(derivation.node(), noun, derivation.pick(determiners))
    if derivation.chance(0.3):
        _describe(derivation, phrase, None)
    return phrase


def subject_phrase(derivation: Derivation, noun: Noun) -> Subject:
    """A noun phrase, or for people a name, or two phrases joined by `and`."""
    roll = derivation.random()
    if noun.kind == "person" and roll < 0.12:
        return name_phrase(derivation)
    if noun.kind in PLURAL_KINDS and roll > 1 - 0.05 * derivation.expansion * derivation.rare:
        derivation.phenomena.add("coordinated")
        node = derivation.node()
        return CoordinatedPhrase(node, noun_phrase(derivation, noun), _second(derivation, noun))
    return noun_phrase(derivation, noun)


def name_phrase(derivation: Derivation) -> WordPhrase:
    """A first name."""
    return WordPhrase(derivation.node(), *derivation.pick(FIRST_NAMES))


def pronoun_phrase(derivation: Derivation) -> WordPhrase:
    """`I`, `we`, `he` or `she`."""
    pronoun = derivation.pick(PRONOUNS)
    return WordPhrase(derivation.node(), *pronoun)


def place_phrase(derivation: Derivation) -> Phrase:
    """A place or a season."""
    if derivation.chance(0.12):
        city = WordPhrase(derivation.node(), derivation.pick(CITIES))
        city.prepositions = ("in", "à", "在")
        return city
    preposition = PREPOSITIONS["during"]
    if not derivation.chance(0.08):
        preposition = derivation.pick(PLACE_PREPOSITIONS)
    noun = derivation.pick(preposition.nouns)
    node = derivation.node()
    phrase = noun_phrase(derivation, noun, singular=True, definite=True, described=0.12)
    return PlacePhrase(node, preposition, phrase)


def _singular(derivation: Derivation, noun: Noun, definite: bool) -> Determiner:
    if not noun.countable or noun.kind in ONLY_THE:
        return THE
    return derivation.pick(DEFINITE if definite else SINGULAR)


def _second(derivation: Derivation, noun: Noun) -> Subject:
    """Another phrase of the same kind, to be joined to the noun."""
    if noun.kind == "person" and derivation.chance(0.3):
        return name_phrase(derivation)
    return noun_phrase(derivation, another_noun(derivation, noun), definite=True)


def another_noun(derivation: Derivation, noun: Noun, kind: str = "") -> Noun:
    """A noun of the kind (default: the noun's own) other than this one."""
    while True:
        drawn = derivation.pick(KINDS[kind or noun.kind])
        if drawn is not noun:
            return drawn


def _describe(derivation: Derivation, phrase: NounPhrase, without: Adjective | None) -> None:
    """Add one to three adjectives of different ranks."""
    attributes = ATTRIBUTES.get(phrase.noun.english)
    if attributes is None:
        return
    roll = derivation.random()
    ranks = derivation.pick(RANKS[0 if roll < 0.35 else 1 if roll < 0.88 else 2])
    chosen = [derivation.pick(attributes[rank]) for rank in ranks if attributes[rank]]
    chosen = [adjective for adjective in chosen if adjective is not without]
    add_adjectives(derivation, phrase, sorted(chosen, key=lambda adjective: adjective.order))


def add_adjectives(derivation: Derivation, phrase: NounPhrase, adjectives: list[Adjective]) -> None:
    """Add adjectives in this order, and annotate them."""
    for adjective in adjectives:
        node = derivation.node()
        phrase.adjectives.append((node, adjective))
        derivation.adjectives.append((phrase.node, node))
    if phrase.adjectives:
        derivation.phenomena.add("agreement")
    if len(phrase.adjectives) > 1:
        derivation.phenomena.add("order")
