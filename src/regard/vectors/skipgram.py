"""Word vectors by skip-gram and CBOW with negative sampling (Mikolov 2013), as matrix products.

For every word w, each word c in its window, and k noise words n drawn from P(n) ∝ count^¾:

    maximize  log σ(u_c · v_w) + k E_n [log σ(−u_n · v_w)]

CBOW, the continuous bag of words, is the reverse: the mean h of the context C(w) predicts the word:

    h = 1/|C(w)| Σ_{c ∈ C(w)} v_c,    maximize  log σ(u_w · h) + k E_n [log σ(−u_n · h)]

The text is processed in chunks. The scores of all words of a chunk against all its context words
are one product, of which the band within the window counts; noise words are drawn once per chunk
and weighted as if each pair had k of its own, which is equal in expectation. So each word is looked
up once instead of once per pair. Updates use AdaGrad with one rate per row (Duchi 2011), because
frequent words occur many times in a batch.

Shapes: S chunks, L words in each, W = L + 2·window context words, M noise words, D features.
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
from regard.vectors.table import Vectors

CHUNK = 64  # words in a chunk: with fewer, its context is looked up too often
NOISE = 32  # noise words per chunk
BATCH = 16  # chunks per update

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
OnProgress = Callable[[float, float], None]
"""Receives the fraction done and the words per second."""


@dataclass(frozen=True)
class SkipGram:
    """Settings of the training.

    dim        D
    window     maximum distance of a context word; each word draws its own from 1 up to it
    negatives  k
    epochs     passes over the text
    min_count  rarer words are left out
    subsample  t: a word of frequency f is skipped with probability 1 − √(t / f); 0 skips none
    rate       initial learning rate; it decays to zero
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
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not (math.isfinite(self.subsample) and self.subsample >= 0):
            raise InputError(f"subsample must be 0 or more, got {self.subsample}.")
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise InputError(f"rate must be above 0, got {self.rate}.")

    def trainer(self, text: WordStream, random: np.random.Generator) -> SkipGramTrainer:
        """Return the initial tables; another method overrides this (`Cbow`)."""
        return SkipGramTrainer(text, self, random)


@dataclass(frozen=True, eq=False)
class WordStream:
    """A text as indices of its frequent words.

    words      the most frequent first
    counts     of each
    stream     (N,)  indices of the text's words, rare ones left out
    sentences  (N,)  index of each word's sentence
    """

    words: tuple[str, ...]
    counts: Ints
    stream: Ints
    sentences: Ints


def read_text(
    lines: Iterable[str], language: str = "", min_count: int = 5, lowercase: bool = False
) -> WordStream:
    """Split lines, of a sentence or a paragraph each, into words."""
    sentences = [
        [word.text for word in words(line.lower() if lowercase else line, language)]
        for line in map(normalize, lines)
    ]
    counts = Counter(word for sentence in sentences for word in sentence)
    vocabulary = [word for word, count in counts.items() if count >= min_count]
    vocabulary.sort(key=lambda word: (-counts[word], word))
    if len(vocabulary) < 2:
        raise InputError(
            f"at least 2 words must occur {min_count} times or more, got {len(vocabulary)} in a "
            f"text of {counts.total()} words; give more text or a smaller --min-count."
        )
    index = {word: i for i, word in enumerate(vocabulary)}
    indices = [[index[word] for word in sentence if word in index] for sentence in sentences]
    return WordStream(
        tuple(vocabulary),
        np.array([counts[word] for word in vocabulary], dtype=np.int64),
        np.array([i for sentence in indices for i in sentence], dtype=np.int64),
        np.repeat(np.arange(len(indices)), [len(sentence) for sentence in indices]),
    )


def learn(
    text: WordStream, settings: SkipGram | None = None, on_progress: OnProgress | None = None
) -> Vectors:
    """Learn the vectors of a text's words by the settings' method; reproducible by the seed."""
    settings = settings or SkipGram()
    random = np.random.default_rng(settings.seed)
    trainer = settings.trainer(text, random)
    start, num_pairs = time.perf_counter(), 0.0
    for epoch in range(settings.epochs):
        stream, sentences = subsample(text, settings.subsample, random)
        for fraction, batch in batches(stream, sentences, settings.window, random):
            done = (epoch + fraction) / settings.epochs
            num_pairs += trainer.update(batch, settings.rate * (1 - done))
            if on_progress is not None:
                seconds = max(time.perf_counter() - start, 1e-9)
                on_progress(done, done * settings.epochs * len(text.stream) / seconds)
    if not num_pairs:  # the vectors are still the initial ones
        hint = "give longer lines, or a smaller --min-count"
        if settings.subsample:
            hint = (
                f"--subsample {settings.subsample:g} skips nearly all words: give a larger one, "
                "such as 0.001, or 0 to skip none, or more text"
            )
        raise InputError(f"no two words occur within a window of each other; {hint}.")
    return Vectors(text.words, trainer.vectors.numpy(), text.counts)


