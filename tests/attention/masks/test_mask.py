"""The mask as a value: rules, combinations, tiles, and other libraries' conventions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import (
    Mask,
    ScaledDot,
    attend,
    from_keras,
    from_onnx,
    from_torch_mha,
    from_torch_sdpa,
    masked_softmax,
    to_keras,
    to_onnx,
    to_torch_mha,
    to_torch_sdpa,
)
from regard.attention.engines.tile import Tile

B, H, Q, K = 2, 3, 5, 6
CPU = torch.device("cpu")


def rule(mask):
    """The mask spelled out entry by entry, (B, H, Q, K)."""
    return mask.tensor(Q, K, batch=(B, H)).expand(B, H, Q, K)


def entries(seen):
    """A tensor (B, H, Q, K) of a rule seen(b, q, k)."""
    return torch.tensor(
        [
            [[[seen(b, q, k) for k in range(K)] for q in range(Q)] for _ in range(H)]
            for b in range(B)
        ]
    )


IDS = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 2, 2]])
KEY_IDS = torch.tensor([[0, 0, 0, 1, 1, 2], [2, 2, 1, 1, 0, 0]])
MASKS = {
    "lengths": (Mask.lengths([6, 2]), lambda b, q, k: k < [6, 2][b]),
    "lengths per query": (
        Mask.lengths(torch.tensor([[0, 1, 2, 3, 4], [6, 5, 4, 3, 2]])),
        lambda b, q, k: k < [[0, 1, 2, 3, 4], [6, 5, 4, 3, 2]][b][q],
    ),
    "one length": (Mask.lengths(4), lambda b, q, k: k < 4),
    "causal": (Mask.causal(), lambda b, q, k: k <= q),
    "causal offset": (Mask.causal(-2), lambda b, q, k: k <= q - 2),
    "causal per sentence": (
        Mask.causal(torch.tensor([0, 3])),
        lambda b, q, k: k <= q + [0, 3][b],
    ),
    "bottom right": (Mask.causal(corner="bottom-right"), lambda b, q, k: k <= q + K - Q),
    "top left": (Mask.causal(corner="top-left"), lambda b, q, k: k <= q),
    "window": (Mask.window(1, 2), lambda b, q, k: q - 1 <= k <= q + 2),
    "open window": (Mask.window(None, 1), lambda b, q, k: k <= q + 1),
    "all": (Mask.window(None, None), lambda b, q, k: True),
    "segments": (Mask.segments(IDS, KEY_IDS), lambda b, q, k: IDS[b, q] == KEY_IDS[b, k]),
    "and": (Mask.causal() & Mask.lengths([6, 2]), lambda b, q, k: k <= q and k < [6, 2][b]),
    "or": (Mask.window(0, 0) | Mask.lengths([1, 2]), lambda b, q, k: k == q or k < [1, 2][b]),
    "keep": (Mask.keep(torch.eye(Q, K).bool()), lambda b, q, k: q == k),
}
masks = pytest.mark.parametrize("name", MASKS)


@masks
def test_rule(name):
    mask, seen = MASKS[name]
    assert torch.equal(rule(mask), entries(seen))


@masks
@given(data=st.data())
def test_any_tile_is_that_part_of_the_whole(name, data):
    mask, _ = MASKS[name]
    whole = rule(mask)
    top, left = data.draw(st.integers(0, Q - 1)), data.draw(st.integers(0, K - 1))
    rows = slice(top, data.draw(st.integers(top + 1, Q)))
    cols = slice(left, data.draw(st.integers(left + 1, K)))
    tile = mask.tile(Tile(rows, cols, Q, K, (B, H), CPU))
    expected = whole[..., rows, cols]
    assert torch.equal(tile.expand_as(expected), expected)
    chosen = torch.tensor(data.draw(st.lists(st.integers(0, Q - 1), min_size=1)))
    tile = mask.tile(Tile(chosen, cols, Q, K, (B, H), CPU))
    expected = whole[..., chosen, :][..., cols]
    assert torch.equal(tile.expand_as(expected), expected)


@masks
@given(top=st.integers(0, Q - 1), height=st.integers(1, Q))
def test_key_range_leaves_out_only_what_is_hidden(name, top, height):
    mask, _ = MASKS[name]
    rows = range(top, min(top + height, Q))
    seen = mask.key_range(rows, Q, K)
    outside = [k for k in range(K) if k not in seen]
    assert not rule(mask)[:, :, rows.start : rows.stop, outside].any()


@masks
def test_to_and_from_torch_sdpa(name):
    mask, _ = MASKS[name]
    back = from_torch_sdpa(to_torch_sdpa(mask, Q, K, batch=(B, H)))
    assert back.bias is None
    assert torch.equal(rule(back.mask), rule(mask))


@masks
def test_to_and_from_torch_mha(name):
    mask, _ = MASKS[name]
    theirs = to_torch_mha(mask, Q, K, batch=(B,), num_heads=H)
    assert theirs.shape == (B * H, Q, K)
    assert torch.equal(theirs.view(B, H, Q, K), ~rule(mask))
    assert torch.equal(rule(from_torch_mha(attn_mask=theirs, num_heads=H).mask), rule(mask))


@masks
def test_to_and_from_keras(name):
    mask, _ = MASKS[name]
    theirs = to_keras(mask, Q, K, batch=B)
    assert theirs.shape == (B, Q, K)
    assert torch.equal(rule(from_keras(attention_mask=theirs)), rule(mask))


@masks
def test_to_and_from_onnx(name):
    mask, _ = MASKS[name]
    theirs = to_onnx(mask, Q, K, batch=(B, H))
    assert torch.equal(rule(from_onnx(theirs).mask), rule(mask))


def test_torch_padding_says_true_for_ignore():
    padding = torch.tensor([[False, False, True], [False, True, True]])
    mask, bias = from_torch_mha(key_padding_mask=padding)
    assert bias is None
    assert torch.equal(mask.tensor(1, 3, batch=(2, 1))[:, 0, 0], ~padding)


def test_float_masks_are_biases_and_add_up():
    padding, added = torch.tensor([[0.0, -1.0]]), torch.tensor([[2.0, 3.0]])
    mask, bias = from_torch_mha(key_padding_mask=padding, attn_mask=added)
    assert mask is None
    assert torch.equal(bias, torch.tensor([[[[2.0, 2.0]]]]))
    assert torch.equal(from_torch_sdpa(added).bias, added)


def test_keras_masks_of_queries_keys_and_values():
    query_mask = torch.tensor([[True, False]])
    value_mask = torch.tensor([[True, True, False]])
    mask = from_keras(query_mask, value_mask, use_causal_mask=True)
    expected = torch.tensor([[1, 0, 0], [0, 0, 0]]).bool()
    assert torch.equal(mask.tensor(2, 3, batch=(1, 1))[0, 0], expected)


def test_onnx_lengths_and_past():
    mask, _ = from_onnx(is_causal=True, past_length=1, nonpad_kv_seqlen=torch.tensor([3, 1]))
    got = mask.tensor(2, 4, batch=(2, 1))
    expected = torch.tensor([[[1, 1, 0, 0], [1, 1, 1, 0]], [[1, 0, 0, 0], [1, 0, 0, 0]]]).bool()
    assert torch.equal(got[:, 0], expected)


def test_masked_softmax():
    scores = torch.randn(2, 3, 4, requires_grad=True)
    weights = masked_softmax(scores, Mask.lengths([2, 0]))
    torch.testing.assert_close(weights[0, :, :2], torch.softmax(scores[0, :, :2], -1))
    assert (weights[0, :, 2:] == 0).all() and (weights[1] == 0).all()
    weights.square().sum().backward()
    assert (scores.grad[1] == 0).all() and (scores.grad[0, :, 2:] == 0).all()
    per_query = masked_softmax(torch.zeros(2, 2, 4), Mask.lengths([[1, 3], [2, 4]]))
    third, half, quarter = [1 / 3] * 3 + [0], [0.5, 0.5, 0, 0], [0.25] * 4
    torch.testing.assert_close(per_query, torch.tensor([[[1.0, 0, 0, 0], third], [half, quarter]]))


def test_masked_softmax_of_minus_infinity_without_a_mask():
    assert (masked_softmax(torch.full((1, 3), -torch.inf)) == 0).all()


def test_the_window_skips_what_it_hides():
    """A window over a long sequence costs its width, not the square of the length."""
    x = torch.randn(1, 1, 20000, 4)
    got = attend(x, x, x, score=ScaledDot(), mask=Mask.window(3, 3)).context
    near = x[:, :, 9997:10004]
    expected = attend(near[:, :, 3:4], near, near, score=ScaledDot()).context
    torch.testing.assert_close(got[:, :, 10000:10001], expected)


@pytest.mark.parametrize("lengths", [[3, 1], [[1, 0, 2], [4, 9, 3]]], ids=["(B,)", "(B, Q)"])
@pytest.mark.parametrize("given", [list, torch.tensor, np.array], ids=["list", "torch", "numpy"])
def test_masked_softmax_by_valid_lengths(lengths, given):
    """Each row is the softmax of its first n scores, whatever stands between B and Q."""
    for shape in ((2, 3, 4), (2, 5, 3, 4)):
        scores = torch.randn(*shape)
        found = masked_softmax(scores, given(lengths))
        each = torch.tensor(lengths).reshape(2, *[1] * (len(shape) - 3), -1).expand(shape[:-1])
        for place in torch.cartesian_prod(*(torch.arange(n) for n in shape[:-1])).tolist():
            row, n = tuple(place), min(int(each[tuple(place)]), 4)
            expected = torch.zeros(4)
            expected[:n] = scores[row][:n].softmax(-1)
            torch.testing.assert_close(found[row], expected)


def test_masked_softmax_of_one_row_a_sentence():
    scores = torch.randn(3, 4)
    found = masked_softmax(scores, torch.tensor([4, 0, 2]))
    torch.testing.assert_close(found[0], scores[0].softmax(-1))
    torch.testing.assert_close(found[2], torch.cat([scores[2, :2].softmax(-1), torch.zeros(2)]))
    assert (found[1] == 0).all()
    torch.testing.assert_close(masked_softmax(scores, 2), masked_softmax(scores, [2, 2, 2]))
    keep = torch.rand(3, 4) > 0.5  # booleans stay a mask of the pairs
    assert torch.equal(masked_softmax(scores, keep) > 0, keep)


@pytest.mark.parametrize("num_queries, num_keys", [(3, 4), (4, 3), (1, 4), (2, 0)])
def test_a_mask_that_shows_the_first_key_leaves_no_row_empty(num_queries, num_keys):
    lengths = Mask.lengths([2, 1]), Mask.lengths([2, 0])
    causal = Mask.causal(), Mask.causal(-1), Mask.causal(corner="bottom-right")
    masks = [*lengths, *causal, Mask.window(None, 1, -1), Mask.window(1, 0)]
    for mask in [*masks, *[a & b for a in lengths for b in causal], lengths[0] | causal[1]]:
        keep = mask.tensor(num_queries, num_keys, batch=(2,)).expand(2, num_queries, num_keys)
        shown = mask.shows_first(num_queries, num_keys)
        assert not shown or bool(keep[..., 0].all())
    assert not num_keys or (lengths[0] & causal[0]).shows_first(num_queries, num_keys)
