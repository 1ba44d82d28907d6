"""Is one system better than another? Paired bootstrap resampling, and scores by length.

Koehn (2004), "Statistical significance tests for machine translation evaluation". Sentences are
drawn with replacement, the same for both systems, and both are scored on the draw; from a thousand
draws come the interval of the difference and its p-value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.evaluation.references import References, paired, streams
from regard.evaluation.scores import bleu_metric, chrf_metric
from regard.text.words import count_words

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric


class Difference(NamedTuple):
    """System b against system a in one metric.

    low, high  the middle 95 % of the difference b - a over the draws
    p_value    how likely a difference at least so large (either way) is between equal systems
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

    `high` is None in the last bucket, which has no end; `bleu` and `chrf` are by system's name.
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
    """The difference of two systems in BLEU and chrF, and how sure it is.

    The p-value shifts the differences of the draws to a mean of zero, as if the systems were
    equal, and counts how many are still as large as the one seen:

        p = (1 + #{r : |d_r - mean d| ≥ |d|}) / (1 + resamples)
    """
    found = paired(a, references)
    paired(b, references)
    if resamples < 1:
        raise InputError(f"resamples is {resamples}; ask for at least 1.")
    random = np.random.default_rng(seed)
    draws_RN = np.stack(
        [
            np.bincount(random.integers(0, len(a), len(a)), minlength=len(a))
            for _ in range(resamples)
        ]
    ).astype(np.float32)
    metrics = {"BLEU": bleu_metric(language), "chrF": chrf_metric()}
    return [
        _difference(
            name, metric, statistics(metric, a, found), statistics(metric, b, found), draws_RN
        )
        for name, metric in metrics.items()
    ]


def by_length(
    sources: Sequence[str],
    references: References,
    systems: Mapping[str, Sequence[str]],
    *,
    source_language: str = "",
    language: str = "",
    edges: Sequence[int] = (10, 20, 30, 40),
) -> list[LengthScores]:
    """The scores of systems by the number of words in the source; empty buckets are left out.

    `edges` are the last lengths of the buckets: 0–10, 11–20 … words, and all longer ones.
    """
    if not systems or list(edges) != sorted(set(edges)):
        raise InputError(
            f"by_length was given {len(systems)} systems and the edges {list(edges)}; "
            "give at least one system, and edges that grow."
        )
    for texts in systems.values():
        found = paired(texts, references)
    if len(sources) != len(found):
        raise InputError(
            f"there are {len(sources)} sources but references for {len(found)} sentences; "
            "give as many of one as of the other, in the same order."
        )
    lengths = [count_words(source, source_language) for source in sources]
    bucket = np.searchsorted(np.array(edges, np.int64), np.array(lengths))
    bleu, chrf = bleu_metric(language), chrf_metric()
    statistics_of = {
        name: (statistics(bleu, texts, found), statistics(chrf, texts, found))
        for name, texts in systems.items()
    }
    rows = []
    for number in sorted(set(bucket.tolist())):
        here = bucket == number
        rows.append(
            LengthScores(
                low=edges[number - 1] + 1 if number else 0,
                high=edges[number] if number < len(edges) else None,
                sentences=int(here.sum()),
                bleu={name: _score(bleu, one[here]) for name, (one, _) in statistics_of.items()},
                chrf={name: _score(chrf, one[here]) for name, (_, one) in statistics_of.items()},
            )
        )
    return rows


def statistics(
    metric: Metric, hypotheses: Sequence[str], references: list[list[str]]
) -> NDArray[np.float64]:
    """(sentences, counts): what a metric counts in each sentence; sums of rows give the score.

    sacreBLEU has no public name for this; a test holds it to the public scores.
    """
    counted = metric._extract_corpus_statistics(hypotheses, streams(references))
    return np.array(counted, np.float64)


def _score(metric: Metric, counted: NDArray[np.float64]) -> float:
    return _score_of_sums(metric, counted.sum(axis=0))


def _score_of_sums(metric: Metric, sums: NDArray[np.float64]) -> float:
    return float(metric._compute_score_from_stats(sums.round().astype(int).tolist()).score)


def _difference(
    name: str,
    metric: Metric,
    a_NC: NDArray[np.float64],
    b_NC: NDArray[np.float64],
    draws_RN: NDArray[np.float32],
) -> Difference:
    a, b = _score(metric, a_NC), _score(metric, b_NC)
    sums = [draws_RN @ counted for counted in (a_NC, b_NC)]
    scored = [np.array([_score_of_sums(metric, row) for row in one]) for one in sums]
    differences = scored[1] - scored[0]
    low, high = np.quantile(differences, [0.025, 0.975])
    as_large = np.abs(differences - differences.mean()) >= abs(b - a)
    p_value = (1 + int(as_large.sum())) / (1 + len(differences))
    return Difference(name, a, b, b - a, float(low), float(high), p_value)
