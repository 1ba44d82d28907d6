"""Word vectors by skip-gram with negative sampling (Mikolov 2013b), made of matrix products.

For every word w and each word c near it, and k words n drawn as noise from P(n) ∝ count^¾:

    maximise  log σ(u_c · v_w) + k E_n [log σ(−u_n · v_w)]

A stretch of the text is taken at once. All its words' vectors against all its words' context
vectors are one product, of which the band within the window counts; the noise is drawn once for the
stretch and weighed as if each pair had k words of its own, which is the same in the mean. So a word
is fetched once and not once for every pair. A row's steps are scaled by its past gradients
(Duchi 2011), since a frequent word is in a batch many times.

Shapes: S stretches, L words in each, W = L + 2·window words around them, M noise words, D features.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError
from regard.text import normalize, words
from regard.vectors import Vectors

STRETCH = 64  # words in a stretch: with fewer, its context is fetched too often
NOISE = 32  # noise words for a stretch
BATCH = 16  # stretches for one update

Numbers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Told = Callable[[float, float], None]
"""Hears which share is done, and how many words a second."""


@dataclass(frozen=True)
class SkipGram:
    """How vectors are learned.

    dim        D
    window     most words on each side that count as near; each word draws its own from 1 up to it
    negatives  k
    epochs     passes over the text
    min_count  words seen less often are left out
    subsample  t: a word of frequency f is passed over with probability 1 − √(t / f); 0 keeps all
    rate       of learning at the beginning; it falls to zero
    """

    dim: int = 100
    window: int = 5
    negatives: int = 5
    epochs: int = 5
    min_count: int = 5
    subsample: float = 1e-3
    rate: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dim", "window", "negatives", "epochs", "min_count"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, but {getattr(self, name)} came.")
        if not (math.isfinite(self.subsample) and self.subsample >= 0):
            raise InputError(f"subsample must be 0 or more, but {self.subsample} came.")
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise InputError(f"rate must be above 0, but {self.rate} came.")

    def pupil(self, text: Text, chance: np.random.Generator) -> Pupil:
        """The tables before the first update; another method has another (`Cbow`)."""
        return Pupil(text, self, chance)


@dataclass(frozen=True, eq=False)
class Text:
    """A text as numbers of its frequent words.

    words      the most frequent first
    counts     of each
    stream     (N,)  the words in order, rare ones left out
    sentences  (N,)  the number of the sentence that each stands in
    """

    words: tuple[str, ...]
    counts: Numbers
    stream: Numbers
    sentences: Numbers


def read_text(
    lines: Iterable[str], language: str = "", min_count: int = 5, lowercase: bool = False
) -> Text:
    """The words of lines, a sentence (or a paragraph) each."""
    sentences = [
        [word.text for word in words(normal.lower() if lowercase else normal, language)]
        for normal in map(normalize, lines)
    ]
    counted = Counter(word for sentence in sentences for word in sentence)
    kept = [word for word, count in counted.items() if count >= min_count]
    kept.sort(key=lambda word: (-counted[word], word))
    if len(kept) < 2:
        raise InputError(
            f"of {sum(counted.values())} words {len(kept)} come {min_count} times or more, too few "
            "to learn from; give more text or a smaller --min-count."
        )
    number = {word: place for place, word in enumerate(kept)}
    placed = [[number[word] for word in sentence if word in number] for sentence in sentences]
    lengths = [len(sentence) for sentence in placed]
    return Text(
        tuple(kept),
        np.array([counted[word] for word in kept], dtype=np.int64),
        np.array([word for sentence in placed for word in sentence], dtype=np.int64),
        np.repeat(np.arange(len(placed)), lengths),
    )


def learn(text: Text, settings: SkipGram | None = None, tell: Told | None = None) -> Vectors:
    """The vectors of a text's words, by the settings' method; the same seed gives the same."""
    settings = settings or SkipGram()
    chance = np.random.default_rng(settings.seed)
    pupil = settings.pupil(text, chance)
    begun, pairs = time.perf_counter(), 0.0
    for epoch in range(settings.epochs):
        stream, sentences = subsampled(text, settings.subsample, chance)
        for share, batch in batches(stream, sentences, settings.window, chance):
            done = (epoch + share) / settings.epochs
            pairs += pupil.update(batch, settings.rate * (1 - done))
            if tell is not None:
                seconds = max(time.perf_counter() - begun, 1e-9)
                tell(done, done * settings.epochs * len(text.stream) / seconds)
    if not pairs:  # the vectors are what chance made of them at the beginning
        raise InputError(_nothing_learned(settings))
    return Vectors(text.words, pupil.vectors.numpy(), text.counts)


def _nothing_learned(settings: SkipGram) -> str:
    found = "no two words were left near each other in a line, so there is nothing to learn from"
    if not settings.subsample:
        return f"{found}; give longer lines, or a smaller --min-count."
    return (
        f"{found}; with --subsample {settings.subsample:g} nearly all words are passed over: give "
        "a larger one, such as 0.001, or 0 for none to be, or more text."
    )


def subsampled(text: Text, limit: float, chance: np.random.Generator) -> tuple[Numbers, Numbers]:
    """The text's words and their sentences, frequent ones passed over by chance."""
    if not limit:
        return text.stream, text.sentences
    frequency = text.counts / text.counts.sum()
    kept = chance.random(len(text.stream)) < np.sqrt(limit / frequency)[text.stream]
    return text.stream[kept], text.sentences[kept]


