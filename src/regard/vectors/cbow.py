"""Word vectors by CBOW, the continuous bag of words, with negative sampling (Mikolov 2013a).

The reverse of skip-gram: the mean of the context vectors predicts the word. For every word w with
the context C(w), and k noise words n drawn from P(n) ∝ count^¾:

    h = 1/|C(w)| Σ_{c ∈ C(w)} v_c,    maximize  log σ(u_w · h) + k E_n [log σ(−u_n · h)]

A word is one example whatever its window, so that an epoch is cheaper than one of skip-gram. The
text, its chunks and the noise are those of `regard.vectors.skipgram`.

Shapes: S chunks, L words in each, W = L + 2·window context words, M noise words, D features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.vectors.skipgram import (
    NOISE,
    ChunkBatch,
    SkipGram,
    SkipGramTrainer,
    WordStream,
    window_pairs,
)


@dataclass(frozen=True)
class Cbow(SkipGram):
    """Settings of CBOW: those of skip-gram.

    The rate is higher, because a word's gradient is shared among its context words.
    """

    rate: float = 0.2

    def trainer(self, text: WordStream, random: np.random.Generator) -> SkipGramTrainer:
        """Return the initial tables."""
        return _CbowTrainer(text, self, random)


class _CbowTrainer(SkipGramTrainer):
    def update(self, batch: ChunkBatch, rate: float) -> float:
        window = self.settings.window
        words, noise = batch.context[:, window:-window], self.draw_noise(len(batch.context))
        pairs = window_pairs(batch, window)
        rows = self.vectors[batch.context], self.contexts[words], self.contexts[noise]
        grad_context, grad_words, grad_noise = cbow_gradients(
            *rows, pairs, self.settings.negatives / NOISE
        )
        self.step(0, batch.context, grad_context, rate)
        word_rows = torch.cat([words, noise], dim=1)
        self.step(1, word_rows, torch.cat([grad_words, grad_noise], dim=1), rate)
        return float(pairs.amax(dim=-1).sum())  # words with a context


def cbow_gradients(
    context: Tensor, words: Tensor, noise: Tensor, pairs: Tensor, noise_weight: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of −Σ log σ(words·h) − noise_weight Σ log σ(−noise·h), h the mean of the context.

    context (S, W, D), words (S, L, D), noise (S, M, D), pairs (S, L, W); words without context do
    not count.
    """
    count = pairs.sum(dim=-1, keepdim=True)
    has_context, share = (count > 0).to(words.dtype), pairs / count.clamp(min=1)
    mean = share @ context
    positive = (torch.sigmoid((mean * words).sum(dim=-1, keepdim=True)) - 1) * has_context
    negative = torch.sigmoid(mean @ noise.mT) * (noise_weight * has_context)
    grad_mean = torch.baddbmm(positive * words, negative, noise)
    return share.mT @ grad_mean, positive * mean, negative.mT @ mean
