"""Attention pooling: one vector of many, and whose it is."""

import pytest
import torch

from regard.attention import Mask, record
from regard.attention.layers.pooling import Pooling

LENGTHS = torch.tensor([5, 2, 1])
every_head = pytest.mark.parametrize("heads", [1, 2, 4])


def tokens():
    return torch.randn(3, 5, 8, dtype=torch.float64)


@every_head
def test_weights_sum_to_one_and_parts_to_the_context(heads):
    pool, x = Pooling(8, heads).double(), tokens()
    mask = Mask.lengths(LENGTHS)
    found = pool.looked(x, mask)
    assert found.weights.shape == (3, heads, 5)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(3, heads).double())
    assert (found.weights[1, :, 2:] == 0).all()
    torch.testing.assert_close(found.parts.sum(1) + found.rest, found.context)
    torch.testing.assert_close(pool(x, mask), found.context, rtol=0, atol=0)


@every_head
def test_it_is_the_formula(heads):
    pool, x = Pooling(8, heads).double(), tokens()
    layer, size = pool.attention, 8 // heads
    query = layer.query_proj(pool.query).view(heads, size)
    key, value = layer.memory(x)
    weights = torch.softmax(torch.einsum("hp,bhnp->bhn", query, key) / size**0.5, -1)
    expected = layer.out_proj(torch.einsum("bhn,bhnp->bhp", weights, value).flatten(1))
    torch.testing.assert_close(pool(x), expected)


def test_padding_and_its_garbage_change_nothing():
    pool, x = Pooling(8, 2).double(), tokens()
    whole = pool.looked(x, Mask.lengths(LENGTHS))
    x[1, 2:] = float("nan")
    again = pool.looked(x, Mask.lengths(LENGTHS))
    torch.testing.assert_close(again.context[:2], whole.context[:2])
    torch.testing.assert_close(again.parts[:2], whole.parts[:2])
    torch.testing.assert_close(pool(x[2:, :1]), whole.context[2:])


def test_order_does_not_matter():
    pool, x = Pooling(8).double(), tokens()
    order = torch.randperm(5)
    torch.testing.assert_close(pool(x[:, order]), pool(x))


def test_values_may_be_others_than_keys():
    pool, x, value = Pooling(8, 2).double(), tokens(), tokens()
    same, other = pool.looked(x), pool.looked(x, None, value)
    torch.testing.assert_close(other.weights, same.weights)
    torch.testing.assert_close(other.parts.sum(1) + other.rest, other.context)
    assert not torch.allclose(other.context, same.context)


def test_it_is_seen_by_record():
    pool = Pooling(8, 2)
    x = torch.randn(3, 5, 8)
    with record(pool) as recording:
        pool(x)
    (one,) = recording.maps
    torch.testing.assert_close(one.weights[:, :, 0], pool.looked(x).weights)