def subsample(text: WordStream, limit: float, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the text's words and their sentences, with frequent words skipped at random."""
    if not limit:
        return text.stream, text.sentences
    frequency = text.counts / text.counts.sum()
    keep = random.random(len(text.stream)) < np.sqrt(limit / frequency)[text.stream]
    return text.stream[keep], text.sentences[keep]


class ChunkBatch(NamedTuple):
    """Chunks: context words and their sentences (S, W), and each word's window (S, L)."""

    context: Tensor
    sentences: Tensor
    reach: Tensor


def batches(
    stream: Ints, sentences: Ints, window: int, random: np.random.Generator
) -> Iterator[tuple[float, ChunkBatch]]:
    """Yield the text's chunks in random order, each batch with the fraction done before it."""
    padding = -len(stream) % CHUNK  # padding has the sentence −1
    context = np.pad(stream, (window, window + padding))
    sentence = np.pad(sentences, (window, window + padding), constant_values=-1)
    starts = random.permutation(np.arange(0, len(stream), CHUNK))
    for first in range(0, len(starts), BATCH):
        index = starts[first : first + BATCH, None] + np.arange(CHUNK + 2 * window)
        reach = random.integers(1, window + 1, size=(len(index), CHUNK))
        parts = (context[index], sentence[index], reach)
        yield first / len(starts), ChunkBatch(*(torch.from_numpy(part) for part in parts))


class SkipGramTrainer:
    """The tables of word and context vectors, and the optimizer's state."""

    def __init__(self, text: WordStream, settings: SkipGram, random: np.random.Generator) -> None:
        shape = (len(text.words), settings.dim)
        initial = (random.random(shape, dtype=np.float32) - 0.5) / settings.dim
        self.vectors, self.contexts = torch.from_numpy(initial), torch.zeros(shape)
        self._squares = torch.zeros(2, len(text.words))  # sums of squared gradients of each row
        noise = text.counts**0.75
        self._noise = np.cumsum(noise / noise.sum())
        self._random, self.settings = random, settings

    def update(self, batch: ChunkBatch, rate: float) -> float:
        """Take one gradient step on a batch; return the number of word–context pairs."""
        window = self.settings.window
        words, noise = batch.context[:, window:-window], self.draw_noise(len(batch.context))
        pairs = window_pairs(batch, window)
        pairs_per_word = pairs.sum(dim=-1, keepdim=True)
        noise_weight = pairs_per_word * (self.settings.negatives / NOISE)
        rows = self.vectors[words], self.contexts[batch.context], self.contexts[noise]
        grad_words, grad_context, grad_noise = gradients(*rows, pairs, noise_weight)
        self.step(0, words, grad_words, rate)
        context_rows = torch.cat([batch.context, noise], dim=1)
        self.step(1, context_rows, torch.cat([grad_context, grad_noise], dim=1), rate)
        return float(pairs_per_word.sum())

    def draw_noise(self, num_chunks: int) -> Tensor:
        """Draw noise words (S, M)."""
        drawn = np.searchsorted(self._noise, self._random.random((num_chunks, NOISE)))
        return torch.from_numpy(np.minimum(drawn, len(self._noise) - 1))

    def step(self, table_index: int, rows: Tensor, grads: Tensor, rate: float) -> None:
        """Update rows of table 0 (words) or 1 (contexts) by AdaGrad."""
        table, squares = (self.vectors, self.contexts)[table_index], self._squares[table_index]
        distinct, inverse = torch.unique(rows, return_inverse=True)
        total = table.new_zeros(len(distinct), table.shape[1])
        total.index_add_(0, inverse.flatten(), grads.flatten(0, 1))
        squares.index_add_(0, distinct, total.square().mean(dim=1))
        scale = rate / (squares[distinct].sqrt() + 1e-8)
        table.index_add_(0, distinct, total * -scale[:, None])


def gradients(
    words: Tensor, context: Tensor, noise: Tensor, pairs: Tensor, noise_weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of −Σ pairs · log σ(words·context) − Σ noise_weight · log σ(−words·noise).

    words (S, L, D), context (S, W, D), noise (S, M, D), pairs (S, L, W), noise_weight (S, L, 1).
    """
    positive = (torch.sigmoid(words @ context.mT) - 1) * pairs
    negative = torch.sigmoid(words @ noise.mT) * noise_weight
    return positive @ context + negative @ noise, positive.mT @ words, negative.mT @ words


@cache
def _distances(window: int) -> Tensor:
    """(L, W): distance of each word of a chunk to each context word, window + 1 to itself."""
    word, context = torch.arange(CHUNK)[:, None] + window, torch.arange(CHUNK + 2 * window)
    distance = (word - context).abs()
    return distance.masked_fill(distance == 0, window + 1)


def window_pairs(batch: ChunkBatch, window: int) -> Tensor:
    """(S, L, W): 1 where a context word is within a word's window and sentence, else 0."""
    sentence = batch.sentences[:, window:-window, None]
    same = (sentence == batch.sentences[:, None]) & (sentence >= 0)
    return (same & (_distances(window) <= batch.reach[..., None])).float()


@dataclass(frozen=True)
class Cbow(SkipGram):
    """Settings of CBOW: those of skip-gram.

    A word is one example whatever its window, so that an epoch is cheaper. The rate is higher,
    because a word's gradient is shared among its context words.
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
