"""Paired bootstrap: sacreBLEU's own samples, significance, and scores by length."""

import random

import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from regard.corpus.grammar import sample
from regard.errors import InputError
from regard.evaluation import by_length, corpus_scores, paired_bootstrap
from regard.evaluation.bootstrap import statistics
from regard.evaluation.scores import bleu_metric, chrf_metric

PAIRS = sample("test", 120)
SOURCES = [pair.source for pair in PAIRS]
REFERENCES = [pair.target for pair in PAIRS]


def spoiled(texts, share, seed):
    """Some words of each text taken away."""
    dice = random.Random(seed)
    return [" ".join(w for w in text.split() if dice.random() > share) for text in texts]


GOOD, FAIR, BAD = (
    spoiled(REFERENCES, share, seed) for share, seed in [(0.1, 1), (0.1, 2), (0.3, 3)]
)


def test_sums_of_statistics_are_the_public_scores():
    references = [[one] for one in REFERENCES]
    for metric in (bleu_metric("fr"), chrf_metric()):
        sums = statistics(metric, GOOD, references).sum(axis=0)
        again = metric._compute_score_from_stats(sums.astype(int).tolist()).score
        assert again == pytest.approx(metric.corpus_score(GOOD, [REFERENCES]).score)


def test_against_sacrebleu(monkeypatch):
    """The same seed draws the same sentences; its interval is of the score, ours of the difference.

    So we give it a baseline that is never right: its score is 0, and both are the same.
    """
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    nothing = ["x"] * len(GOOD)
    metrics = {"BLEU": BLEU(), "chrF2": CHRF()}
    test = PairedTest([("a", nothing), ("b", GOOD)], metrics, [REFERENCES], "bs", n_samples=200)
    _, table = test()
    ours = paired_bootstrap(nothing, GOOD, REFERENCES, "fr", resamples=200)
    for row, name in zip(ours, ("BLEU", "chrF2"), strict=True):
        theirs = table[name][1]
        assert row.b == pytest.approx(theirs.score)
        assert (row.high - row.low) / 2 == pytest.approx(theirs.ci, rel=0.05)
        assert (row.high + row.low) / 2 == pytest.approx(theirs.mean, rel=0.02)


def test_a_significant_difference():
    for row in paired_bootstrap(BAD, GOOD, REFERENCES, "fr", resamples=300):
        assert row.difference == pytest.approx(row.b - row.a)
        assert row.difference > 0
        assert 0 < row.low < row.difference < row.high
        assert row.p_value == pytest.approx(1 / 301)


def test_an_insignificant_difference_and_none():
    for row in paired_bootstrap(GOOD, FAIR, REFERENCES, "fr", resamples=300):
        assert row.low < 0 < row.high
        assert row.p_value > 0.05
    for row in paired_bootstrap(GOOD, GOOD, REFERENCES, "fr", resamples=50):
        assert (row.difference, row.low, row.high, row.p_value) == (0, 0, 0, 1)


def test_order_and_seed():
    forth = paired_bootstrap(GOOD, FAIR, REFERENCES, "fr", resamples=100)
    back = paired_bootstrap(FAIR, GOOD, REFERENCES, "fr", resamples=100)
    for one, other in zip(forth, back, strict=True):
        assert (one.a, one.b) == (other.b, other.a)
        assert one.low == pytest.approx(-other.high)
        assert one.p_value == other.p_value
    assert forth == paired_bootstrap(GOOD, FAIR, REFERENCES, "fr", resamples=100)
    assert forth != paired_bootstrap(GOOD, FAIR, REFERENCES, "fr", resamples=100, seed=1)


def test_by_length():
    rows = by_length(SOURCES, REFERENCES, {"good": GOOD, "bad": BAD}, language="fr")
    buckets = [(0, 10), (11, 20), (21, 30), (31, 40), (41, None)]
    assert [(row.low, row.high) for row in rows] == buckets[: len(rows)]
    assert len(rows) > 2
    assert sum(row.sentences for row in rows) == len(SOURCES)
    for row in rows:
        chosen = [
            n
            for n, pair in enumerate(PAIRS)
            if row.low <= len(pair.source_words) <= (row.high or 99)
        ]
        assert len(chosen) == row.sentences
        alone = corpus_scores([BAD[n] for n in chosen], [REFERENCES[n] for n in chosen], "fr")
        assert row.bleu["bad"] == pytest.approx(alone.bleu)
        assert row.chrf["bad"] == pytest.approx(alone.chrf)
        assert row.bleu["good"] > row.bleu["bad"]


def test_what_cannot_be_compared():
    with pytest.raises(InputError, match="1 translations"):
        paired_bootstrap(["a", "b"], ["a"], ["a", "b"])
    with pytest.raises(InputError, match="resamples must be at least 1, got 0"):
        paired_bootstrap(["a"], ["a"], ["a"], resamples=0)
    with pytest.raises(InputError, match="at least one system"):
        by_length(["a"], ["a"], {})
    with pytest.raises(InputError, match="2 sources but references for 1"):
        by_length(["a", "b"], ["a"], {"x": ["a"]})
