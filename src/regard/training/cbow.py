"""Word vectors by CBOW, the continuous bag of words, with negative sampling (Mikolov 2013a).

Skip-gram the other way round: the mean of the vectors around a word is to tell the word. For every
word w with the words C(w) near it, and k words n drawn as noise from P(n) ∝ count^¾:

    h = 1/|C(w)| Σ_{c ∈ C(w)} v_c,    maximise  log σ(u_w · h) + k E_n [log σ(−u_n · h)]

A word is one example whatever its window, so that an epoch costs less than one of skip-gram's. The
text, its stretches and the noise are those of `regard.training.skipgram`.

Shapes: S stretches, L words in each, W = L + 2·window words around them, M noise words, D features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.training.skipgram import NOISE, Batch, Pupil, SkipGram, Text, near_words


@dataclass(frozen=True)
class Cbow(SkipGram):
    """How vectors are learned by CBOW: skip-gram's settings.

    The rate is higher: a word's gradient is shared among the words near it.
    """

    rate: float = 0.2

    def pupil(self, text: Text, chance: np.random.Generator) -> Pupil:
        """The tables before the first update."""
        return _CbowPupil(text, self, chance)


class _CbowPupil(Pupil):
    def update(self, batch: Batch, rate: float) -> float:
        window = self.settings.window
        words, noise = batch.around[:, window:-window], self.drawn(len(batch.around))
        near = near_words(batch, window)
        tables = self.vectors[batch.around], self.contexts[words], self.contexts[noise]
        around, own, apart = cbow_gradients(*tables, near, self.settings.negatives / NOISE)
        self.step(0, batch.around, around, rate)
        rows = torch.cat([words, noise], dim=1)
        self.step(1, rows, torch.cat([own, apart], dim=1), rate)
        return float(near.amax(dim=-1).sum())  # words that have another near


def cbow_gradients(
    around: Tensor, own: Tensor, apart: Tensor, near: Tensor, weight: float
) -> tuple[Tensor, Tensor, Tensor]:
    """How −Σ log σ(own·h) − weight Σ log σ(−apart·h) changes with each, h the mean of the near.

    around (S, W, D), own (S, L, D), apart (S, M, D), near (S, L, W); a word with none near counts
    nowhere.
    """
    count = near.sum(dim=-1, keepdim=True)
    there, share = (count > 0).to(own.dtype), near / count.clamp(min=1)
    mean = share @ around
    pull = (torch.sigmoid((mean * own).sum(dim=-1, keepdim=True)) - 1) * there
    push = torch.sigmoid(mean @ apart.mT) * (weight * there)
    return share.mT @ torch.baddbmm(pull * own, push, apart), pull * mean, push.mT @ mean
