"""Alignment error rate: an example by hand, and edge cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.corpus.grammar import seed_sentences
from regard.errors import InputError
from regard.evaluation import alignment_error_rate
from regard.evaluation.aer import grammar_alignment_error_rate

LINKS = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)))


def test_by_hand():
    # First sentence: A has 4 links, 2 sure (0-0, 1-1), 1 possible (2-3), 1 wrong (3-3); S has 3.
    # Second: A has 1, sure; S has 2.
    # |A| = 5, |S| = 5, |A ∩ S| = 3, |A ∩ P| = 4: AER = 1 - 7/10.
    sure = [{(0, 0), (1, 1), (2, 2)}, {(0, 1), (1, 0)}]
    possible = [{(2, 3)}, {(1, 1)}]
    predicted = [{(0, 0), (1, 1), (2, 3), (3, 3)}, {(0, 1)}]
    scores = alignment_error_rate(predicted, sure, possible)
    assert scores.error_rate == pytest.approx(0.3)
    assert scores.precision == pytest.approx(4 / 5)
    assert scores.recall == pytest.approx(3 / 5)
    assert (scores.predicted, scores.sure) == (5, 5)


@given(LINKS, LINKS, LINKS)
def test_nothing_wrong_from_sure_to_possible(sure, possible, some):
    between = sure | (possible & some)
    assert alignment_error_rate([between], [sure], [possible]).error_rate == pytest.approx(0)


@given(LINKS, LINKS)
def test_without_possible_links_it_is_one_minus_f(predicted, sure):
    scores = alignment_error_rate([predicted], [sure])
    if predicted and sure and predicted & sure:
        f1 = 2 / (1 / scores.precision + 1 / scores.recall)
        assert scores.error_rate == pytest.approx(1 - f1)
    assert 0 <= scores.error_rate <= 1


def test_edges():
    assert alignment_error_rate([], []).error_rate == 0
    nothing = alignment_error_rate([set()], [{(0, 0)}])
    assert (nothing.error_rate, nothing.precision, nothing.recall) == (1, 1, 0)
    with pytest.raises(InputError, match="for 1 sentences, sure ones for 2"):
        alignment_error_rate([set()], [set(), set()])


def test_grammar_s_gold():
    pairs = seed_sentences("zh")
    sure = [{link[:2] for link in pair.links if link.sure} for pair in pairs]
    every = [{link[:2] for link in pair.links} for pair in pairs]
    assert grammar_alignment_error_rate(sure, pairs).error_rate == 0
    assert grammar_alignment_error_rate(every, pairs).error_rate == 0
    turned = [{(target, source) for source, target in links} for links in sure]
    assert grammar_alignment_error_rate(turned, pairs).error_rate > 0.3
