"""Vectors of ambiguous nouns in their sentences, and a linear probe that names their sense.

Shapes: B sentences, S source tokens, N occurrences, L layers, D features, C senses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch

from regard.alignment import tokenized_words
from regard.corpus.grammar import GrammarPair
from regard.models.batch import batch_of
from regard.tasks.translation.translator import Translator
from regard.tasks.word_states import hidden_states
from regard.views.maps.arrays import Floats

BATCH = 100
RIDGE = 0.01
"""Of the probe: λ as a share of the mean squared feature, summed over the occurrences."""


class SenseVectors(NamedTuple):
    """Occurrences of one ambiguous noun: its senses (N,) and vectors (N, L + 1, D)."""

    senses: list[str]
    vectors: Floats


def sense_vectors(translator: Translator, pairs: Sequence[GrammarPair]) -> dict[str, SenseVectors]:
    """The vectors of all annotated ambiguous nouns, by noun as it is written."""
    senses: dict[str, list[str]] = defaultdict(list)
    vectors: dict[str, list[Floats]] = defaultdict(list)
    tokenizers = translator.tokenizers
    noted = [pair for pair in pairs if pair.senses]
    for start in range(0, len(noted), BATCH):
        part = noted[start : start + BATCH]
        batch = batch_of(
            [tokenizers.source.encode(pair.source) for pair in part], [[] for _ in part]
        )
        hidden = torch.stack(
            hidden_states(translator.network, batch), 1
        ).numpy()  # (B, L + 1, S, D)
        for states, pair in zip(hidden, part, strict=True):
            words = tokenized_words(pair.source, tokenizers.source, word_list=pair.source_words)
            for note in pair.senses:
                rows = words.means[note.word]
                noun = pair.source_words[note.word]
                senses[noun].append(note.sense)
                vectors[noun].append(np.einsum("s,lsd->ld", rows, states[:, : len(rows)]))
    return {
        noun: SenseVectors(noun_senses, np.stack(vectors[noun]))
        for noun, noun_senses in senses.items()
    }


def cosine_distances(vectors: Floats) -> Floats:
    """(N, N): 1 − cos of every two of N vectors (N, D)."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    distances: Floats = np.clip(1 - unit @ unit.T, 0.0, None)
    return distances


def sense_distances(occurrences: SenseVectors, layer: int) -> tuple[float, float]:
    """Mean distance of two occurrences in the same sense, and in different senses; NaN for none."""
    distances = cosine_distances(occurrences.vectors[:, layer])
    same: list[float] = []
    different: list[float] = []
    for first, second in combinations(range(len(occurrences.senses)), 2):
        alike = occurrences.senses[first] == occurrences.senses[second]
        (same if alike else different).append(distances[first, second])
    return mean(same), mean(different)


def probe_hits(fit: SenseVectors, test: SenseVectors, layer: int) -> list[bool]:
    """Whether the probe, fitted on one set, names the sense of each occurrence of the other."""
    names = sorted(set(fit.senses))
    inputs, mean = fit.vectors[:, layer], fit.vectors[:, layer].mean(0)
    targets = np.array([[sense == name for name in names] for sense in fit.senses], float)
    centered = inputs - mean
    gram = centered.T @ centered
    scale = RIDGE * max(np.trace(gram) / len(gram), 1e-9) * np.eye(len(gram))
    weights = np.linalg.solve(gram + scale, centered.T @ (targets - targets.mean(0)))
    scores = (test.vectors[:, layer] - mean) @ weights + targets.mean(0)
    return [names[best] == sense for best, sense in zip(scores.argmax(1), test.senses, strict=True)]


def mean(values: Sequence[float]) -> float:
    """The mean, NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")
