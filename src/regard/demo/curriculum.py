"""A curriculum for the demonstration: at first only short sentences with `it`, in large batches.

The antecedent of `it` is learned late, and with some seeds never: both nouns before it are equally
likely, so that no single word predicts the French pronoun, only the adjective together with the
nouns (an exclusive or, to which no single feature gives a gradient). Two changes make it learnable:
in half of the training sentences both nouns have the same gender, so that the gender of either noun
predicts the pronoun in three of four cases; and short sentences with `it` come first, alone.

The last errors are rare constructions (`au` for `à le`, feminine plural adjectives, agreement over
a relative clause), so the training sentences have more of them than the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.corpus.batches import batches
from regard.corpus.grammar import GrammarPair
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.tasks.text.guided_rows import GuidedRows

MAX_EASY_WORDS = 13
"""Longest source sentence that counts as easy."""
SAME_GENDER = 0.5
"""Share of the training sentences with `it` whose two nouns have the same gender."""
RARE = 3.0
"""Factor on the odds of rare constructions in the training sentences."""
EASY_TOKENS = 1400
"""Tokens of a batch of easy sentences; with fewer, the antecedent is not learned."""


def is_easy(pair: GrammarPair) -> bool:
    """Whether a sentence is short and has a pronoun."""
    return bool(pair.coreference) and len(pair.source_words) <= MAX_EASY_WORDS


class CurriculumCorpus(EncodedCorpus):
    """Encoded sentences whose first epoch has `easy_updates` batches of easy ones."""

    def __init__(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        max_tokens: int,
        seed: int,
        easy: Sequence[int],
        easy_updates: int,
        guided: Sequence[GuidedRows] = (),
    ) -> None:
        super().__init__(sources, targets, max_tokens, seed, guided=guided)
        self._easy, self._easy_updates = np.asarray(easy, np.int64), easy_updates

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Batches of easy sentences in epoch 0, of all sentences in later epochs.

        Epoch 0 has at most as many batches as it would have without the curriculum, so that a run
        resumed without it finds its position.
        """
        every = super().cut(seed, epoch)
        if epoch or not len(self._easy) or not self._easy_updates:
            return every
        num_batches = min(self._easy_updates, len(every))
        first: list[list[int]] = []
        repeat = 0
        while len(first) < num_batches:
            cut = batches(
                self.lengths_src[self._easy],
                self.lengths_tgt[self._easy],
                max(EASY_TOKENS, self.max_tokens),
                seed,
                repeat,
            )
            first += [self._easy[rows].tolist() for rows in cut]
            repeat += 1
        return first[:num_batches]
