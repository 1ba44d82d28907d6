"""A dilated window is full attention under the mask that its formula writes, in every use."""

import pytest
import torch

from regard.attention import Alibi, Mask, MultiHead, ScaledDot, attend
from regard.attention.mechanisms import Local

F64 = torch.float64
WINDOW, HEADS, WIDTH = 3, 2, 4


def written_out(length, dilation, global_tokens):
    """(H, n, n): key j is seen by query i if j = i + m·dilation, |m| ≤ window, or one is global."""
    keep = torch.zeros(HEADS, length, length, dtype=torch.bool)
    for head, gap in enumerate(dilation):
        for i in range(length):
            for m in range(-WINDOW, WINDOW + 1):
                if 0 <= i + m * gap < length:
                    keep[head, i, i + m * gap] = True
    keep[:, :global_tokens] = True
    keep[:, :, :global_tokens] = True
    return keep


def heads(length):
    return [torch.randn(2, HEADS, length, WIDTH, dtype=F64) for _ in range(3)]


GAPS = pytest.mark.parametrize("dilation", [1, 3, (2, 5), (1, 200)], ids=str)
GLOBALS = pytest.mark.parametrize("global_tokens", [0, 4])


def both_heads(dilation):
    return (dilation,) * HEADS if isinstance(dilation, int) else dilation


@GAPS
@GLOBALS
@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("length", [20, 158])  # within one tile, and over several
def test_a_dense_mask_gives_the_same(dilation, global_tokens, causal, length):
    local = Local(WINDOW, global_tokens, dilation)
    lengths = Mask.lengths([length, length // 2])
    mask = lengths & Mask.causal() if causal else lengths
    query, key, value = heads(length)
    found = local(query, key, value, mask=mask, weights=True)
    keep = Mask.keep(written_out(length, both_heads(dilation), global_tokens)) & mask
    expected = attend(query, key, value, score=ScaledDot(), mask=keep, engine="dense", weights=True)
    torch.testing.assert_close(found.context, expected.context)
    torch.testing.assert_close(found.weights, expected.weights)


@GAPS
@GLOBALS
def test_word_by_word_and_after_a_cache(dilation, global_tokens):
    length, layer = 150, MultiHead(8, HEADS, mechanism=Local(WINDOW, global_tokens, dilation))
    layer = layer.double().eval()
    x = torch.randn(2, length, 8, dtype=F64)
    whole = layer(x, mask=Mask.causal()).context
    cache, parts = layer.empty_cache(2), []
    for part in x.split([2, 5, 128, *[1] * 15], dim=1):
        step = layer(part, cache=cache)
        cache = step.cache
        parts.append(step.context)
    torch.testing.assert_close(torch.cat(parts, 1), whole)
    query, key, value = heads(length)
    local = layer.mechanism
    late = Mask.causal(corner="bottom-right")  # the last 10 words alone
    expected = local(query, key, value, mask=Mask.causal()).context[..., -10:, :]
    found = local(query[..., -10:, :], key, value, mask=late).context
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("length", [20, 158])
def test_positions_that_bias_scores(length):
    query, key, value = heads(length)
    bias = Alibi(HEADS).at(0)
    found = Local(WINDOW, dilation=(2, 3))(query, key, value, bias=bias).context
    keep = written_out(length, (2, 3), 0)
    expected = attend(
        query, key, value, score=ScaledDot(), mask=keep, bias=bias, engine="dense"
    ).context
    torch.testing.assert_close(found, expected)


def test_what_is_refused():
    layer = MultiHead(8, HEADS, mechanism=Local(WINDOW, dilation=(1, 2, 3)))
    with pytest.raises(ValueError, match=r"one for each of the 2 heads, got \(1, 2, 3\)"):
        layer(torch.randn(1, 5, 8))
    with pytest.raises(ValueError, match="2 heads"):
        layer(torch.randn(1, 1, 8), cache=layer.empty_cache(1))
    for dilation, message in ((0, "above zero"), ((), "got none"), ("a", "whole numbers")):
        with pytest.raises((ValueError, TypeError), match=message):
            Local(WINDOW, dilation=dilation)