class Batch(NamedTuple):
    """Stretches: words around and their sentences (S, W), and how far each word looks (S, L)."""

    around: Tensor
    sentences: Tensor
    reach: Tensor


def batches(
    stream: Numbers, sentences: Numbers, window: int, chance: np.random.Generator
) -> Iterator[tuple[float, Batch]]:
    """The text in stretches, in an order by chance, each batch with the share that came before."""
    rest = -len(stream) % STRETCH  # what is not there has a sentence of its own, below zero
    around = np.pad(stream, (window, window + rest))
    place = np.pad(sentences, (window, window + rest), constant_values=-1)
    starts = chance.permutation(np.arange(0, len(stream), STRETCH))
    for first in range(0, len(starts), BATCH):
        where = starts[first : first + BATCH, None] + np.arange(STRETCH + 2 * window)
        reach = chance.integers(1, window + 1, size=(len(where), STRETCH))
        parts = (around[where], place[where], reach)
        yield first / len(starts), Batch(*(torch.from_numpy(part) for part in parts))


class Pupil:
    """Both tables of vectors, and how far each row has come."""

    def __init__(self, text: Text, settings: SkipGram, chance: np.random.Generator) -> None:
        shape = (len(text.words), settings.dim)
        first = (chance.random(shape, dtype=np.float32) - 0.5) / settings.dim
        self.vectors, self.contexts = torch.from_numpy(first), torch.zeros(shape)
        self._past = torch.zeros(2, len(text.words))  # Σ of the squared gradients of each row
        likely = text.counts**0.75
        self._noise = np.cumsum(likely / likely.sum())
        self._chance, self.settings = chance, settings

    def update(self, batch: Batch, rate: float) -> float:
        """One step along the gradient of a batch; how many pairs of near words it has."""
        window = self.settings.window
        words, noise = batch.around[:, window:-window], self.drawn(len(batch.around))
        near = near_words(batch, window)
        near_each = near.sum(dim=-1, keepdim=True)
        weight = near_each * (self.settings.negatives / NOISE)
        tables = self.vectors[words], self.contexts[batch.around], self.contexts[noise]
        own, other, apart = gradients(*tables, near, weight)
        self.step(0, words, own, rate)
        rows = torch.cat([batch.around, noise], dim=1)
        self.step(1, rows, torch.cat([other, apart], dim=1), rate)
        return float(near_each.sum())

    def drawn(self, stretches: int) -> Tensor:
        """Noise words (S, M)."""
        drawn = np.searchsorted(self._noise, self._chance.random((stretches, NOISE)))
        return torch.from_numpy(np.minimum(drawn, len(self._noise) - 1))

    def step(self, which: int, rows: Tensor, grads: Tensor, rate: float) -> None:
        """Move each row by its gradient over the root of its past squared ones."""
        table, past = (self.vectors, self.contexts)[which], self._past[which]
        distinct, place = torch.unique(rows, return_inverse=True)
        summed = table.new_zeros(len(distinct), table.shape[1])
        summed.index_add_(0, place.flatten(), grads.flatten(0, 1))
        past.index_add_(0, distinct, summed.square().mean(dim=1))
        scale = rate / (past[distinct].sqrt() + 1e-8)
        table.index_add_(0, distinct, summed * -scale[:, None])


def gradients(
    own: Tensor, other: Tensor, apart: Tensor, near: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """How −Σ near · log σ(own·other) − Σ weight · log σ(−own·apart) changes with each.

    own (S, L, D), other (S, W, D), apart (S, M, D), near (S, L, W), weight (S, L, 1).
    """
    pull = (torch.sigmoid(own @ other.mT) - 1) * near
    push = torch.sigmoid(own @ apart.mT) * weight
    return pull @ other + push @ apart, pull.mT @ own, push.mT @ own


@cache
def _distances(window: int) -> Tensor:
    """(L, W): how far each word of a stretch stands from each word around; its own place is far."""
    own, around = torch.arange(STRETCH)[:, None] + window, torch.arange(STRETCH + 2 * window)
    distance = (own - around).abs()
    return distance.masked_fill(distance == 0, window + 1)


def near_words(batch: Batch, window: int) -> Tensor:
    """(S, L, W): 1 where a word around is within reach, in the same sentence, and there at all."""
    own = batch.sentences[:, window:-window, None]
    same = (own == batch.sentences[:, None]) & (own >= 0)
    return (same & (_distances(window) <= batch.reach[..., None])).float()
