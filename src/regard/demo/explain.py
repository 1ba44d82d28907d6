"""Which heads carry what `it` stands for: found by switching heads off, not by looking at them.

On development sentences the smallest set of heads is searched whose switching-off takes the
pronoun's accuracy under 75 % while at least 95 % of the other words stay right. Then the set is
tried on test sentences, beside random sets of the same size.

Accuracies while searching are of the next word given the right words before it, all positions at
once; those reported of the found set are of whole translations too.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from regard.alignment import tokenized_words
from regard.attention import SwitchOff, intervene
from regard.config import SearchOptions
from regard.corpus.grammar import GrammarPair
from regard.corpus.grammar.measures import grammar_scores
from regard.decoding import search
from regard.demo.lesson import Language
from regard.models.batch import Batch, batch_of, source_of
from regard.tasks.translation.translator import Translator

PRONOUN, OTHERS = 0.75, 0.95
RANDOM_SETS = 20
LARGEST = 8  # heads in a set

HeadName = tuple[str, int, int]
"""Kind ("self", "causal", "cross"), layer and head."""


@dataclass(frozen=True)
class Effect:
    """What is left right with heads switched off: pronouns, and other words."""

    heads: tuple[HeadName, ...]
    pronouns: float
    others: float

    @property
    def found(self) -> bool:
        """Whether it is the pronoun that suffers, and it alone."""
        return self.pronouns < PRONOUN and self.others >= OTHERS


@dataclass(frozen=True)
class Explanation:
    """The smallest set found, its effect on dev and on test, and that of random sets on test."""

    found: bool
    dev: Effect
    test: Effect
    translated: Effect
    random: list[Effect]

    def as_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "found": self.found,
            "heads": [list(head) for head in self.dev.heads],
            "dev": {"pronouns": self.dev.pronouns, "others": self.dev.others},
            "test": {"pronouns": self.test.pronouns, "others": self.test.others},
            "translated": {"pronouns": self.translated.pronouns, "others": self.translated.others},
            "random": [{"pronouns": e.pronouns, "others": e.others} for e in self.random],
        }


class Bench:
    """Sentences with pronouns, batched once, to be answered with many sets of heads off."""

    def __init__(self, translator: Translator, pairs: Sequence[GrammarPair]) -> None:
        self.network = translator.network
        self.pairs = [pair for pair in pairs if pair.coreference]
        tokenizers = translator.tokenizers
        self.batch: Batch = batch_of(
            [tokenizers.source.encode(pair.source) for pair in self.pairs],
            [tokenizers.target.encode(pair.target) for pair in self.pairs],
        )
        self.pronoun = torch.zeros_like(self.batch.labels, dtype=torch.bool)
        self.aside = self.pronoun.clone()
        for row, pair in enumerate(self.pairs):
            target = tokenized_words(pair.target, tokenizers.target, given=pair.target_words)
            cues = {one.cue for one in pair.coreference}
            agreeing = [link.target for link in pair.links if link.source in cues]
            for one in pair.coreference:
                self.pronoun[row, np.flatnonzero(target.overlap[:, one.target_pronoun])] = True
            self.aside[row, np.flatnonzero(target.overlap[:, agreeing].sum(1))] = True

    @torch.no_grad()
    def effect(self, heads: Iterable[HeadName]) -> Effect:
        """The share of next words right with `heads` off."""
        named = tuple(sorted(heads))
        with intervene(self.network, edits(named)):
            guesses = self.network(self.batch).argmax(-1)
        right = guesses == self.batch.labels
        others = (self.batch.labels > 3) & ~self.pronoun & ~self.aside
        return Effect(
            named, float(right[self.pronoun].float().mean()), float(right[others].float().mean())
        )


def edits(heads: Iterable[HeadName]) -> list[SwitchOff]:
    """The heads, switched off."""
    return [SwitchOff(kind=kind, layer=layer, heads=head) for kind, layer, head in heads]


def all_heads(translator: Translator, bench: Bench) -> list[HeadName]:
    """Every head of the model."""
    first = Batch(
        bench.batch.source and type(bench.batch.source)(*(t[:1] for t in bench.batch.source)),
        bench.batch.inputs[:1],
        bench.batch.labels[:1],
    )
    return [(m.kind, m.layer, head) for m in translator.network.maps(first) for head in m.heads]


def smallest(bench: Bench, heads: Sequence[HeadName]) -> Effect:
    """The smallest set that takes the pronoun alone: all of one or two heads, then step by step.

    Larger sets grow from the most promising smaller ones (those that take most pronouns per other
    word), and what is found is thinned out again.
    """
    tried = [bench.effect(pair) for size in (1, 2) for pair in itertools.combinations(heads, size)]
    good = [effect for effect in tried if effect.found]
    if good:
        return min(good, key=lambda effect: (len(effect.heads), effect.pronouns))
    front = _promising(tried)
    best = front[0]
    for _ in range(3, LARGEST + 1):
        grown = {
            tuple(sorted((*effect.heads, head)))
            for effect in front
            for head in heads
            if head not in effect.heads
        }
        tried = [bench.effect(named) for named in sorted(grown)]
        good = [effect for effect in tried if effect.found]
        if good:
            return _thinned(bench, min(good, key=lambda effect: effect.pronouns))
        front = _promising([*tried])
        best = min([best, *front], key=lambda effect: effect.pronouns)
    return best


def explain(
    translator: Translator,
    dev: Sequence[GrammarPair],
    test: Sequence[GrammarPair],
    language: Language,
    seed: int = 0,
) -> Explanation:
    """Search on dev, then try on test, beside random sets of the same size."""
    bench, proof = Bench(translator, dev), Bench(translator, test)
    heads = all_heads(translator, bench)
    found = smallest(bench, heads)
    rivals = [proof.effect(others) for others in rival_sets(heads, found.heads, seed)]
    return Explanation(
        found.found,
        found,
        proof.effect(found.heads),
        translated(translator, proof.pairs, found.heads, language),
        rivals,
    )


def rival_sets(
    heads: Sequence[HeadName], found: Sequence[HeadName], seed: int
) -> list[tuple[HeadName, ...]]:
    """Random sets of heads as large as the found one, and none of them the found one.

    >>> rival_sets([("self", 0, 0), ("self", 0, 1)], [("self", 0, 1)], seed=0)[:2]
    [(('self', 0, 0),), (('self', 0, 0),)]
    """
    chance = random.Random(seed)
    sets: list[tuple[HeadName, ...]] = []
    while len(sets) < RANDOM_SETS and len(found) < len(heads):
        drawn = tuple(sorted(chance.sample(list(heads), len(found))))
        if drawn != tuple(sorted(found)):
            sets.append(drawn)
    return sets


def translated(
    translator: Translator,
    pairs: Sequence[GrammarPair],
    heads: Sequence[HeadName],
    language: Language,
) -> Effect:
    """What is right in whole translations with `heads` off."""
    source = source_of([translator.tokenizers.source.encode(pair.source) for pair in pairs])
    with intervene(translator.network, edits(heads)):
        found = search(translator.network, source, SearchOptions(beam=1))
    texts = [translator.tokenizers.target.decode(one[0].tokens) for one in found]
    scores = grammar_scores(pairs, texts, language)
    return Effect(tuple(heads), scores.pronoun_accuracy or 0.0, scores.other_words_right or 0.0)


def _promising(effects: Sequence[Effect], count: int = 6) -> list[Effect]:
    """Those that hurt pronouns most while the other words hold."""
    holding = [effect for effect in effects if effect.others >= OTHERS] or list(effects)
    return sorted(holding, key=lambda effect: effect.pronouns)[:count]


def _thinned(bench: Bench, effect: Effect) -> Effect:
    """Without heads that are not needed."""
    for head in effect.heads:
        fewer = bench.effect(other for other in effect.heads if other != head)
        if fewer.found:
            return _thinned(bench, fewer)
    return effect
