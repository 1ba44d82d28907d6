"""Sparsemax and 1.5-entmax: the `entmax` package, the conditions of optimality, and the edges."""

import math

import entmax as outside
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from regard.attention import entmax15, sparsemax

F64 = torch.float64
PEERS = {"sparsemax": (sparsemax, outside.sparsemax), "entmax15": (entmax15, outside.entmax15)}
ours = pytest.mark.parametrize("function", [sparsemax, entmax15])


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("dtype", [torch.float32, F64])
@pytest.mark.parametrize("spread", [1e-3, 0.1, 1.0, 10.0])
def test_agrees_with_the_package(name, dtype, spread):
    mine, theirs = PEERS[name]
    for keys in (1, 2, 3, 10, 100, 1000):
        scores = spread * torch.randn(7, keys, dtype=dtype)
        pull = torch.randn(7, keys, dtype=dtype)
        results = []
        for function in (mine, theirs):
            leaf = scores.clone().requires_grad_()
            weights = function(leaf) if function is mine else function(leaf, dim=-1)
            (grad,) = torch.autograd.grad((weights * pull).sum(), leaf)
            results.append((weights.detach(), grad))
        for own, other in zip(*results, strict=True):
            assert (own - other).abs().max() < 1e-5
        assert torch.equal(results[0][0] > 0, results[1][0] > 0) or dtype is not F64


@ours
@given(row=st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=12))
def test_conditions_of_optimality(function, row):
    """In the support the slope of the objective is one number τ, outside it is not above it."""
    scores = torch.tensor(row, dtype=F64)
    weights = function(scores)
    assert (weights >= 0).all() and abs(weights.sum().item() - 1) < 1e-9
    slope = scores - weights if function is sparsemax else scores / 2 - weights.sqrt()
    inside = slope[weights > 0]
    assert (inside - inside[0]).abs().max() < 1e-6
    assert (slope[weights == 0] <= inside[0] + 1e-6).all()


@ours
def test_gradients_to_the_second_order(function):
    scores = (torch.randn(4, 6, dtype=F64) / 2).requires_grad_()
    weights = function(scores)
    assert (weights == 0).any() and (weights > 0).sum() > 8
    assert gradcheck(function, scores)
    assert gradgradcheck(function, scores)


@ours
def test_order_and_constants_do_not_matter(function):
    scores = torch.randn(3, 9, dtype=F64)
    order = torch.randperm(9)
    torch.testing.assert_close(function(scores[:, order]), function(scores)[:, order])
    torch.testing.assert_close(function(scores + 17.5), function(scores))


@ours
def test_huge_scores_and_minus_infinity(function):
    largest = torch.finfo(torch.float32).max
    scores = torch.tensor([[largest, -largest, largest], [-math.inf, -1e30, -math.inf]])
    scores.requires_grad_()
    weights = function(scores)
    torch.testing.assert_close(weights, torch.tensor([[0.5, 0, 0.5], [0, 1, 0]]))
    assert ((weights == 0) == torch.tensor([[0, 1, 0], [1, 0, 1]]).bool()).all()
    (weights * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert (scores.grad[1] == 0).all() and scores.grad[0, 1] == 0
    far = torch.tensor([0.0, 0.3, -1e8, -math.inf])
    assert torch.equal(function(far)[:2], function(far[:2]))


@ours
def test_many_keys_keep_their_sum(function):
    scores = torch.rand(2, 200_000) * 1e-4  # the support is wide
    weights = function(scores)
    torch.testing.assert_close(
        weights.double().sum(-1), torch.ones(2, dtype=F64), rtol=1e-3, atol=0
    )
    torch.testing.assert_close(weights, function(scores.double()).float(), rtol=1e-3, atol=1e-8)


@ours
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32(function, dtype):
    scores = (torch.randn(5, 400) / 4).to(dtype).requires_grad_()
    weights = function(scores)
    exact = function(scores.double())
    assert weights.dtype == dtype
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(weights.double(), exact, rtol=eps, atol=1e-7)
    (grad,) = torch.autograd.grad(weights.float().square().sum(), scores)
    assert grad.dtype == dtype and torch.isfinite(grad).all()


@ours
def test_no_key_and_one(function):
    assert function(torch.zeros(3, 0)).shape == (3, 0)
    assert function(torch.tensor([[-7.0], [3.0]])).tolist() == [[1.0], [1.0]]
    assert function(torch.zeros(0, 4)).shape == (0, 4)


@ours
def test_nan_is_not_hidden(function):
    assert torch.isnan(function(torch.tensor([1.0, math.nan, 0.0]))).all()


@ours
def test_torch_func(function):
    """Mapped over rows, and its Jacobian: symmetric, of rows that sum to zero."""
    scores = torch.randn(4, 5, dtype=F64)
    torch.testing.assert_close(torch.func.vmap(function)(scores), function(scores))
    jacobian = torch.func.vmap(torch.func.jacrev(function))(scores)
    torch.testing.assert_close(jacobian, jacobian.mT)
    torch.testing.assert_close(jacobian.sum(-1), torch.zeros(4, 5, dtype=F64))
