"""Random features: nearer to the softmax the more there are, stable, and blind to the future."""

import pytest
import torch

from regard.attention import Mask, ScaledDot, attend
from regard.attention.mechanisms import kernel_scan
from regard.attention.mechanisms.performer import Performer, orthogonal_directions

F64 = torch.float64
MASKS = {
    "none": None,
    "causal": Mask.causal(),
    "lengths": Mask.lengths([4, 0]),
    "both": Mask.lengths([3, 9]) & Mask.causal(),
}


def heads(n=9, width=6, dtype=F64):
    return [torch.randn(2, 2, n, width, dtype=dtype, requires_grad=True) for _ in range(3)]


@pytest.mark.parametrize("mask", MASKS)
def test_the_estimate_nears_softmax_attention(mask):
    query, key, value = (x.detach() / 2 for x in heads(40, 16))
    exact = attend(query, key, value, score=ScaledDot(), mask=MASKS[mask]).context
    errors = []
    for features in (16, 128, 1024, 8192):
        drawn = [
            Performer(16, features)(query, key, value, mask=MASKS[mask]).context - exact
            for _ in range(6)
        ]
        errors.append(torch.stack(drawn).square().mean().sqrt().item())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 8
    assert errors[-1] < 0.05


@pytest.mark.parametrize("mask", MASKS)
def test_the_context_is_its_maps(mask, monkeypatch):
    monkeypatch.setattr(kernel_scan, "CHUNK", 4)
    monkeypatch.setattr(kernel_scan, "BLOCK", 5)
    performer, (query, key, value) = Performer(6, 20).double(), heads()
    got = performer(query, key, value, mask=MASKS[mask], weights=True)
    from_map = got.weights @ value
    torch.testing.assert_close(got.context, from_map)
    ours, theirs = (
        torch.autograd.grad(x.sin().sum(), (query, key, value), retain_graph=True)
        for x in (got.context, from_map)
    )
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, atol=1e-6, rtol=1e-6)


def test_gradients_are_right_and_reach_through_chunks(monkeypatch):
    monkeypatch.setattr(kernel_scan, "CHUNK", 2)
    performer = Performer(3, 8).double()
    inputs = [torch.randn(1, 1, 5, 3, dtype=F64, requires_grad=True) for _ in range(3)]
    run = lambda *x: performer(*x, mask=Mask.causal()).context  # noqa: E731  # for gradcheck
    assert torch.autograd.gradcheck(run, inputs, atol=1e-5)


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_large_keys_and_queries_neither_overflow_nor_vanish(mask, monkeypatch):
    monkeypatch.setattr(kernel_scan, "CHUNK", 4)
    performer = Performer(16)
    inputs = [(30 * x).detach().requires_grad_() for x in heads(20, 16, torch.float32)]
    got = performer(*inputs, mask=MASKS[mask]).context
    exact = performer.double()(*(x.double() for x in inputs), mask=MASKS[mask]).context
    torch.testing.assert_close(got, exact.float(), rtol=0.02, atol=0.02)
    grads = torch.autograd.grad(got.sum(), inputs)
    assert all(torch.isfinite(grad).all() for grad in grads)


def test_a_word_to_come_changes_nothing_even_in_the_last_bit(monkeypatch):
    """A stabiliser over all keys would let a huge one round the words before it to nothing."""
    monkeypatch.setattr(kernel_scan, "CHUNK", 4)
    performer, inputs = Performer(16), heads(10, 16, torch.float32)
    plain = performer(*inputs, mask=Mask.causal()).context
    with torch.no_grad():
        inputs[1][..., 6:, :] *= 1e3
        inputs[2][..., 6:, :] += 5
    changed = performer(*inputs, mask=Mask.causal()).context
    assert torch.equal(plain[..., :6, :], changed[..., :6, :])
    assert not torch.equal(plain[..., 6:, :], changed[..., 6:, :])


@pytest.mark.parametrize("pieces", [[1] * 9, [4, 1, 4]])
def test_word_by_word(pieces, monkeypatch):
    monkeypatch.setattr(kernel_scan, "CHUNK", 3)
    performer, inputs = Performer(6).double(), heads()
    cache, found = performer.empty(*(x[..., :0, :] for x in inputs[1:])), []
    for q, k, v in zip(*(x.split(pieces, -2) for x in inputs), strict=True):
        attended = performer.decode_step(q, k, v, cache)
        cache = attended.cache.select(torch.tensor([0, 1]))
        found.append(attended.context)
    whole = performer(*inputs, mask=Mask.causal()).context
    torch.testing.assert_close(torch.cat(found, -2), whole)
    assert cache.length == 9


def test_directions_are_orthogonal_pairs_saved_with_the_model():
    directions = orthogonal_directions(20, 5).double()
    torch.testing.assert_close(directions[:10], -directions[10:])
    products = directions[:5] @ directions[:5].T
    torch.testing.assert_close(products, products.diagonal().diag(), atol=1e-5, rtol=0)
    one, other, inputs = Performer(6), Performer(6), heads(dtype=torch.float32)
    assert not torch.equal(one(*inputs).context, other(*inputs).context)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(*inputs).context, other(*inputs).context)


def test_lengths_of_directions_are_those_of_normal_vectors():
    squares = orthogonal_directions(4000, 8).square().sum(-1)
    assert abs(squares.mean() - 8) < 0.4
    assert abs(squares.var() - 16) < 3


def test_other_heads_are_refused():
    with pytest.raises(ValueError, match="width 8"):
        Performer(8)(*heads(dtype=torch.float32))
    with pytest.raises(ValueError, match="features"):
        Performer(8, num_features=0)
