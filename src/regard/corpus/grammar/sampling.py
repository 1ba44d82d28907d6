"""Samples of the grammar: deterministic by seed, without duplicate sources, split by hash."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from regard.corpus.grammar.clauses import CompoundClause, SentenceTree, Statement, ThatClause
from regard.corpus.grammar.derivation import (
    CHINESE,
    ENGLISH,
    FRENCH,
    CaseBalance,
    Derivation,
    Realization,
    links,
    raised,
)
from regard.corpus.grammar.draw_annotated import coreference_clause, sense_clause
from regard.corpus.grammar.draw_clauses import (
    activity_clause,
    plain_clause,
    quality_clause,
    state_clause,
)
from regard.corpus.grammar.draw_phrases import subject_phrase
from regard.corpus.grammar.entries import AND, BECAUSE, BUT, CONNECTIVES, WHILE, Connective
from regard.corpus.grammar.pair import GrammarPair, Language
from regard.corpus.grammar.showcase import showcase
from regard.corpus.grammar.tokenization import PUNCTUATION, detokenize
from regard.corpus.grammar.vocabulary import ATTITUDE_VERBS, TIMES
from regard.corpus.splits import Split, check_split, hashed_split

LONG = 20
"""A sentence is long when it has more words than this, not counting punctuation."""
LONG_SHARE = 0.24
SHORTEST_REASON = 10
"""Words of `The dog ate the cake because it was hungry.`"""
MAX_DERIVATIONS = 60
"""Derivations of one plan before another plan is made."""
MAX_PLANS = 200
"""Plans without a sentence before the requested lengths count as impossible."""
ATTITUDES = tuple(ATTITUDE_VERBS.values())


class SentencePlan(NamedTuple):
    """Topics and length of the next sentence, fixed before its derivations are tried."""

    topics: list[str]
    """For each clause `coreference`, `sense` or `plain`."""
    low: int
    high: int
    long: bool


def sample(
    split: Split,
    count: int,
    *,
    language: Language = "fr",
    seed: int = 0,
    max_words: int = 30,
    min_words: int = 0,
    same_gender: float = 0.0,
    rare: float = 1.0,
) -> list[GrammarPair]:
    """`count` pairs of a split with different sources.

    `min_words` and `max_words` bound the length of `source_words`. In a share `same_gender` of the
    coreferences both nouns have the same gender in French, so that the pronoun does not depend on
    the antecedent. The odds of rare constructions (plurals, adjectives, relative clauses,
    coordination, receivers, ambiguous adjectives, long sentences) are multiplied by `rare`. The
    English side is the same for every language, and a smaller sample is a prefix of a larger one.
    """
    check_split(split)
    _check_language(language)
    if not 0 <= min_words <= max_words:
        raise ValueError(
            "min_words must be between 0 and max_words, "
            f"got min_words={min_words}, max_words={max_words}."
        )
    if not 0 <= same_gender <= 1:
        raise ValueError(f"same_gender must be between 0 and 1, got {same_gender}.")
    if rare < 1:
        raise ValueError(f"rare must be at least 1, got {rare}.")
    pairs = _stream(split, language, seed, max_words, min_words, same_gender, rare)
    return list(islice(pairs, count))


def seed_sentences(language: Language = "fr") -> list[GrammarPair]:
    """The showcase sentences, which no split contains."""
    _check_language(language)
    pairs = []
    for tree, derivation in showcase():
        source = tree.realize(ENGLISH)
        pairs.append(_pair(tree, derivation, source, detokenize(source.words, "en"), language))
    return pairs


def _stream(
    split: Split,
    language: Language,
    seed: int,
    max_words: int,
    min_words: int,
    same_gender: float,
    rare: float,
) -> Iterator[GrammarPair]:
    generator = random.Random(f"regard grammar {split} {seed}").random
    balance = CaseBalance(generator)
    seen = set(_showcase_sources())
    num_failed = 0
    while num_failed < MAX_PLANS:
        planned = _plan(generator, min_words, max_words, rare)
        num_failed += 1
        for _ in range(MAX_DERIVATIONS):
            derivation = Derivation(
                generator, split, balance.case, same_gender=same_gender, rare=rare
            )
            tree = _derive(derivation, planned)
            if tree is None:
                continue
            realized = tree.realize(ENGLISH)
            source = detokenize(realized.words, "en")
            if source in seen or (not derivation.coreferences and hashed_split(source) != split):
                continue
            seen.add(source)
            balance.use(len(derivation.coreferences))
            num_failed = 0
            yield _pair(tree, derivation, realized, source, language)
            break
    raise ValueError(
        f"the grammar has no (more) sentences of {min_words} to {max_words} words in {split}."
    )


def _plan(
    generator: Callable[[], float], min_words: int, max_words: int, rare: float
) -> SentencePlan:
    """Choose topics and length; lengths count punctuation, as `max_words` does."""
    long = generator() < raised(LONG_SHARE, rare) or min_words > LONG
    if max_words < LONG + 2:
        long = False
    first = 0.36 if max_words >= SHORTEST_REASON else 0.0
    topics = [_topic(generator(), first, 0.3), *[_topic(generator(), 0.2, 0.2) for _ in range(12)]]
    if long:
        return SentencePlan(topics, max(min_words, LONG + 2), max_words, True)
    return SentencePlan(topics, min_words, min(max_words, LONG + 1), False)


def _topic(roll: float, coreference: float, sense: float) -> str:
    if roll < coreference:
        return "coreference"
    return "sense" if roll < coreference + sense else "plain"


def _derive(derivation: Derivation, planned: SentencePlan) -> SentenceTree | None:
    """A sentence after the plan, or None if it came out too long or too short."""
    derivation.expansion = 1.6 if planned.long else 1.0
    topics = iter(planned.topics)
    whole = _clause(derivation, next(topics))
    length = len(_english(whole))
    num_commas, goal, used = 0, planned.low, AND
    if planned.long:
        goal += int(derivation.random() * (planned.high - planned.low) * 0.6)
    elif derivation.chance(0.06):
        goal = max(goal, length + 2)
    while length + 1 < goal or (planned.long and length - num_commas <= LONG):
        connective = derivation.pick(CONNECTIVES)
        if connective is used or (connective is BECAUSE and "because" in derivation.phenomena):
            connective = AND
        used = connective
        continuation = _continuation(derivation, connective, next(topics, "plain"))
        length += len(_english(continuation)) + 1 + connective.comma
        num_commas += connective.comma
        if length >= planned.high:
            return None
        if connective in (AND, BUT) and derivation.chance(0.5):
            whole, continuation = continuation, whole
        whole = CompoundClause(
            derivation.node(), derivation.node(), whole, connective, continuation
        )
        derivation.phenomena.add("coordinated" if connective.comma else "because")
    if not planned.low <= length + 1 <= planned.high:
        return None
    if not planned.long and length - num_commas > LONG:
        return None
    tree = SentenceTree(derivation.node(), whole)
    time = derivation.pick(TIMES)
    room = planned.high - length - 1 - len(time.english)
    if room > 0 and derivation.chance(0.14) and not whole.present:
        tree.time, tree.time_nodes = time, (derivation.node(), derivation.node())
    return tree


def _clause(derivation: Derivation, topic: str) -> Statement:
    """A clause on the topic, perhaps after `… thinks that`."""
    clause: Statement
    if topic == "coreference":
        clause = coreference_clause(derivation)
    elif topic == "sense":
        clause = sense_clause(derivation)
    else:
        clause = plain_clause(derivation)
    if derivation.chance(0.13 * derivation.expansion) and _english(clause)[0] != "that":
        derivation.phenomena.add("embedded")
        verb = derivation.pick(ATTITUDES)
        subject = subject_phrase(derivation, derivation.pick(verb.subjects))
        return ThatClause(derivation.node(), derivation.node(), subject, verb, clause)
    return clause


def _continuation(derivation: Derivation, connective: Connective, topic: str) -> Statement:
    """A clause that can follow the connective."""
    if connective is WHILE:
        return activity_clause(derivation)
    if connective is BECAUSE:
        return quality_clause(derivation) if derivation.chance(0.5) else state_clause(derivation)
    return _clause(derivation, topic)


def _english(clause: Statement) -> list[str]:
    """The English words of a clause."""
    out = Realization(ENGLISH)
    clause.realize(out)
    return out.words


@cache
def _showcase_sources() -> frozenset[str]:
    return frozenset(detokenize(tree.realize(ENGLISH).words, "en") for tree, _ in showcase())


def _pair(
    tree: SentenceTree, derivation: Derivation, source: Realization, text: str, language: Language
) -> GrammarPair:
    """The pair with its annotations, nodes converted to positions."""
    target = tree.realize(FRENCH if language == "fr" else CHINESE)
    position, target_position = source.position, target.position
    phenomena = derivation.phenomena
    if _is_long(source.words):
        phenomena = phenomena | {"long"}
    return GrammarPair(
        source=text,
        target=detokenize(target.words, language),
        source_words=tuple(source.words),
        target_words=tuple(target.words),
        links=links(source, target),
        coreference=tuple(
            note._replace(
                pronoun=position(note.pronoun),
                antecedent=position(note.antecedent),
                distractor=position(note.distractor),
                cue=position(note.cue),
                target_pronoun=target_position(note.pronoun),
                gender=note.gender if language == "fr" else "",
            )
            for note in derivation.coreferences
        ),
        senses=tuple(
            note._replace(
                word=position(note.word),
                target=target_position(note.word),
                cue=position(note.cue),
            )
            for note in derivation.senses
        ),
        adjectives=tuple(
            (position(noun), position(adjective)) for noun, adjective in derivation.adjectives
        ),
        phenomena=frozenset(phenomena),
    )


def _is_long(words: Sequence[str]) -> bool:
    return len([word for word in words if word not in PUNCTUATION]) > LONG


def _check_language(language: str) -> None:
    if language not in ("fr", "zh"):
        raise ValueError(f"language must be 'fr' or 'zh', got {language!r}.")
