"""Means with their intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.studies.estimates import Estimate, estimate, share


def test_the_interval_is_students():
    got = estimate([1.0, 2.0, 3.0])  # s = 1, n = 3, t = 4.303
    assert got.mean == 2
    assert got.high - got.mean == pytest.approx(4.303 / math.sqrt(3))
    assert estimate([5.0]) == Estimate(5, 5, 5)


def test_the_interval_contains_the_mean_of_95_percent_of_samples():
    samples = np.random.default_rng(0).normal(3.0, 2.0, (2000, 5))
    inside = [(e := estimate(row)).low <= 3.0 <= e.high for row in samples]
    assert 0.93 < np.mean(inside) < 0.97


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_share_lies_in_its_interval_within_0_and_1(counts):
    hits, total = counts
    got = share(hits, total)
    assert 0 <= got.low <= got.mean <= got.high <= 1
    assert got.low < got.high


def test_overlap():
    assert Estimate(1, 0, 2).overlaps(Estimate(3, 2, 4))
    assert not Estimate(1, 0, 2).overlaps(Estimate(3, 2.1, 4))
