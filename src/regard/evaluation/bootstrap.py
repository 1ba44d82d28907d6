"""Comparison of two systems: paired bootstrap resampling, and scores by length.

Koehn (2004), "Statistical significance tests for machine translation evaluation". Sentences are
sampled with replacement, the same for both systems, and both are scored on the sample; a thousand
samples give the interval of the difference and its p-value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.evaluation.scores import (
    References,
    bleu_metric,
    check_counts,
    check_references,
    chrf_metric,
    streams,
)
from regard.text.words import count_words

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

EDGES = (10, 20, 30, 40)
"""The largest lengths of the buckets of `by_length`, whose last one is open."""


class Difference(NamedTuple):
    """System b against system a in one metric.

    low, high  the middle 95 % of the difference b - a over the samples
    p_value    the probability of a difference at least as large (either way) of equal systems
    """

    metric: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p_value: float


class LengthScores(NamedTuple):
    """Scores of every system on the sentences whose sources have `low` to `high` words.

    `high` is None in the last bucket, which is open; `bleu` and `chrf` are by the system's name.
    """

    low: int
    high: int | None
    sentences: int
    bleu: dict[str, float]
    chrf: dict[str, float]


def paired_bootstrap(
    a: Sequence[str],
    b: Sequence[str],
    references: References,
    language: str = "",
    *,
    resamples: int = 1000,
    seed: int = 12345,
) -> list[Difference]:
    """The difference of two systems in BLEU and chrF, with interval and p-value.

    The p-value shifts the differences of the samples to a mean of zero, as of equal systems, and
    counts those that are as large as the observed one:

        p = (1 + #{r : |d_r - mean d| ≥ |d|}) / (1 + resamples)
    """
    per_sentence = check_references(a, references)
    check_references(b, references)
    if resamples < 1:
        raise InputError(f"resamples must be at least 1, got {resamples}.")
    random = np.random.default_rng(seed)
    draws = (random.integers(0, len(a), len(a)) for _ in range(resamples))
    samples_RN = np.array([np.bincount(draw, minlength=len(a)) for draw in draws], np.float32)
    differences = []
    for name, metric in (("BLEU", bleu_metric(language)), ("chrF", chrf_metric())):
        a_NC, b_NC = (statistics(metric, texts, per_sentence) for texts in (a, b))
        differences.append(_difference(name, metric, a_NC, b_NC, samples_RN))
    return differences


def by_length(
    sources: Sequence[str],
    references: References,
    systems: Mapping[str, Sequence[str]],
    *,
    source_language: str = "",
    language: str = "",
) -> list[LengthScores]:
    """The scores of systems by the number of source words, without empty buckets."""
    if not systems:
        raise InputError("by_length needs at least one system, got none.")
    for texts in systems.values():
        per_sentence = check_references(texts, references)
    check_counts(sources, "sources", per_sentence)
    lengths = [count_words(source, source_language) for source in sources]
    bucket = np.searchsorted(EDGES, lengths)
    bleu, chrf = bleu_metric(language), chrf_metric()
    counts = {
        name: (statistics(bleu, texts, per_sentence), statistics(chrf, texts, per_sentence))
        for name, texts in systems.items()
    }
    buckets = []
    for number in sorted(set(bucket.tolist())):
        members = bucket == number
        buckets.append(
            LengthScores(
                low=EDGES[number - 1] + 1 if number else 0,
                high=EDGES[number] if number < len(EDGES) else None,
                sentences=int(members.sum()),
                bleu={name: _score(bleu, b[members].sum(0)) for name, (b, _) in counts.items()},
                chrf={name: _score(chrf, c[members].sum(0)) for name, (_, c) in counts.items()},
            )
        )
    return buckets


def statistics(
    metric: Metric, hypotheses: Sequence[str], references: list[list[str]]
) -> NDArray[np.float64]:
    """(sentences, counts): a metric's counts of each sentence; their sums give the score.

    sacreBLEU has no public function for this; a test compares it with the public scores.
    """
    counted = metric._extract_corpus_statistics(hypotheses, streams(references))
    return np.array(counted, np.float64)


def _score(metric: Metric, sums: NDArray[np.float64]) -> float:
    return float(metric._compute_score_from_stats(sums.round().astype(int).tolist()).score)


def _difference(
    name: str,
    metric: Metric,
    a_NC: NDArray[np.float64],
    b_NC: NDArray[np.float64],
    samples_RN: NDArray[np.float32],
) -> Difference:
    a, b = _score(metric, a_NC.sum(axis=0)), _score(metric, b_NC.sum(axis=0))
    sums = [samples_RN @ counted for counted in (a_NC, b_NC)]
    scored = [np.array([_score(metric, row) for row in rows]) for rows in sums]
    differences = scored[1] - scored[0]
    low, high = np.quantile(differences, [0.025, 0.975])
    as_large = np.abs(differences - differences.mean()) >= abs(b - a)
    p_value = (1 + int(as_large.sum())) / (1 + len(differences))
    return Difference(name, a, b, b - a, float(low), float(high), p_value)
