"""Torch is the judge: its attention functions agree with ours in float64, forward and backward."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from regard.attention import Mask, MultiHead, ScaledDot, attend

F64 = torch.float64
engines = pytest.mark.parametrize("engine", ["auto", "dense", "fused", "blockwise"])


@st.composite
def calls(draw):
    """Query, key, value and a mask tensor, with the odd shapes that break things."""
    batch, heads = draw(st.integers(0, 3)), draw(st.integers(1, 3))
    queries, keys = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    width, value_width = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    torch.manual_seed(draw(st.integers(0, 1000)))
    query = torch.randn(batch, heads, queries, width, dtype=F64)
    key = torch.randn(batch, heads, keys, width, dtype=F64)
    value = torch.randn(batch, heads, keys, value_width, dtype=F64)
    if draw(st.booleans()):  # not contiguous, as heads come out of a projection
        query, key, value = (
            x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, key, value)
        )
    kind = draw(st.sampled_from(["none", "boolean", "all but some rows", "additive"]))
    mask = None
    if kind == "boolean":
        mask = torch.rand(batch, 1, queries, keys) > 0.3
        mask[..., 0] = True
    elif kind == "all but some rows":
        mask = torch.rand(batch, heads, queries, keys) > 0.7
    elif kind == "additive":
        mask = torch.randn(queries, keys, dtype=F64)
    return query, key, value, mask


def grads(output, tensors):
    return torch.autograd.grad(output.sin().sum(), tensors)


@engines
@given(call=calls())
def test_scaled_dot_product_attention(engine, call):
    *tensors, mask = call
    ours = [x.clone().requires_grad_() for x in tensors]
    theirs = [x.clone().requires_grad_() for x in tensors]
    additive = mask is not None and mask.is_floating_point()
    hidden = {"bias": mask} if additive else {"mask": mask}
    got = attend(*ours, score=ScaledDot(), engine=engine, **hidden).context
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    if mask is not None and not additive:  # torch says nothing sure of a row that sees nothing
        expected = torch.where(mask.any(-1, keepdim=True), expected, 0.0)
    torch.testing.assert_close(got, expected)
    if mask is None or additive or bool(mask.any(-1).all()):
        for a, b in zip(grads(got, ours), grads(expected, theirs), strict=True):
            torch.testing.assert_close(a, b)


@engines
@given(call=calls(), poison=st.sampled_from([math.nan, math.inf, -math.inf]))
def test_poison_in_masked_keys_and_values(engine, call, poison):
    query, key, value, _ = call
    lengths = torch.randint(0, key.shape[-2] + 1, (query.shape[0],))
    mask = Mask.lengths(lengths)
    clean = attend(query, key, value, score=ScaledDot(), mask=mask, engine=engine).context
    hidden = (torch.arange(key.shape[-2]) >= lengths[:, None])[:, None, :, None]
    key, value = key.masked_fill(hidden, poison), value.masked_fill(hidden, poison)
    tensors = [x.requires_grad_() for x in (query.clone(), key, value)]
    got = attend(*tensors, score=ScaledDot(), mask=mask, engine=engine).context
    torch.testing.assert_close(got, clean)
    assert all(torch.isfinite(g).all() for g in grads(got, tensors))


@engines
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 5), st.integers(1, 3)),
    widths=st.tuples(st.sampled_from([None, 3]), st.sampled_from([None, 5])),
    kind=st.sampled_from(["none", "padding", "boolean", "per head", "additive"]),
    bias=st.booleans(),
    projections=st.sampled_from(["joint", "separate"]),
)
def test_multihead_attention(engine, sizes, widths, kind, bias, projections):
    batch, queries, keys, heads = sizes
    dim = 2 * heads
    key_dim, value_dim = widths[0] or dim, widths[1] or dim
    torch.manual_seed(batch + queries + keys)
    theirs = torch.nn.MultiheadAttention(
        dim, heads, bias=bias, kdim=widths[0], vdim=widths[1], batch_first=True, dtype=F64
    )
    ours = MultiHead(
        dim,
        heads,
        key_dim=key_dim,
        value_dim=value_dim,
        projections=projections,
        bias=bias,
        engine=engine,
    ).double()
    ours.load_state_dict(theirs.state_dict())
    query = torch.randn(batch, queries, dim, dtype=F64, requires_grad=True)
    key = torch.randn(batch, keys, key_dim, dtype=F64, requires_grad=True)
    value = torch.randn(batch, keys, value_dim, dtype=F64, requires_grad=True)
    given: dict[str, torch.Tensor] = {}
    if kind == "padding":
        given["key_padding_mask"] = torch.arange(keys) >= torch.randint(1, keys + 1, (batch, 1))
    elif kind == "boolean":
        given["attn_mask"] = torch.rand(queries, keys) > 0.6
        given["attn_mask"][:, 0] = False
    elif kind == "per head":
        given["attn_mask"] = torch.rand(batch * heads, queries, keys) > 0.6
        given["attn_mask"][..., 0] = False
    elif kind == "additive":
        given["attn_mask"] = torch.randn(queries, keys, dtype=F64)
    from regard.attention import from_torch_mha

    mask, added = from_torch_mha(**given, num_heads=heads)
    expected, weights = theirs(query, key, value, average_attn_weights=False, **given)
    got = ours(query, key, value, mask=mask, bias=added, weights=True)
    torch.testing.assert_close(got.context, expected)
    torch.testing.assert_close(got.weights, weights)
    for a, b in zip(
        grads(got.context, (query, key, value)), grads(expected, (query, key, value)), strict=True
    ):
        torch.testing.assert_close(a, b)
