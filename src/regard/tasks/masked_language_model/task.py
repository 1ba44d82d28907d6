"""Training of masked language models: some tokens of a text are masked, and predicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.config import MaskedLanguageModelSettings, Run
from regard.corpus.pairs import Pair
from regard.folder import Tokenizers
from regard.models.batch import Batch
from regard.models.lm import MaskedLanguageModel
from regard.tasks.language_model.task import LanguageModelTask
from regard.tasks.text.encoded_corpus import EncodedCorpus, TextDevelopmentSet
from regard.tasks.text.guided_rows import GuidedRows
from regard.tasks.text.id_rows import Rows
from regard.text import BOS, EOS, MASK, PAD
from regard.training.checkpoint import DataCursor


class MaskedLanguageModelTask(LanguageModelTask):
    """Trains a model of masked tokens."""

    def build(self, settings: Any, source_vocab: int, target_vocab: int) -> nn.Module:
        return MaskedLanguageModel(settings, target_vocab)

    def encoded_corpus(
        self,
        sources: Rows | None,
        targets: Rows,
        tokenizers: Tokenizers,
        run: Run,
        weights: Sequence[float] | None = None,
        guided: Sequence[GuidedRows] = (),
        num_segmentations: int = 1,
    ) -> EncodedCorpus:
        """Return batches with masked tokens."""
        assert isinstance(run.model, MaskedLanguageModelSettings)
        training, vocab = run.training, len(tokenizers.target)
        rate = run.model.mask_rate
        return MaskedCorpus(targets, training.batch_tokens, training.seed, rate, vocab)

    def development_set(
        self, corpus: EncodedCorpus, pairs: Sequence[Pair], tokenizers: Tokenizers, run: Run
    ) -> TextDevelopmentSet:
        """Return the development set with the same masks each time."""
        return TextDevelopmentSet(corpus)

    def example(self, run: Run) -> list[str]:
        return ["The [MASK] crossed the street."]


class MaskedCorpus(EncodedCorpus):
    """Batches in which tokens are masked, others each time."""

    def __init__(
        self,
        texts: Rows,
        max_tokens: int,
        seed: int,
        mask_rate: float,
        vocab: int,
    ) -> None:
        super().__init__(None, texts, max_tokens, seed)
        self.mask_rate, self.vocab = mask_rate, vocab

    def take(self, cursor: DataCursor) -> tuple[Batch, DataCursor]:
        batch, after = super().take(cursor)
        return masked(batch, self.mask_rate, self.vocab, 1 + self.seed, *cursor), after

    def every(self) -> Iterator[Batch]:
        """Yield all texts once, with the same masks each time."""
        for number, batch in enumerate(super().every()):
            yield masked(batch, self.mask_rate, self.vocab, 0, number)


def masked(batch: Batch, mask_rate: float, vocab: int, *seed: int) -> Batch:
    """Choose tokens to predict: 80 % of them become MASK, 10 % another token, 10 % stay.

    (Devlin 2019, §3.1.) Inputs and labels have the same positions here, so BOS begins both.
    """
    random = np.random.default_rng(seed)
    tokens = batch.inputs.numpy().copy()
    drawn = random.random(tokens.shape)
    chosen = (drawn < mask_rate) & (tokens != PAD) & (tokens != BOS) & (tokens != EOS)
    if not chosen.any():  # at least one, or there is nothing to learn
        row, column = np.argwhere((tokens != PAD) & (tokens != BOS))[0]
        chosen[row, column] = True
    labels = np.where(chosen, tokens, PAD)
    fate = random.random(tokens.shape)
    tokens = np.where(chosen & (fate < 0.8), MASK, tokens)
    other = random.integers(MASK + 1, max(MASK + 2, vocab), tokens.shape)
    tokens = np.where(chosen & (fate >= 0.8) & (fate < 0.9), other, tokens)
    return Batch(None, torch.from_numpy(tokens), torch.from_numpy(labels))
