"""What aligners promise, demanded of every one of them."""

import copy

import pytest
import torch
from torch.autograd import gradcheck

from regard.attention import Additive, Dot, General, Overwrite, SwitchOff, intervene, record
from regard.attention.aligners import (
    Aligner,
    Content,
    Coverage,
    Graves,
    LocationSensitive,
    Monotonic,
)

F64 = torch.float64
B, S, T, DIM, HIDDEN = 4, 6, 5, 4, 3
LENGTHS = torch.tensor([6, 3, 0, 1])
THERE = torch.arange(S) < LENGTHS[:, None]
FAMILY = {
    "content": lambda query, key, hidden: Content(Additive(query, key, hidden)),
    "location": LocationSensitive,
    "coverage": Coverage,
    "graves": lambda query, key, hidden: Graves(query),
    "monotonic": Monotonic,
    "content, dot": lambda *_: Content(Dot()),
    "content, general": lambda query, key, _: Content(General(query, key)),
    "monotonic, expected": lambda *widths: Monotonic(*widths, noise=0.0).train(),
}
every = pytest.mark.parametrize("name", FAMILY)


def made(name, dtype=F64):
    aligner = FAMILY[name](DIM, DIM, HIDDEN).to(dtype)
    return aligner if "expected" in name else aligner.eval()


def inputs(dtype=F64, grad=False):
    states = torch.randn(B, S, DIM, dtype=dtype, requires_grad=grad)
    return torch.randn(T, B, DIM, dtype=dtype, requires_grad=grad), states


def looks(aligner, queries, states, lengths=LENGTHS):
    """Contexts (T, B, D), weights (T, B, S) and the last state."""
    memory = aligner.memory(states, lengths)
    state, contexts, weights = aligner.initial_state(memory), [], []
    for position, query in enumerate(queries):
        attended, state = aligner.align(query, memory, state, offset=position)
        contexts.append(attended.context[:, 0])
        if attended.weights is not None:
            weights.append(attended.weights[:, 0])
    return torch.stack(contexts), torch.stack(weights) if weights else None, state


def observed(aligner, queries, states, lengths=LENGTHS):
    """Contexts, and the weights (T, B, S) that `record` sees."""
    with record(aligner) as recording:
        contexts, _, _ = looks(aligner, queries, states, lengths)
    return contexts, torch.cat([m.weights[:, 0] for m in recording], 1).transpose(0, 1)


@every
def test_weights_are_what_is_declared(name):
    aligner, (queries, states) = made(name), inputs()
    contexts, weights = observed(aligner, queries, states)
    assert isinstance(aligner, Aligner)
    assert contexts.shape == (T, B, DIM)
    assert weights.shape == (T, B, S)
    assert (weights >= 0).all()
    assert (weights[:, ~THERE] == 0).all()
    torch.testing.assert_close(contexts, torch.einsum("tbs,bsd->tbd", weights, states))
    totals = weights.sum(-1)[:, LENGTHS > 0]
    if aligner.sums_to_one:
        torch.testing.assert_close(totals, torch.ones_like(totals))


@every
def test_weights_handed_back_are_those_seen(name):
    aligner, (queries, states) = made(name), inputs()
    _, weights, _ = looks(aligner, queries, states)
    if weights is not None:
        torch.testing.assert_close(weights, observed(aligner, queries, states)[1])


@every
@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_what_is_not_there_cannot_leak(name, poison):
    aligner, (queries, states) = made(name), inputs()
    expected, _, _ = looks(aligner, queries, states)
    dirty = states.masked_fill(~THERE[..., None], poison).requires_grad_()
    contexts, _, _ = looks(aligner, queries, dirty)
    assert torch.equal(contexts, expected)
    contexts.square().sum().backward()
    assert dirty.grad.isfinite().all()
    assert (dirty.grad[~THERE] == 0).all()


@every
def test_nothing_to_look_at_is_exactly_zero(name):
    aligner = made(name)
    queries, states = inputs(grad=True)
    contexts, weights = observed(aligner, queries, states)
    assert (contexts[:, 2] == 0).all()
    assert (weights[:, 2] == 0).all()
    contexts.square().sum().backward()
    assert states.grad.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in aligner.parameters())
    if queries.grad is not None:
        assert queries.grad.isfinite().all()
        assert (queries.grad[:, 2] == 0).all()


@every
def test_a_sentence_does_not_know_its_neighbours(name):
    aligner, (queries, states) = made(name), inputs()
    contexts, _, _ = looks(aligner, queries, states)
    for row in (0, 1, 3):
        length = int(LENGTHS[row])
        alone, _, _ = looks(
            aligner, queries[:, row : row + 1], states[row : row + 1, :length], LENGTHS[[row]]
        )
        torch.testing.assert_close(alone[:, 0], contexts[:, row])


