"""What DESIGN promises of attention, demanded of every score on every engine it declares."""

import math

import pytest
import torch
from torch.autograd import gradcheck

from families import PAIRS, SCORES, WIDTH
from regard.attention import Alibi, Location, Mask, RelativeBias, attend, record
from regard.attention.reference import attend as reference

B, H, Q, K, DV = 2, 3, 5, 7, 3
F64 = torch.float64


def inputs(dtype=F64, q=Q, k=K, dv=DV, grad=True):
    query = torch.randn(B, H, q, WIDTH, dtype=dtype, requires_grad=grad)
    key = torch.randn(B, H, k, WIDTH, dtype=dtype, requires_grad=grad)
    value = torch.randn(B, H, k, dv, dtype=dtype, requires_grad=grad)
    return query, key, value


def made(name, dtype=F64):
    return SCORES[name]().to(dtype)


pairs = pytest.mark.parametrize(("name", "engine"), PAIRS, ids=lambda x: str(x))


@pairs
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_engine_gives_the_answer_and_the_gradients_of_the_reference(name, engine, masked, biased):
    score, (query, key, value) = made(name), inputs()
    keep = torch.rand(B, 1, Q, K) > 0.4 if masked else None
    bias = torch.randn(H, Q, K, dtype=F64) if biased else None
    arguments = {"score": score, "mask": keep, "bias": bias}
    got = attend(query, key, value, **arguments, engine=engine, weights=True)
    context, weights, total = reference(query, key, value, **arguments)
    torch.testing.assert_close(got.context, context)
    torch.testing.assert_close(got.weights, weights)
    torch.testing.assert_close(got.logsumexp, total)
    wanted = (query, key, value, *score.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(got.context.sin().sum(), wanted, allow_unused=True),
        torch.autograd.grad(context.sin().sum(), wanted, allow_unused=True),
    )


@pairs
def test_gradients_are_exact(name, engine):
    score = Location(WIDTH, 6).to(F64) if name == "location" else made(name)  # few parameters
    query, key, value = (x[:1, :1].detach().requires_grad_() for x in inputs(q=3, k=4))
    mask = Mask.causal(1) & Mask.lengths([3])
    bias = torch.randn(1, 3, 4, dtype=F64)
    parameters = list(score.parameters())

    def run(*tensors):
        q, k, v, *_ = tensors
        got = attend(q, k, v, score=score, mask=mask, bias=bias, engine=engine)
        return got.context, got.logsumexp

    assert gradcheck(run, (query, key, value, *parameters), fast_mode=False)


@pairs
def test_a_row_that_sees_nothing_is_exactly_zero(name, engine):
    score, (query, key, value) = made(name), inputs()
    keep = torch.rand(B, H, Q, K) > 0.5
    keep[0, 1, 2] = False
    keep[1] = False
    got = attend(query, key, value, score=score, mask=keep, engine=engine, weights=True)
    empty = ~keep.any(-1)
    assert (got.context[empty] == 0).all()
    assert (got.weights[empty] == 0).all()
    assert (got.logsumexp[empty] == -math.inf).all()
    context, weights, total = reference(query, key, value, score=score, mask=keep)
    assert (context[empty] == 0).all() and (weights[empty] == 0).all()
    torch.testing.assert_close((got.context, got.weights, got.logsumexp), (context, weights, total))
    got.context.square().sum().backward()
    for x in (query, key, value):
        if x.grad is not None:
            assert torch.isfinite(x.grad).all()
    if query.grad is not None:
        assert (query.grad[empty] == 0).all()
    assert (value.grad[1] == 0).all()


