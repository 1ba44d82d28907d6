"""The rules that read links from weights of words: entropic links, and all rules by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.alignment import extract_links, rule_links
from regard.alignment.links import MIN_CERTAIN, RULES, entropic_links
from regard.errors import InputError


@st.composite
def weights(draw):
    """Rows of word weights that sum to at most one."""
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows = random.random(shape) ** draw(st.sampled_from([1, 4, 20]))
    return rows / rows.sum(axis=1, keepdims=True) * random.random((shape[0], 1)) ** 0.3


@given(weights())
def test_entropic_links_follow_the_formula(weights_VU):
    found = entropic_links(weights_VU)
    num_sources = weights_VU.shape[1]
    for target, row in enumerate(weights_VU):
        share = row / row.sum()
        entropy = -sum(p * np.log(p) for p in share if p > 0)
        certainty = 1 - entropy / np.log(num_sources) if num_sources > 1 else 1.0
        for source, p in enumerate(share):
            score = p * certainty - MIN_CERTAIN
            if abs(score) > 1e-9 and abs(row.sum() - 0.5) > 1e-5:
                assert ((source, target) in found) == (score > 0 and row.sum() > 0.5)


@given(weights())
def test_rules_have_names(weights_VU):
    assert rule_links(weights_VU, "argmax") == extract_links(weights_VU)
    assert rule_links(weights_VU, "mutual") == extract_links(weights_VU, mutual=True)
    assert rule_links(weights_VU, "entropic") == entropic_links(weights_VU)


def test_a_word_may_have_several_entropic_links_or_none():
    certain, shared, undecided = [1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]
    assert entropic_links(np.array([certain, shared, undecided])) == {(0, 0), (0, 1), (1, 1)}
    assert entropic_links(np.zeros((0, 3))) == entropic_links(np.zeros((2, 3))) == frozenset()


def test_unknown_rules_are_refused():
    with pytest.raises(InputError, match="must be one of argmax, mutual, entropic"):
        rule_links(np.eye(2), "best")
    assert RULES == ("argmax", "mutual", "entropic")
