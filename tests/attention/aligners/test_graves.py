"""Graves' window: the formula, its gradient, and that it never goes back."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import intervene, record
from regard.attention.aligners.graves import Graves, GravesState
from regard.attention.inspection.edit import SwitchOff


def memory_of(aligner: Graves, batch: int = 3, length: int = 6, dim: int = 4):
    torch.manual_seed(1)
    states = torch.randn(batch, length, dim, dtype=aligner.window.weight.dtype)
    return aligner.memory(states, torch.tensor([length, length - 2, 1][:batch]))


def test_is_the_written_formula():
    torch.manual_seed(0)
    aligner = Graves(5, 3, stride=0.7).double()
    torch.nn.init.normal_(aligner.window.weight)
    memory = memory_of(aligner)
    query = torch.randn(3, 5, dtype=torch.float64)
    before = torch.rand(3, 3, dtype=torch.float64) * 4
    attended, after = aligner.align(query, memory, GravesState(before))
    weight, bias = aligner.window.weight.tolist(), aligner.window.bias.tolist()
    for b in range(3):
        p = [
            sum(w * h for w, h in zip(row, query[b].tolist(), strict=True)) + c
            for row, c in zip(weight, bias, strict=True)
        ]
        kappa = [before[b, k].item() + 0.7 * math.exp(p[6 + k]) for k in range(3)]
        assert torch.allclose(after.kappa[b], torch.tensor(kappa, dtype=torch.float64))
        for u in range(6):
            phi = sum(
                math.exp(p[k]) * math.exp(-math.exp(p[3 + k]) * (kappa[k] - (u + 1)) ** 2)
                for k in range(3)
            )
            wanted = phi if u < memory.lengths[b] else 0.0
            assert attended.weights[b, 0, u].item() == pytest.approx(wanted, abs=1e-12)
    context = torch.einsum("bu,bud->bd", attended.weights[:, 0], memory.values)
    assert torch.allclose(attended.context[:, 0], context)


@pytest.mark.parametrize("normalize", [False, True])
def test_gradients_are_exact(normalize):
    torch.manual_seed(0)
    aligner = Graves(4, 2, stride=0.5, normalize=normalize).double()
    torch.nn.init.normal_(aligner.window.weight)
    lengths = torch.tensor([5, 3])

    def two_looks(query, states, kappa, weight):
        with torch.nn.utils.parametrize.cached():
            memory = aligner.memory(states, lengths)
            named = {"window.weight": weight, "window.bias": aligner.window.bias}
            one, state = torch.func.functional_call(
                aligner, named, (query, memory, GravesState(kappa))
            )
            two, state = torch.func.functional_call(aligner, named, (query * 2, memory, state))
            return one.context, two.context, state.kappa

    def random(*size):
        return torch.randn(*size, dtype=torch.float64, requires_grad=True)

    kappa = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)
    weight = aligner.window.weight.detach().requires_grad_()
    assert torch.autograd.gradcheck(two_looks, (random(2, 4), random(2, 5, 3), kappa, weight))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 3.0), st.booleans())
def test_only_moves_forward_and_sees_only_what_is_there(seed, stride, normalize):
    torch.manual_seed(seed)
    aligner = Graves(4, 3, stride=stride, normalize=normalize)
    torch.nn.init.normal_(aligner.window.weight, std=2.0)
    memory = memory_of(aligner)
    state = aligner.initial_state(memory)
    for _ in range(8):
        attended, after = aligner.align(torch.randn(3, 4) * 3, memory, state)
        assert (after.kappa >= state.kappa).all()
        assert (attended.weights[1, 0, 4:] == 0).all()
        assert (attended.weights >= 0).all() and attended.context.isfinite().all()
        if normalize:
            assert torch.allclose(attended.weights.sum(-1), torch.ones(3, 1), atol=1e-5)
        state = after


def test_what_is_not_there_never_comes_through():
    aligner = Graves(4)
    states = torch.randn(2, 5, 3)
    states[1, 2:] = math.nan
    memory = aligner.memory(states, torch.tensor([5, 2]))
    attended, _ = aligner.align(torch.randn(2, 4), memory, aligner.initial_state(memory))
    assert attended.context.isfinite().all()


def test_far_beyond_the_end_the_gradient_is_finite():
    aligner = Graves(4, normalize=True)
    memory = memory_of(aligner)
    query = (torch.randn(3, 4) * 1e6).requires_grad_()
    attended, _ = aligner.align(query, memory, GravesState(torch.full((3, 5), 1e4)))
    attended.context.sum().backward()
    assert query.grad is not None and query.grad.isfinite().all()


def test_can_be_looked_at_and_switched_off():
    aligner = Graves(4)
    memory = memory_of(aligner)
    query = torch.randn(3, 4)
    plain, _ = aligner.align(query, memory, aligner.initial_state(memory), offset=7)
    with record(aligner) as recording:
        observed, _ = aligner.align(query, memory, aligner.initial_state(memory), offset=7)
    assert torch.equal(plain.context, observed.context)
    assert recording[0].kind == "cross" and recording[0].rows == (7,)
    assert torch.equal(recording[0].weights[:, 0], plain.weights)
    with intervene(aligner, SwitchOff(kind="cross", heads=0)):
        off, _ = aligner.align(query, memory, aligner.initial_state(memory))
    assert (off.context == 0).all()


def test_rows_are_reordered_with_the_beam():
    aligner = Graves(4)
    memory = memory_of(aligner)
    _, state = aligner.align(torch.randn(3, 4), memory, aligner.initial_state(memory))
    chosen = state.select(torch.tensor([2, 0]))
    assert torch.equal(chosen.kappa, state.kappa[[2, 0]])


@pytest.mark.parametrize("name", ["components", "stride"])
def test_says_what_cannot_be(name):
    with pytest.raises(ValueError, match=name):
        Graves(4, **{name: 0})