@pairs
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_what_a_mask_hides_cannot_leak(name, engine, poison):
    """Causal with padding: key 5 is hidden from all, key 4 from the first queries only."""
    score = made(name)
    query, key, value = inputs(q=6, k=6, grad=False)
    mask = Mask.causal() & Mask.lengths([5, 5])
    clean = [x.clone().requires_grad_() for x in (query, key, value)]
    expected = attend(*clean, score=score, mask=mask, engine=engine)
    expected.context[:, :, :4].square().sum().backward()
    key[:, :, 4:] = poison
    value[:, :, 4:] = poison
    query[:, :, 5] = poison  # sees poison anyway
    dirty = [x.clone().requires_grad_() for x in (query, key, value)]
    got = attend(*dirty, score=score, mask=mask, engine=engine, weights=True)
    torch.testing.assert_close(got.context[:, :, :4], expected.context[:, :, :4])
    assert torch.isfinite(got.weights[:, :, :4]).all()
    assert torch.isnan(got.context[:, :, 4:]).all()
    got.context[:, :, :4].square().sum().backward()
    judged = [x.clone().requires_grad_() for x in (query, key, value)]
    context, weights, _ = reference(*judged, score=score, mask=mask)
    torch.testing.assert_close(got.context, context, equal_nan=True)
    torch.testing.assert_close(got.weights, weights, equal_nan=True)
    context[:, :, :4].square().sum().backward()
    for ours, theirs in zip(dirty, judged, strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    for ours, theirs in zip(dirty, clean, strict=True):
        if theirs.grad is not None:
            torch.testing.assert_close(ours.grad[:, :, :4], theirs.grad[:, :, :4])
            assert (ours.grad[:, :, 4:] == 0).all()


@pairs
def test_looking_never_changes_the_answer(name, engine):
    score = made(name, torch.float32)
    query, key, value = inputs(torch.float32, q=33, k=65, grad=False)
    arguments = {"score": score, "mask": Mask.causal(20), "engine": engine}
    blind = attend(query, key, value, **arguments).context
    asked = attend(query, key, value, **arguments, weights=True)
    assert torch.equal(blind, asked.context)
    with record() as recording:
        watched = attend(query, key, value, **arguments).context
    assert torch.equal(blind, watched)
    torch.testing.assert_close(recording[0].weights, asked.weights)
    with record(heads=[2], rows=[0, 31]) as some:
        attend(query, key, value, **arguments)
    torch.testing.assert_close(some[0].weights, asked.weights[:, 2:, [0, 31]])


@pairs
def test_half_precision_sums_in_float32(name, engine):
    score = made(name, torch.bfloat16)
    exact = made(name)
    exact.load_state_dict(score.state_dict())
    query, key, value = inputs(torch.bfloat16, q=9, k=300, grad=False)
    value = value + 1
    got = attend(query, key, value, score=score, engine=engine, weights=True)
    wanted, weights, _ = reference(query.double(), key.double(), value.double(), score=exact)
    assert got.context.dtype == got.weights.dtype == torch.bfloat16
    projected = any(True for _ in score.parameters())  # a projection rounds before the sums do
    assert (got.context.double() - wanted).abs().max() < (0.05 if projected else 0.01)
    assert (got.weights.double() - weights).abs().max() < (0.02 if projected else 0.004)


@pairs
@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 2, 3)])
def test_any_number_of_leading_dimensions(name, engine, shape):
    score = made(name)
    query = torch.randn(*shape, Q, WIDTH, dtype=F64)
    key = torch.randn(*shape, K, WIDTH, dtype=F64)
    value = torch.randn(*shape, K, DV, dtype=F64)
    got = attend(query, key, value, score=score, mask=Mask.window(2, 3), engine=engine)
    keep = Mask.window(2, 3).tensor(Q, K)
    torch.testing.assert_close(got.context, reference(query, key, value, score=score, mask=keep)[0])


@pairs
def test_grouped_heads_equal_repeated_ones(name, engine):
    score = made(name)
    query = torch.randn(B, 6, Q, WIDTH, dtype=F64)
    key, value = torch.randn(B, 2, K, WIDTH, dtype=F64), torch.randn(B, 2, K, DV, dtype=F64)
    got = attend(query, key, value, score=score, engine=engine, weights=True)
    repeated = [x.repeat_interleave(3, dim=1) for x in (key, value)]
    expected = attend(query, *repeated, score=score, engine=engine, weights=True)
    for other in (expected, reference(query, key, value, score=score)):
        context, weights = other[:2] if isinstance(other, tuple) else other
        torch.testing.assert_close(got.context, context)
        torch.testing.assert_close(got.weights, weights)
    torch.testing.assert_close(got.logsumexp, expected.logsumexp)


