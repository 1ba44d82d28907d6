"""Masks of dropout: how many elements, independent of each other, the same for the same seed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.dropout import dropout, dropout_stream
from regard.models.fast.training import add_dropout, relu_dropout

SIZES = [(64, 48), (300, 1000), (1500, 2000)]  # the last has several pieces


def dropped(seed, shape, p, dtype=torch.float32):
    """True where ones are dropped, by the first dropout of a stream."""
    with dropout_stream(*seed):
        output = dropout(torch.ones(shape, dtype=dtype), p)
    where = output == 0
    assert torch.equal(output, torch.where(where, 0, torch.tensor(1 / (1 - p), dtype=dtype)))
    return where


@pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("shape", SIZES)
def test_the_share_of_dropped_elements(shape, p):
    share = torch.stack([dropped((seed,), shape, p) for seed in range(8)]).double().mean()
    deviation = (p * (1 - p) / (8 * shape[0] * shape[1])) ** 0.5
    assert abs(float(share) - p) < 8 * deviation  # pieces overlap, so more than independent draws


def test_every_element_is_dropped_as_often():
    shape, p, draws = (40, 30), 0.2, 4000
    counts = sum(dropped((seed,), shape, p).double() for seed in range(draws))
    deviation = (p * (1 - p) * draws) ** 0.5
    assert (counts - p * draws).abs().max() < 5.5 * deviation
    assert counts.std() == pytest.approx(deviation, rel=0.1)


@pytest.mark.parametrize("shape", SIZES)
def test_two_draws_are_independent(shape):
    with dropout_stream(3):
        one, two = (dropout(torch.ones(shape), 0.5).ne(0).double() for _ in range(2))
    for other in (two, one.roll(1, 0), one.roll(1, 1)):  # another draw, rows and columns beside
        matrix = torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))
        assert abs(float(matrix[0, 1])) < 6 / (shape[0] * shape[1]) ** 0.5


@given(st.integers(0, 2**40), st.integers(0, 200), st.floats(0.01, 0.99))
def test_a_stream_depends_on_its_seed_alone(seed, before, p):
    shape = (20, 15)
    first = dropped((seed, 1), shape, p)
    dropped((before,), (7, 9), p)
    assert torch.equal(dropped((seed, 1), shape, p), first)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_drop_the_same_elements(dtype):
    assert torch.equal(dropped((5,), (30, 20), 0.25, dtype), dropped((5,), (30, 20), 0.25))


def test_what_is_fused_is_the_sum_of_its_parts():
    x, output = torch.randn(2, 30, 20, generator=torch.Generator().manual_seed(0))
    with dropout_stream(1):
        fused = add_dropout(x, output, 0.3), relu_dropout(output, 0.3)
    with dropout_stream(1):
        parts = x + dropout(output, 0.3), dropout(output.relu(), 0.3)
    for one, other in zip(fused, parts, strict=True):
        torch.testing.assert_close(one, other)


def test_a_mask_is_not_changed_by_those_who_use_it():
    with dropout_stream(1):
        before = relu_dropout(torch.ones(30, 20, requires_grad=True), 0.3)
        before.sum().backward()
    with dropout_stream(1):
        assert torch.equal(dropout(torch.ones(30, 20), 0.3), before.detach())
