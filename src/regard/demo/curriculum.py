"""The order of the demonstration's corpus: at first short sentences, many of them with `it`.

What `it` stands for is learned late: both nouns before it are equally often meant, so no single
word tells, only the adjective together with both nouns. In short sentences it is found sooner.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from regard.corpus.batches import batches
from regard.corpus.grammar import GrammarPair
from regard.tasks.text.encoded_corpus import EncodedCorpus

SHORT = 13
"""Most words of an easy source sentence."""
OTHERS = 0.3
"""Share of the short sentences without a pronoun that are among the easy ones."""


def easy_places(pairs: Sequence[GrammarPair], seed: int = 0) -> list[int]:
    """Where the easy sentences are: the short ones with a pronoun, and some of the others."""
    dice = random.Random(seed)
    return [
        place
        for place, pair in enumerate(pairs)
        if len(pair.source_words) <= SHORT and (pair.coreference or dice.random() < OTHERS)
    ]


class EasyFirst(EncodedCorpus):
    """Encoded sentences whose first epoch is `updates` batches of easy ones."""

    def __init__(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        max_tokens: int,
        seed: int,
        easy: Sequence[int],
        updates: int,
    ) -> None:
        super().__init__(sources, targets, max_tokens, seed)
        self._easy, self._updates = np.asarray(easy, np.int64), updates

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Batches of easy sentences in epoch 0, of all in later ones.

        Epoch 0 has no more batches than it would have of all sentences, so that a run that goes on
        without this order finds its place.
        """
        every = super().cut(seed, epoch)
        if epoch or not len(self._easy) or not self._updates:
            return every
        first: list[list[int]] = []
        number = 0
        while len(first) < min(self._updates, len(every)):
            made = batches(
                self.lengths_src[self._easy], self.lengths_tgt[self._easy],
                self.max_tokens, seed, number,
            )  # fmt: skip
            first += [self._easy[rows].tolist() for rows in made]
            number += 1
        return first[: min(self._updates, len(every))]
