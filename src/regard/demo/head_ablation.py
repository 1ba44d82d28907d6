"""A search for the attention heads that resolve `it`, by switching heads off.

On development sentences it searches the smallest set of heads whose ablation takes the pronoun
accuracy below 75 % while at least 95 % of the other words stay right. The set is then tested on
test sentences, beside random sets of the same size.

During the search, accuracies are of the next token with the reference before it, all positions at
once; for the set that was found, whole translations are scored too.
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
from regard.corpus.grammar import GrammarPair, Language
from regard.corpus.grammar.measures.translation import grammar_scores
from regard.decoding import search
from regard.models.batch import Batch, batch_of, source_of
from regard.tasks.translation.translator import Translator

MAX_PRONOUNS, MIN_OTHERS = 0.75, 0.95
NUM_RANDOM_SETS = 20
MAX_HEADS = 8

HeadName = tuple[str, int, int]
"""Kind ("self", "causal", "cross"), layer and head."""


@dataclass(frozen=True)
class AblationEffect:
    """Accuracy of pronouns and of other words with heads switched off."""

    heads: tuple[HeadName, ...]
    pronouns: float
    other_words: float

    @property
    def selective(self) -> bool:
        """Whether pronouns suffer and other words do not."""
        return self.pronouns < MAX_PRONOUNS and self.other_words >= MIN_OTHERS

    def as_dict(self) -> dict[str, float]:
        """The accuracies for `--json`."""
        return {"pronouns": self.pronouns, "others": self.other_words}


@dataclass(frozen=True)
class HeadAblation:
    """The smallest set of heads, its effect on dev and test, and that of random sets on test."""

    dev: AblationEffect
    test: AblationEffect
    translated: AblationEffect
    random: list[AblationEffect]

    @property
    def has_specialized_heads(self) -> bool:
        """Whether the set's effect is selective on dev."""
        return self.dev.selective

    def as_dict(self) -> dict[str, object]:
        """The result for `--json`."""
        return {
            "found": self.has_specialized_heads,
            "heads": [list(head) for head in self.dev.heads],
            "dev": self.dev.as_dict(),
            "test": self.test.as_dict(),
            "translated": self.translated.as_dict(),
            "random": [effect.as_dict() for effect in self.random],
        }


class AblationSentences:
    """Sentences with pronouns, batched once, to be predicted with many sets of heads off."""

    def __init__(self, translator: Translator, pairs: Sequence[GrammarPair]) -> None:
        self.network = translator.network
        self.pairs = [pair for pair in pairs if pair.coreference]
        tokenizers = translator.tokenizers
        self.batch: Batch = batch_of(
            [tokenizers.source.encode(pair.source) for pair in self.pairs],
            [tokenizers.target.encode(pair.target) for pair in self.pairs],
        )
        self.pronouns = torch.zeros_like(self.batch.labels, dtype=torch.bool)
        agreeing = self.pronouns.clone()
        for row, pair in enumerate(self.pairs):
            target = tokenized_words(pair.target, tokenizers.target, word_list=pair.target_words)
            cues = {note.cue for note in pair.coreference}
            linked = [link.target for link in pair.links if link.source in cues]
            for note in pair.coreference:
                self.pronouns[row, np.flatnonzero(target.overlap[:, note.target_pronoun])] = True
            agreeing[row, np.flatnonzero(target.overlap[:, linked].sum(1))] = True
        self.other_words = (self.batch.labels > 3) & ~self.pronouns & ~agreeing  # without specials

    @torch.no_grad()
    def effect(self, heads: Iterable[HeadName]) -> AblationEffect:
        """The share of next tokens predicted correctly with `heads` off."""
        names = tuple(sorted(heads))
        with intervene(self.network, switch_off(names)):
            right = self.network(self.batch).argmax(-1) == self.batch.labels
        return AblationEffect(
            names,
            float(right[self.pronouns].float().mean()),
            float(right[self.other_words].float().mean()),
        )


def switch_off(heads: Iterable[HeadName]) -> list[SwitchOff]:
    """The edits that switch the heads off."""
    return [SwitchOff(kind=kind, layer=layer, heads=head) for kind, layer, head in heads]


