"""Batches: every pair once, never too many tokens, little padding, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.corpus.batches import batches

LENGTHS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=300)


def cost(batch, src, tgt):
    return len(batch) * (max(src[n] for n in batch) + max(tgt[n] for n in batch))


@given(LENGTHS, st.integers(1, 400), st.integers(0, 3), st.integers(0, 3))
def test_every_pair_once_and_within_the_limit(lengths, max_tokens, seed, epoch):
    src, tgt = [source for source, _ in lengths], [target for _, target in lengths]
    made = batches(src, tgt, max_tokens, seed, epoch)
    assert sorted(n for batch in made for n in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or cost(batch, src, tgt) <= max_tokens for batch in made)
    assert made == batches(np.array(src, int), np.array(tgt, int), max_tokens, seed, epoch)


def random_lengths(kind, count):
    random = np.random.default_rng(7)
    src = random.integers(3, 60, count)
    if kind == "independent":
        return src, random.integers(3, 60, count)
    if kind == "one side":
        return src, np.zeros(count, int)
    return src, np.maximum(1, (src * random.normal(1.1, 0.2, count)).astype(int))


@pytest.mark.parametrize("kind", ["translations", "independent", "one side"])
@pytest.mark.parametrize("count", [3000, 20_000])
def test_little_padding(kind, count):
    src, tgt = random_lengths(kind, count)
    made = batches(src, tgt, 2000, 1, 1)
    waste = 1 - (src.sum() + tgt.sum()) / sum(cost(batch, src, tgt) for batch in made)
    assert waste < (0.12 if count == 3000 else 0.06)
    full = (src.sum() + tgt.sum()) / 2000
    assert len(made) < 1.15 * full  # batches are full, too


def test_seed_and_epoch_change_order_and_company():
    src, tgt = random_lengths("translations", 3000)
    first, again, other, seeded = (
        batches(src, tgt, 2000, seed, epoch) for seed, epoch in [(1, 1), (1, 1), (1, 2), (2, 1)]
    )
    assert first == again
    companies = [{frozenset(batch) for batch in made} for made in (first, other, seeded)]
    assert len(companies[0] & companies[1]) < len(first) / 10
    assert len(companies[0] & companies[2]) < len(first) / 10


def test_order_is_not_by_length():
    src, tgt = random_lengths("translations", 5000)
    longest = [max(src[n] for n in batch) for batch in batches(src, tgt, 1000, 0, 0)]
    places = np.arange(len(longest))
    assert abs(np.corrcoef(places, longest)[0, 1]) < 0.2


def test_an_overlong_pair_is_alone():
    made = batches([5, 900, 5, 5], [5, 900, 5, 5], 100, 0, 0)
    assert sorted(map(sorted, made)) == [[0, 2, 3], [1]]


def test_nothing_and_nonsense():
    assert batches([], [], 100, 0, 0) == []
    with pytest.raises(ValueError, match="shapes"):
        batches([1, 2], [1], 100, 0, 0)
    with pytest.raises(ValueError, match="max_tokens"):
        batches([1], [1], 0, 0, 0)
