"""Monotonic attention: the parallel form against the recursion, the hard one against a loop."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from regard.attention import Monotonic, dropout_stream
from regard.attention.aligners.monotonic import expected_stop, first_stop, reached

F64 = torch.float64


def recursive(energy, before):
    """q_s = a_s + (1 − p_{s−1}) q_{s−1}, one state after another."""
    stop, stay = torch.sigmoid(energy), torch.sigmoid(-energy)
    chance, result = torch.zeros_like(before[:, 0]), []
    for s in range(energy.shape[1]):
        chance = before[:, s] + (chance * stay[:, s - 1] if s else 0)
        result.append(stop[:, s] * chance)
    return torch.stack(result, 1)


def beginning(batch, states, dtype=F64):
    first = torch.zeros(batch, states, dtype=dtype)
    first[:, 0] = 1
    return first


def nowhere(like):
    return torch.zeros_like(like, dtype=torch.bool)


@given(st.integers(1, 40), st.floats(0.1, 50), st.integers(0, 1000))
def test_the_parallel_form_is_the_recursive_one(states, deviation, seed):
    generator = torch.Generator().manual_seed(seed)
    energy = deviation * torch.randn(3, states, dtype=F64, generator=generator)
    before = torch.rand(3, states, dtype=F64, generator=generator)
    before[0] *= torch.rand(states, generator=generator) > 0.5  # zeros among them
    result = expected_stop(energy, before, nowhere(energy))
    torch.testing.assert_close(result, recursive(energy, before), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("deviation", "most"), [(1, 1e-7), (5, 2e-6), (20, 5e-6)], ids=["mild", "sure", "certain"]
)
def test_its_error_is_what_the_docstring_says(deviation, most):
    """After 60 queries over 400 states; and no larger than that of the recursion in float32."""
    generator = torch.Generator().manual_seed(0)
    energy = deviation * torch.randn(16, 400, generator=generator)
    single, double = beginning(16, 400, torch.float32), beginning(16, 400)
    exact, stepped = double, single
    error = wide_error = recursion_error = 0.0
    for query in range(60):
        now = energy.roll(7 * query, 1) - 0.5 * deviation
        single = expected_stop(now, single, nowhere(now))
        double = expected_stop(now.double(), double, nowhere(now))
        exact, stepped = recursive(now.double(), exact), recursive(now, stepped)
        error = max(error, float((single - exact).abs().max()))
        wide_error = max(wide_error, float((double - exact).abs().max()))
        recursion_error = max(recursion_error, float((stepped - exact).abs().max()))
    assert error < most
    assert error < 1.5 * recursion_error
    assert wide_error < 1e-11


def test_its_gradients_are_exact_where_weights_are_zero():
    log_stay = -torch.rand(2, 5, dtype=F64) * 3
    before = torch.rand(2, 5, dtype=F64)
    inputs = log_stay.requires_grad_(), before.requires_grad_()
    assert gradcheck(reached, inputs)
    before = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]], dtype=F64, requires_grad=True)
    energy = torch.randn(1, 5, dtype=F64, requires_grad=True)
    probe = torch.randn(1, 5, dtype=F64)
    ours = torch.autograd.grad(
        (expected_stop(energy, before, nowhere(energy)) * probe).sum(), (energy, before)
    )
    theirs = torch.autograd.grad((recursive(energy, before) * probe).sum(), (energy, before))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_the_expectation_is_that_of_the_coins():
    """Two queries over five states, thrown 40,000 times."""
    energy = torch.randn(2, 5)
    throws = 40_000
    position = torch.zeros(throws, dtype=torch.long)
    weights = beginning(1, 5, torch.float32)
    for row in energy:
        heads = torch.rand(throws, 5) < torch.sigmoid(row)
        heads &= torch.arange(5) >= position[:, None]
        position = torch.where(heads.any(1), heads.int().argmax(1), 5)
        weights = expected_stop(row[None], weights, nowhere(row[None]))
        counted = torch.bincount(position, minlength=6)[:5] / throws
        torch.testing.assert_close(weights[0], counted, atol=0.01, rtol=0)


@given(st.integers(1, 12), st.integers(0, 500))
def test_the_hard_form_is_a_walk(states, seed):
    generator = torch.Generator().manual_seed(seed)
    length = int(torch.randint(1, states + 1, (), generator=generator))
    absent = torch.arange(states)[None] >= length
    weights, position = beginning(1, states), 0
    for _ in range(4):
        energy = torch.randn(1, states, dtype=F64, generator=generator)
        weights = first_stop(energy, weights, absent)
        position = next((s for s in range(position, length) if energy[0, s] > 0), states)
        expected = torch.zeros(1, states, dtype=F64)
        expected[:, position : position + 1] = 1
        assert torch.equal(weights, expected)


def test_sure_coins_make_the_expectation_hard():
    energy = 60 * torch.randn(8, 9, dtype=F64).sign()
    first = beginning(8, 9)
    soft = expected_stop(energy, first, nowhere(energy))
    torch.testing.assert_close(soft, first_stop(energy, first, nowhere(energy)))


def test_noise_is_for_training_and_follows_the_stream():
    aligner = Monotonic(4, 4, 3)
    memory = aligner.memory(torch.randn(2, 6, 4), torch.tensor([6, 4]))
    query, state = torch.randn(2, 4), aligner.initial_state(memory)

    def look(*seed):
        with dropout_stream(*seed):
            return aligner.align(query, memory, state)[0].weights

    assert torch.equal(look(1), look(1))
    assert not torch.equal(look(1), look(2))
    aligner.eval()
    assert torch.equal(look(1), look(2))
    assert set(look(1).unique().tolist()) <= {0.0, 1.0}