def all_heads(sentences: AblationSentences) -> list[HeadName]:
    """Every head of the model."""
    batch = sentences.batch
    assert batch.source is not None
    first = Batch(
        type(batch.source)(*(tensor[:1] for tensor in batch.source)),
        batch.inputs[:1],
        batch.labels[:1],
    )
    maps = sentences.network.maps(first)
    return [
        (layer_map.kind, layer_map.layer, head) for layer_map in maps for head in layer_map.heads
    ]


def smallest_set(sentences: AblationSentences, heads: Sequence[HeadName]) -> AblationEffect:
    """The smallest selective set: exhaustive for one or two heads, then a beam search.

    Larger sets grow from the smaller ones that lose most pronouns while the other words hold, and
    the result is reduced again.
    """
    tried = [
        sentences.effect(names) for size in (1, 2) for names in itertools.combinations(heads, size)
    ]
    selective = [effect for effect in tried if effect.selective]
    if selective:
        return min(selective, key=lambda effect: (len(effect.heads), effect.pronouns))
    beam = _best(tried)
    best = beam[0]
    for _ in range(3, MAX_HEADS + 1):
        grown = {
            tuple(sorted((*effect.heads, head)))
            for effect in beam
            for head in heads
            if head not in effect.heads
        }
        tried = [sentences.effect(names) for names in sorted(grown)]
        selective = [effect for effect in tried if effect.selective]
        if selective:
            return _reduced(sentences, min(selective, key=lambda effect: effect.pronouns))
        beam = _best(tried)
        best = min([best, *beam], key=lambda effect: effect.pronouns)
    return best


def ablate_heads(
    translator: Translator,
    dev: Sequence[GrammarPair],
    test: Sequence[GrammarPair],
    language: Language,
    seed: int = 0,
) -> HeadAblation:
    """Search on dev, then test beside random sets of the same size."""
    searched, tested = AblationSentences(translator, dev), AblationSentences(translator, test)
    heads = all_heads(searched)
    smallest = smallest_set(searched, heads)
    return HeadAblation(
        smallest,
        tested.effect(smallest.heads),
        translation_effect(translator, tested.pairs, smallest.heads, language),
        [tested.effect(names) for names in random_sets(heads, smallest.heads, seed)],
    )


def random_sets(
    heads: Sequence[HeadName], excluded: Sequence[HeadName], seed: int
) -> list[tuple[HeadName, ...]]:
    """Random sets of heads as large as the excluded one, and different from it.

    >>> random_sets([("self", 0, 0), ("self", 0, 1)], [("self", 0, 1)], seed=0)[:2]
    [(('self', 0, 0),), (('self', 0, 0),)]
    """
    generator = random.Random(seed)
    sets: list[tuple[HeadName, ...]] = []
    while len(sets) < NUM_RANDOM_SETS and len(excluded) < len(heads):
        drawn = tuple(sorted(generator.sample(list(heads), len(excluded))))
        if drawn != tuple(sorted(excluded)):
            sets.append(drawn)
    return sets


def translation_effect(
    translator: Translator,
    pairs: Sequence[GrammarPair],
    heads: Sequence[HeadName],
    language: Language,
) -> AblationEffect:
    """Accuracies in whole translations with `heads` off."""
    source = source_of([translator.tokenizers.source.encode(pair.source) for pair in pairs])
    with intervene(translator.network, switch_off(heads)):
        hypotheses = search(translator.network, source, SearchOptions(beam=1))
    texts = [translator.tokenizers.target.decode(n_best[0].tokens) for n_best in hypotheses]
    scores = grammar_scores(pairs, texts, language)
    return AblationEffect(
        tuple(heads), scores.pronoun_accuracy or 0.0, scores.other_words_right or 0.0
    )


def _best(effects: Sequence[AblationEffect], count: int = 6) -> list[AblationEffect]:
    """Those that lose most pronouns while the other words hold."""
    holding = [effect for effect in effects if effect.other_words >= MIN_OTHERS] or list(effects)
    return sorted(holding, key=lambda effect: effect.pronouns)[:count]


def _reduced(sentences: AblationSentences, effect: AblationEffect) -> AblationEffect:
    """The set without heads that are not needed."""
    for head in effect.heads:
        fewer = sentences.effect(name for name in effect.heads if name != head)
        if fewer.selective:
            return _reduced(sentences, fewer)
    return effect
