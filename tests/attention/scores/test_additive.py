"""Additive attention's tiled kernel, at sizes that do and do not divide its tiles."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from regard.attention import Additive, Mask, attend
from regard.attention.engines import blockwise
from regard.attention.scores import additive as kernel

F64 = torch.float64


def concatenated(score, query, key):
    """v·tanh(W [k; q]), the form in which Bahdanau's alignment model is often written."""
    joined = torch.cat([score.key_proj.weight, score.query_proj.weight], dim=1)
    pairs = torch.cat(
        [
            key[..., None, :, :].expand(*query.shape[:-1], *key.shape[-2:]),
            query[..., :, None, :].expand(*query.shape[:-1], key.shape[-2], query.shape[-1]),
        ],
        dim=-1,
    )
    return torch.tanh(pairs @ joined.T) @ score.v


def test_equals_the_concatenated_form():
    score = Additive(3, 5, 7).double()
    query, key = torch.randn(2, 4, 3, dtype=F64), torch.randn(2, 6, 5, dtype=F64)
    torch.testing.assert_close(score(query, key), concatenated(score, query, key))


def test_parameter_names():
    shapes = {name: tuple(p.shape) for name, p in Additive(3, 5, 7).named_parameters()}
    assert shapes == {"v": (7,), "query_proj.weight": (7, 3), "key_proj.weight": (7, 5)}


@given(
    lead=st.sampled_from([(), (1,), (3,), (2, 2)]),
    queries=st.integers(1, 9),
    keys=st.integers(1, 9),
    hidden=st.integers(1, 5),
    room=st.sampled_from([1, 7, 16, 64, 1000]),
    tile=st.sampled_from([1, 5, 12, 1000]),
)
def test_blockwise_backward_equals_the_dense_one(lead, queries, keys, hidden, room, tile):
    """Tiny tiles, so that the borders of every loop are crossed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "CACHE_ELEMENTS", room)
        patch.setattr(blockwise, "TILE_SCORES", tile)
        patch.setattr(blockwise, "TILE_KEYS", 4)
        score = Additive(2, 3, hidden).double()
        tensors = [
            torch.randn(*lead, queries, 2, dtype=F64, requires_grad=True),
            torch.randn(*lead, keys, 3, dtype=F64, requires_grad=True),
            torch.randn(*lead, keys, 2, dtype=F64, requires_grad=True),
        ]
        keep = torch.rand(queries, keys) > 0.3
        found = []
        for engine in ("dense", "blockwise"):
            got = attend(*tensors, score=score, mask=keep, engine=engine)
            alive = got.logsumexp[..., keep.any(-1)].sum()
            wanted = (got.context.sin().sum() + alive, (*tensors, *score.parameters()))
            found.append(torch.autograd.grad(*wanted))
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b)


def test_gradcheck_of_the_kernel_alone():
    query, key = (torch.randn(2, n, 3, dtype=F64, requires_grad=True) for n in (4, 5))
    v = torch.randn(3, dtype=F64, requires_grad=True)

    def run(q, k, w):
        return kernel.PreparedAdditive(q, k, w).tile(slice(0, 4), slice(0, 5))

    assert gradcheck(run, (query, key, v))


def test_weights_asked_for_can_be_learned_from():
    """A loss on the map itself, without the (Q, K, H) tensor."""
    score = Additive(4, 4, 6).double()
    query, key = (torch.randn(2, 5, 4, dtype=F64, requires_grad=True) for _ in range(2))
    losses = []
    for engine in ("dense", "blockwise"):
        weights = attend(query, key, key, score=score, engine=engine, weights=True).weights
        losses.append(torch.autograd.grad(weights[..., 0].log().sum(), list(score.parameters())))
    for a, b in zip(*losses, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("engine", ["auto", "dense", "blockwise"])
def test_keys_projected_once(engine):
    score = Additive(3, 5, 7).double()
    query, key = torch.randn(2, 1, 3, dtype=F64), torch.randn(2, 6, 5, dtype=F64)
    mask = Mask.lengths([6, 3])
    expected = attend(query, key, key, score=score, mask=mask, engine=engine).context
    projected = score.key_proj(key)
    got = attend(query, projected, key, score=score.on_projected(), mask=mask, engine=engine)
    torch.testing.assert_close(got.context, expected)


@pytest.mark.parametrize("engine", ["auto", "dense", "blockwise"])
def test_gradients_of_one_query(engine):
    score = Additive(3, 4, 5).double()
    query = torch.randn(2, 1, 3, dtype=F64, requires_grad=True)
    key = torch.randn(2, 4, 4, dtype=F64, requires_grad=True)

    def run(q, k, *_):
        got = attend(q, k, k, score=score, mask=Mask.lengths([4, 2]), engine=engine)
        return got.context, got.logsumexp

    assert gradcheck(run, (query, key, *score.parameters()))


@pytest.mark.parametrize("engine", ["auto", "dense", "blockwise"])
@pytest.mark.parametrize("keys", [(2, 6), (6,)])
def test_one_query_without_gradients(engine, keys):
    """The decoder's step adds in place; keys, weights and logsumexp are as ever."""
    score = Additive(3, 5, 7).double()
    query, key = torch.randn(2, 1, 3, dtype=F64), torch.randn(*keys, 5, dtype=F64)
    before = key.clone()
    expected = attend(query, key, key, score=score, weights=True, engine="dense")
    with torch.no_grad():
        got = attend(query, key, key, score=score, weights=True, engine=engine)
        again = attend(query, key, key, score=score, engine=engine)
    assert torch.equal(key, before)
    torch.testing.assert_close(got.context, expected.context)
    torch.testing.assert_close(got.weights, expected.weights)
    torch.testing.assert_close(again.logsumexp, expected.logsumexp)


def test_saturated_tanh_stays_exact():
    """Projections of ±1000 end in tanh's flat parts; nothing overflows."""
    query = torch.tensor([[[1000.0, -1000.0]]], dtype=F64)
    key = torch.tensor([[[0.0, 0.0], [-1000.0, 1000.0]]], dtype=F64)
    form = kernel.PreparedAdditive(query, key, torch.tensor([1.0, 2.0], dtype=F64))
    assert form.tile(slice(0, 1), slice(0, 2)).tolist() == [[[-1.0, 0.0]]]