@pairs
def test_no_keys_and_no_queries(name, engine):
    score = made(name)
    for q, k in ((3, 0), (0, 3), (0, 0)):
        query, key, value = inputs(q=q, k=k)
        got = attend(query, key, value, score=score, engine=engine, weights=True)
        assert got.context.shape == (B, H, q, DV)
        assert got.weights.shape == (B, H, q, k)
        assert (got.context == 0).all() or k
        assert got.logsumexp.shape == (B, H, q)


@pairs
def test_one_query_given_broadcast_keys(name, engine):
    score = made(name)
    query = torch.randn(B, Q, WIDTH, dtype=F64)
    key, value = torch.randn(K, WIDTH, dtype=F64), torch.randn(K, DV, dtype=F64)
    got = attend(query, key, value, score=score, engine=engine).context
    every = [x.expand(B, *x.shape) for x in (key, value)]
    torch.testing.assert_close(got, reference(query, *every, score=score)[0])


@pairs
@pytest.mark.parametrize(
    "bias", [Alibi(H), RelativeBias(H, num_buckets=8, max_distance=6)], ids=str
)
def test_position_biases_on_every_engine(name, engine, bias):
    score, (query, key, value) = made(name), inputs()
    bias = bias.to(F64)
    got = attend(query, key, value, score=score, bias=bias.at(2), engine=engine)
    distance = torch.arange(K)[None, :] - (torch.arange(Q)[:, None] + 2)
    expected = reference(query, key, value, score=score, bias=bias(distance))[0]
    torch.testing.assert_close(got.context, expected)
    if list(bias.parameters()):
        ours = torch.autograd.grad(got.context.sin().sum(), list(bias.parameters()))
        theirs = torch.autograd.grad(expected.sin().sum(), list(bias.parameters()))
        torch.testing.assert_close(ours, theirs)


@pairs
def test_dropout_keeps_the_mean_and_the_weights(name, engine):
    score, (query, key, value) = made(name), inputs(grad=False)
    plain = attend(query, key, value, score=score, engine=engine, weights=True)
    arguments = {"score": score, "engine": engine, "dropout": 0.5, "weights": True}
    many = (x.expand(300, *x.shape) for x in (query, key, value))
    runs = attend(*many, **arguments)
    torch.testing.assert_close(runs.weights, plain.weights.expand_as(runs.weights))
    assert not torch.equal(runs.context[0], runs.context[1])
    assert (runs.context.mean(0) - plain.context).abs().max() < 0.5
    torch.manual_seed(5)
    first = attend(query, key, value, **arguments).context
    torch.manual_seed(5)
    assert torch.equal(first, attend(query, key, value, **arguments).context)


@pairs
def test_dropout_gradient_belongs_to_the_same_draw(name, engine):
    """Linear in the values: the derivative along a direction is the output of that direction."""
    score, (query, key, value) = made(name), inputs()
    other = torch.randn_like(value)

    def run(v):
        torch.manual_seed(3)
        return attend(query, key, v, score=score, engine=engine, dropout=0.3).context

    (grad,) = torch.autograd.grad(run(value).sum(), value)
    torch.testing.assert_close((grad * other).sum(), run(other).sum())


def test_purity():
    """Inputs are not written to, and nothing stays on the score."""
    for name, engine in PAIRS:
        score, tensors = made(name), inputs()
        before = [x.detach().clone() for x in tensors]
        state = dict(vars(score))
        attend(*tensors, score=score, mask=Mask.causal(), engine=engine, weights=True)
        assert all(torch.equal(a, b) for a, b in zip(before, tensors, strict=True))
        assert dict(vars(score)) == state


def test_auto_picks_by_the_call_alone():
    query, key, value = inputs(grad=False)
    for name in SCORES:
        score = made(name)
        auto = attend(query, key, value, score=score).context
        assert torch.equal(auto, attend(query, key, value, score=score, weights=True).context)


def test_without_a_score_it_is_the_scaled_dot_product_and_unpacks():
    query, key, value = inputs(grad=False)
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    context, weights = attend(query, key, value)
    torch.testing.assert_close(context, expected)
    assert weights is None
    context, weights = attend(query, key, value, weights=True)
    torch.testing.assert_close(weights @ value, expected)
