"""Positions: what their papers say of them."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import Alibi, Learned, RelativeBias, Rotary, Sinusoidal, rotate

F64 = torch.float64


@given(dim=st.integers(1, 9), length=st.integers(0, 12), offset=st.integers(0, 5000))
def test_sinusoidal_table_is_its_formula(dim, length, offset):
    table = Sinusoidal(dim).table(length, offset, dtype=F64)
    assert table.shape == (length, dim)
    for p in range(length):
        for column in range(dim):
            angle = (p + offset) / 10000 ** ((column - column % 2) / dim)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert math.isclose(float(table[p, column]), expected, abs_tol=1e-9)


def test_sinusoidal_is_added_and_has_no_parameters():
    position, x = Sinusoidal(6), torch.randn(2, 4, 6)
    torch.testing.assert_close(position(x), x + position.table(4))
    torch.testing.assert_close(position.add(x, 3), x + position.table(7)[3:])
    assert not list(position.parameters())


def test_learned_is_added_and_ends_at_its_length():
    position, x = Learned(5, 6), torch.randn(2, 3, 6)
    torch.testing.assert_close(position(x, 2), x + position.weight[2:])
    with pytest.raises(ValueError, match=r"has 5 positions \(max_length\), got a length of 6"):
        position(x, 3)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_dot_products_see_only_the_distance(interleaved):
    position = Rotary(6, interleaved=interleaved)
    q, k = torch.randn(8, dtype=F64).expand(10, 8), torch.randn(8, dtype=F64).expand(10, 8)
    dots = position.rotate(q) @ position.rotate(k).T
    for distance in range(-9, 10):
        diagonal = dots.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))
    torch.testing.assert_close(position.rotate(q, 7)[:3], position.rotate(q)[7:])
    torch.testing.assert_close(position.rotate(q).norm(dim=-1), q.norm(dim=-1))
    assert torch.equal(position.rotate(q)[:, 6:], q[:, 6:])


def test_rotate_is_a_turn_of_the_plane():
    x = torch.tensor([[1.0, 0.0]])
    quarter = torch.tensor([[math.pi / 2]])
    turned = rotate(x, quarter.cos(), quarter.sin())
    torch.testing.assert_close(turned, torch.tensor([[0.0, 1.0]]))


def test_alibi_slopes_of_the_paper():
    assert Alibi(8).slopes.tolist() == [2.0**-n for n in range(1, 9)]
    twelve = Alibi(12).slopes
    torch.testing.assert_close(twelve[:8], Alibi(8).slopes)
    torch.testing.assert_close(twelve[8:], Alibi(16).slopes[0:8:2])
    bias = Alibi(2)(torch.tensor([[0, 1, -3]]))
    torch.testing.assert_close(
        bias, torch.tensor([[[0, -1, -3.0]], [[0, -1, -3.0]]]) * Alibi(2).slopes[:, None, None]
    )


def test_relative_buckets_of_t5():
    """Near distances alone, then logarithmic, then all together; the sides apart."""
    both = RelativeBias(2, num_buckets=32, max_distance=128)
    distance = torch.tensor([0, -1, -7, -8, -16, -127, -128, -1000, 1, 7, 8, 1000])
    expected = [0, 1, 7, 8, 10, 15, 15, 15, 17, 23, 24, 31]
    assert both.bucket(distance).tolist() == expected
    one = RelativeBias(2, num_buckets=32, max_distance=128, bidirectional=False)
    assert one.bucket(torch.tensor([5, 0, -15, -16, -1000])).tolist() == [0, 0, 15, 16, 31]


def test_relative_buckets_agree_with_transformers():
    from transformers.models.t5.modeling_t5 import T5Attention

    distance = torch.arange(-300, 301)[None]
    for bidirectional in (True, False):
        ours = RelativeBias(1, bidirectional=bidirectional).bucket(distance)
        theirs = T5Attention._relative_position_bucket(
            distance, bidirectional=bidirectional, num_buckets=32, max_distance=128
        )
        assert (ours != theirs).sum() <= 1  # float32 there: one border may fall the other way


def test_relative_weights_shift_the_scores():
    position = RelativeBias(2)
    with torch.no_grad():
        position.weight.copy_(torch.arange(64.0).view(32, 2))
    bias = position(torch.tensor([[0, -1], [1, 0]]))
    assert bias[0].tolist() == [[0.0, 2.0], [34.0, 0.0]]
