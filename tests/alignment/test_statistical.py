"""The statistical aligner: against a plain implementation, against gold links, and edge cases."""

import math

import numpy as np
import pytest
import scipy.special

from regard.alignment import align_bidirectional, align_words
from regard.alignment.statistical import (
    NULL,
    SPARSITY,
    TENSION,
    _cells,
    _posterior,
)
from regard.corpus.grammar import sample
from regard.errors import InputError
from regard.evaluation.aer import grammar_alignment_error_rate


def plain_posterior(sources, targets):
    """One round of the model's equations, word by word; keys are (sentence, target, source)."""
    vocabulary = {word for words in targets for word in words}

    def prior(j, i, m, n):
        def near(place):
            return math.exp(-TENSION * abs((place + 0.5) / n - (j + 0.5) / m))

        return (1 - NULL) * near(i) / sum(map(near, range(n)))

    def expected(table):
        found = {}
        for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
            for j, word in enumerate(target):
                joint = {-1: NULL * table(None, word)}
                for i, other in enumerate(source):
                    joint[i] = prior(j, i, len(target), len(source)) * table(other, word)
                for i, value in joint.items():
                    found[number, j, i] = value / sum(joint.values())
        return found

    counts = {}
    for (number, j, i), value in expected(lambda source, target: 1.0).items():
        key = (None if i < 0 else sources[number][i], targets[number][j])
        counts[key] = counts.get(key, 0.0) + value
    totals = {}
    for (source, _), value in counts.items():
        totals[source] = totals.get(source, 0.0) + value
    psi = scipy.special.digamma

    def table(source, target):
        mass = totals[source] + SPARSITY * len(vocabulary)
        return math.exp(psi(counts[source, target] + SPARSITY) - psi(mass))

    return expected(table)


def test_an_iteration_follows_the_equations():
    pairs = sample("train", 12, language="fr", max_words=12)
    sources = [[word.casefold() for word in pair.source_words] for pair in pairs]
    targets = [[word.casefold() for word in pair.target_words] for pair in pairs]
    cells = _cells(sources, targets)
    found = _posterior(cells, 1)
    expected = plain_posterior(sources, targets)
    keys = zip(cells.sentence[cells.row], cells.word[cells.row], cells.position - 1, strict=True)
    wanted = [expected[tuple(map(int, key))] for key in keys]
    assert len(wanted) == len(expected)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(("language", "limit"), [("fr", 0.12), ("zh", 0.20)])
def test_links_of_the_grammar(language, limit):
    pairs = sample("train", 2000, language=language)
    both = align_bidirectional([p.source_words for p in pairs], [p.target_words for p in pairs])
    links = [forward & backward for forward, backward in zip(*both, strict=True)]
    assert grammar_alignment_error_rate(links, pairs).error_rate < limit
    for forward, backward in zip(*both, strict=True):
        assert len({target for _, target in forward}) == len(forward)
        assert len({source for source, _ in backward}) == len(backward)


def test_case_is_ignored():
    pairs = sample("train", 200)
    sources, targets = [p.source_words for p in pairs], [p.target_words for p in pairs]
    upper = [[word.upper() for word in words] for words in sources]
    assert align_words(sources, targets) == align_words(upper, targets)


def test_reversed_sentences_reverse_the_links():
    """The prior prefers the diagonal, but words that always go together overrule it."""
    random = np.random.default_rng(0)
    sources = [[f"s{n}" for n in random.permutation(40)[:6]] for _ in range(400)]
    targets = [[word.replace("s", "t") for word in reversed(words)] for words in sources]
    found = align_words(sources, targets)
    assert found[7] == {(5 - n, n) for n in range(6)}


def test_edges():
    assert align_words([], []) == []
    assert align_words([[], ["a"], []], [["b"], [], []]) == [frozenset()] * 3
    assert align_words([["a"], []], [["b"], ["b"]])[0] == {(0, 0)}
    with pytest.raises(InputError, match="2 source and 1 target"):
        align_words([["a"], ["b"]], [["c"]])
