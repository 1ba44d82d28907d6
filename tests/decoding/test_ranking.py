"""The best of a row: what a stable sort gives, whatever is equal."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.ranking import first_argmax, log_probabilities, top_k
from regard.errors import InputError

FEW = st.sampled_from([0.0, -0.0, 1.0, -1.5, 3e30, 1e-40, -1e-40, float("-inf")])


@given(st.lists(FEW, min_size=1, max_size=30), st.integers(1, 12))
def test_top_k_is_a_stable_sort(row, count):
    rows = torch.tensor([row, row[::-1]])
    values, positions = top_k(rows, count)
    wanted = rows.sort(dim=1, descending=True, stable=True)
    assert torch.equal(values, wanted.values[:, :count])
    known = wanted.values[:, :count] > -torch.inf  # what is impossible has no order
    assert torch.equal(positions[known], wanted.indices[:, :count][known])


@given(st.integers(0, 1000), st.integers(1, 8), st.integers(500, 3000), st.booleans())
def test_top_k_of_many(seed, count, width, rough):
    scores = torch.randn(5, width, generator=torch.Generator().manual_seed(seed))
    scores = scores.bfloat16().float() if rough else scores
    values, positions = top_k(scores, count)
    wanted = scores.sort(dim=1, descending=True, stable=True)
    assert torch.equal(values, wanted.values[:, :count])
    assert torch.equal(positions, wanted.indices[:, :count])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_said_to_be(bad):
    with pytest.raises(InputError, match="NaN or infinite"):
        log_probabilities(torch.tensor([[0.0, 1.0], [0.0, bad]]))


def test_half_precision_is_measured_in_full_and_the_models_scores_are_left_alone():
    logits = torch.randn(3, 500)
    before = logits.clone()
    for given_ in (logits, logits.bfloat16()):
        logs = log_probabilities(given_)
        assert logs.dtype == torch.float32
        assert torch.allclose(logs.exp().sum(1), torch.ones(3), atol=1e-5)
        logs.fill_(0.0)
    assert torch.equal(logits, before)


def test_where_all_is_impossible_nothing_is_probable():
    logs = log_probabilities(torch.tensor([[-torch.inf, -torch.inf], [0.0, -torch.inf]]))
    assert logs.tolist() == [[-torch.inf, -torch.inf], [0.0, -torch.inf]]


@pytest.mark.parametrize("vocab", [3, 64, 130, 640, 1000])
def test_first_argmax_is_the_lowest_of_equal_scores(vocab):
    torch.manual_seed(vocab)
    for rows in (1, 5):
        scores = torch.randint(0, 4, (rows, vocab)).float()  # many ties
        assert torch.equal(first_argmax(scores), top_k(scores, 1)[1][:, 0])
        assert torch.equal(first_argmax(scores.flip(1)), top_k(scores.flip(1), 1)[1][:, 0])