@every
def test_selected_rows_go_on_as_the_rows_would_have(name):
    aligner, (queries, states) = made(name), inputs()
    memory = aligner.memory(states, LENGTHS)
    _, state = aligner.align(queries[0], memory, aligner.initial_state(memory))
    rows = torch.tensor([3, 0, 0, 1, 2])
    expected, after = aligner.align(queries[1], memory, state)
    result, chosen = aligner.align(queries[1][rows], memory.select(rows), state.select(rows))
    torch.testing.assert_close(result.context, expected.context[rows])
    for ours, theirs in zip(vars(chosen).values(), vars(after).values(), strict=True):
        torch.testing.assert_close(ours, theirs[rows])


@every
@torch.no_grad()
def test_a_look_is_pure(name):
    aligner, (queries, states) = made(name), inputs()
    memory = aligner.memory(states, LENGTHS)
    _, state = aligner.align(queries[0], memory, aligner.initial_state(memory))
    before = copy.deepcopy(state)
    first, after = aligner.align(queries[1], memory, state)
    again, same = aligner.align(queries[1], memory, state)
    assert torch.equal(first.context, again.context)
    for x, y in ((state, before), (after, same)):
        assert all(torch.equal(a, vars(y)[key]) for key, a in vars(x).items())


@every
def test_gradients_are_exact(name):
    aligner = made(name)
    queries, states = inputs(grad=True)
    lengths = LENGTHS[[0, 1]]
    parameters = list(aligner.parameters())

    def run(queries, states, *_):
        contexts, _, _ = looks(aligner, queries, states, lengths)
        return contexts.sin()

    few = queries[:3, :2].detach().requires_grad_(), states[:2].detach().requires_grad_()
    assert gradcheck(run, (*few, *parameters), nondet_tol=1e-12)


@every
@pytest.mark.parametrize("size", [1e-3, 30.0, 1e4])
def test_gradients_stay_finite(name, size):
    aligner = made(name, torch.float32)
    queries, states = inputs(torch.float32, grad=True)
    contexts, _, _ = looks(aligner, queries * size, states)
    assert contexts.isfinite().all()
    contexts.square().sum().backward()
    assert states.grad.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in aligner.parameters())


@every
def test_looking_changes_nothing(name):
    aligner, (queries, states) = made(name, torch.float32), inputs(torch.float32)
    blind, _, _ = looks(aligner, queries, states)
    with record(aligner) as recording:
        watched, _, _ = looks(aligner, queries, states)
    assert torch.equal(blind, watched)
    assert [m.rows for m in recording] == [(t,) for t in range(T)]
    assert {(m.kind, m.layer, m.module) for m in recording} == {
        ("cross", 0, type(aligner).__name__)
    }
    with record(aligner, rows=[1, 3]) as some:
        looks(aligner, queries, states)
    for result, position in zip(some, (1, 3), strict=True):
        assert torch.equal(result.weights, recording[position].weights)


@every
def test_it_can_be_switched_off_and_overwritten(name):
    aligner, (queries, states) = made(name), inputs()
    plain, _, _ = looks(aligner, queries, states)
    with intervene(aligner, SwitchOff(kind="cross", batch=1)):
        off, _, _ = looks(aligner, queries, states)
    assert (off[:, 1] == 0).all()
    assert torch.equal(off[:, [0, 2, 3]], plain[:, [0, 2, 3]])
    even = Overwrite(rows=2, weights=[1.0, 1.0, 1.0, 0.0, 0.0, 0.0], renormalize=True, batch=0)
    with intervene(aligner, even):
        changed, _, _ = looks(aligner, queries, states)
    torch.testing.assert_close(changed[2, 0], states[0, :3].mean(0))
    assert torch.equal(changed[[0, 1, 3, 4]], plain[[0, 1, 3, 4]])
    assert torch.equal(changed[2, 1:], plain[2, 1:])


@every
def test_those_that_move_forward_never_look_back(name):
    """Before any place there is never more weight than the query before had there."""
    aligner = made(name)
    if not aligner.moves_forward:
        return
    torch.manual_seed(1)
    queries, states = torch.randn(40, B, DIM, dtype=F64) * 3, torch.randn(B, S, DIM, dtype=F64)
    _, weights = observed(aligner, queries, states)
    before = weights.cumsum(-1)
    assert (before[1:] <= before[:-1] + 1e-12).all()
    assert weights[-1].sum() < weights[0].sum()  # it did move


@every
def test_half_precision_and_autocast(name):
    aligner, (queries, states) = made(name), inputs()
    expected, _, _ = looks(aligner, queries, states)
    single = copy.deepcopy(aligner).float()
    with torch.autocast("cpu", torch.bfloat16):
        result, _, _ = looks(single, queries.float(), states.float())
    half = copy.deepcopy(aligner).bfloat16()
    small, _, _ = looks(half, queries.bfloat16(), states.bfloat16())
    assert small.dtype == torch.bfloat16
    for context in (result, small):
        torch.testing.assert_close(context.double(), expected, atol=0.1, rtol=0.1)
