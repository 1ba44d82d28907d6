"""The probabilities of words given words, in both directions, with a sparse Dirichlet prior.

    t(f | e) = exp ψ(n(e, f) + α(e, f)) / exp ψ(Σ_f' n(e, f') + α(e, f'))

n are expected counts, α the prior's: small, so that each word has few translations. Where two words
are written alike, it is larger: numbers, names and cognates find each other although they are rare.
Riley and Gildea (2012), "Improving the IBM alignment models using variational Bayes".

NULL generates every word as often as it occurs. Learned, it would take the rare words.

Shapes: P distinct pairs of words, V words of a side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.alignment.statistical.jumps import Floats
from regard.alignment.statistical.pair_batches import Ints, PairBatch, WordPairs
from regard.alignment.statistical.stems import letters

SPARSITY = 0.1
"""The Dirichlet parameter of words that are not written alike."""
ALIKE = {4: 0.3, 5: 0.6, 6: 1.0}
"""The Dirichlet parameter of words with this many first letters in common."""
IDENTICAL = 2.0
"""The Dirichlet parameter of words that are written the same."""


class TranslationTables(NamedTuple):
    """Probabilities of both directions.

    Each table has three more entries for cells with padding, as `forward_backward` needs them; see
    `PairBatch.pair`.

    forward   (P + 3,) t(f | e)
    backward  (P + 3,) t(e | f)
    """

    forward: Floats
    backward: Floats


class NullTables(NamedTuple):
    """The probability of each word given NULL; one more entry is for padding, 0.

    forward   (V + 1,) t(f | NULL)
    backward  (V + 1,) t(e | NULL)
    """

    forward: Floats
    backward: Floats


def null_tables(batches: Iterable[PairBatch], pairs: WordPairs) -> NullTables:
    """How often each word occurs."""
    source, target = np.zeros(len(pairs.source_words) + 1), np.zeros(len(pairs.target_words) + 1)
    for batch in batches:
        source += np.bincount(batch.source.ravel(), minlength=len(source))
        target += np.bincount(batch.target.ravel(), minlength=len(target))
    return NullTables(*(_shares(counts) for counts in (target, source)))


def _shares(counts: NDArray[np.float64]) -> Floats:
    counts[-1] = 0  # padding
    return np.asarray(counts / max(float(counts.sum()), 1.0), np.float32)


def uniform_tables(pairs: WordPairs) -> TranslationTables:
    """The tables before the first iteration."""
    forward = np.full(len(pairs) + 3, 1 / max(len(pairs.target_words), 1), np.float32)
    backward = np.full(len(pairs) + 3, 1 / max(len(pairs.source_words), 1), np.float32)
    return _with_padding(forward, backward)


def learned_tables(counts: Floats, pairs: WordPairs, prior: Floats) -> TranslationTables:
    """The tables that expected counts, (P + 3,), and the prior, (P,), give."""
    from scipy.special import digamma  # comes with scikit-learn

    posterior = counts[:-3] + prior
    expected = np.asarray(digamma(posterior), np.float32)  # of a logarithm

    def table(conditions: Ints, num_words: int) -> Floats:
        total = np.bincount(conditions, posterior, minlength=num_words)
        log_total = digamma(np.where(total > 0, total, 1.0)).astype(np.float32)
        probability = np.zeros(len(pairs) + 3, np.float32)
        np.exp(expected - log_total[conditions], out=probability[:-3])
        return probability

    return _with_padding(
        table(pairs.source, len(pairs.source_words)), table(pairs.target, len(pairs.target_words))
    )


def _with_padding(forward: Floats, backward: Floats) -> TranslationTables:
    """Set the entries of padding."""
    forward[-3:] = 0, 1, 0
    backward[-3:] = 1, 0, 0
    return TranslationTables(forward, backward)


def spelling_prior(pairs: WordPairs) -> Floats:
    """(P,) the Dirichlet parameter of each pair, by how much of it is written alike.

    Punctuation is alike without being the same, so it does not count.
    """
    source = [letters(word) for word in pairs.source_words]
    target = [letters(word) for word in pairs.target_words]
    prior = np.full(len(pairs), SPARSITY, np.float32)
    for length, value in ALIKE.items():
        prior[_equal(_beginnings(source, length), _beginnings(target, length), pairs)] = value
    prior[_equal(source, target, pairs)] = IDENTICAL
    return prior


def _beginnings(words: list[str], length: int) -> list[str]:
    """The first letters of words that have as many."""
    return [word[:length] if len(word) >= length else "" for word in words]


def _equal(source: list[str], target: list[str], pairs: WordPairs) -> NDArray[np.bool_]:
    """(P,) whether these strings of a pair's words are equal and not empty."""
    known = {text: number for number, text in enumerate(dict.fromkeys(filter(None, source)))}
    of_source = np.array([known.get(text, -1) for text in source], np.int32)
    of_target = np.array([known.get(text, -2) for text in target], np.int32)
    return np.asarray(of_source[pairs.source] == of_target[pairs.target])
