"""Summaries of heads: explicit formulas, masked rows, maps of any origin."""

import logging
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import AttentionMap, Mask, MultiHead, record
from regard.views import HeadMaps, distances, entropies, rollout
from regard.views.figures.figure import new_figure
from regard.views.figures.heads import head_matrix
from regard.views.maps.layers import layers_of
from regard.views.maps.summaries import HeadTable, row_distances, row_entropies


def recorded(weights, kind="self", layer=0, rows=None):
    weights = torch.as_tensor(np.asarray(weights), dtype=torch.float64)
    numbers = range(weights.shape[2]) if rows is None else rows
    return AttentionMap(
        weights, kind, layer, tuple(range(weights.shape[1])), tuple(numbers), "made"
    )


def test_entropy_of_rows_written_out():
    weights = np.array([[[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.25, 0.125, 0.125], [0, 0, 0, 0]]])
    visible = np.ones((4, 4), bool)
    visible[3] = False
    bits = row_entropies(weights, visible, normalized=False)
    np.testing.assert_allclose(bits[0, :3], [0, 2, 0.5 + 0.5 + 0.375 + 0.375])
    assert math.isnan(bits[0, 3])
    np.testing.assert_allclose(row_entropies(weights, visible)[0, :3], [0, 1, 1.75 / 2])


def test_entropy_counts_only_what_is_visible():
    weights = [[[[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0.25, 0.25]]]]
    causal = entropies(recorded(weights, "causal"))
    # row 0 has no choice; row 1 is alike over 2 keys; row 2 has 1.5 of log₂ 3 bits
    assert causal.kind == "decoder"
    assert causal.values[0, 0] == pytest.approx((1 + 1.5 / math.log2(3)) / 2)
    everything = entropies(recorded(weights))
    assert everything.values[0, 0] == pytest.approx((0 + 1 + 1.5) / math.log2(3) / 3)


def test_padding_is_masked_away():
    layer = MultiHead(8, num_heads=2).eval()
    x = torch.randn(2, 5, 8)
    with record(layer) as short:
        layer(x[:1, :3])
    with record(layer) as padded:
        layer(x, mask=Mask.lengths([3, 5]))
    there = np.outer(np.arange(5) < 3, np.arange(5) < 3)
    for summary in (entropies, distances):
        expected, found = summary(short), summary(padded, mask=there)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-5)
    with record(layer) as second:
        layer(x[1:])
    np.testing.assert_allclose(entropies(padded, row=1).values, entropies(second).values, rtol=1e-5)


def test_distance_written_out():
    weights = np.array([[[0.5, 0, 0.5], [0, 1, 0], [0.2, 0.3, 0.5]]])
    found = row_distances(weights, np.ones((3, 3), bool), np.arange(3))
    np.testing.assert_allclose(found, [[1.0, 0.0, 0.4 + 0.3]])
    later = row_distances(weights[:, :1], np.ones((1, 3), bool), np.array([7]))
    np.testing.assert_allclose(later, [[(7 + 5) / 2]])


def test_distance_is_not_for_cross_maps(french):
    assert distances(french).kind == "encoder"
    with pytest.raises(ValueError, match="encoder or decoder"):
        distances(french, "cross")
    with pytest.raises(ValueError, match="got: cross"):
        distances(recorded(np.ones((1, 1, 2, 3)) / 3, "cross"))


def test_empty_rows_are_not_counted():
    weights = [[[[0.5, 0.5], [0.0, 0.0]]]]
    assert entropies(recorded(weights)).values[0, 0] == 1.0
    assert distances(recorded(weights)).values[0, 0] == 0.5
    assert np.isnan(entropies(recorded(np.zeros((1, 1, 2, 2)))).values).all()


@given(st.integers(2, 9), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_entropy_is_a_share_and_alike_is_one(keys, rows, seed):
    drawn = np.random.default_rng(seed).dirichlet([0.3] * keys, (1, 2, rows))
    values = entropies(recorded(drawn)).values
    assert ((values >= 0) & (values <= 1 + 1e-9)).all()
    alike = entropies(recorded(np.full((1, 2, rows, keys), 1 / keys))).values
    np.testing.assert_allclose(alike, 1)
    bits = entropies(recorded(drawn), normalized=False).values
    np.testing.assert_allclose(bits, values * math.log2(keys), rtol=1e-9)


def test_step_by_step_equals_whole():
    weights = torch.rand(1, 2, 4, 4, dtype=torch.float64).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    steps = [recorded(weights[:, :, i : i + 1, : i + 1], "causal", rows=[i]) for i in (2, 0, 3, 1)]
    whole, joined = layers_of(recorded(weights, "causal")), layers_of(steps)
    np.testing.assert_array_equal(whole[0].weights, joined[0].weights)
    np.testing.assert_array_equal(whole[0].visible, np.tri(4, dtype=bool))
    with pytest.raises(ValueError, match="given twice"):
        layers_of([*steps, steps[0]])


def test_names_of_kinds(french):
    assert [one.layer for one in layers_of(french)] == [0, 1, 2]
    assert layers_of(french)[0].kind == "cross"
    assert layers_of(french, "self")[0].kind == layers_of(french, "encoder")[0].kind == "encoder"
    one = french.find("decoder", 1)
    assert isinstance(one, HeadMaps)
    assert layers_of(one)[0].kind == "decoder"
    with pytest.raises(ValueError, match="there are no cross maps"):
        layers_of(one, "cross")
    with pytest.raises(ValueError, match="got none"):
        layers_of([])
    with pytest.raises(TypeError, match="boolean"):
        layers_of(one, mask=np.ones(len(one.columns)))


def test_rollout_written_out():
    a = np.array([[0.6, 0.4], [0.0, 1.0]])
    b = np.array([[0.5, 0.5], [1.0, 0.0]])
    maps = [recorded([[a]], layer=0), recorded([[b]], layer=1)]
    first, second = 0.5 * a + 0.5 * np.eye(2), 0.5 * b + 0.5 * np.eye(2)
    found = rollout(maps)
    np.testing.assert_allclose(found[0], first)
    np.testing.assert_allclose(found[1], second @ first)
    np.testing.assert_allclose(rollout(maps, residual=0)[1], b @ a)


def test_rollout_of_chosen_heads():
    both = np.random.default_rng(0).dirichlet(np.ones(3), (1, 2, 3))
    maps = [recorded(both, layer=0), recorded(both[:, ::-1].copy(), layer=1)]
    eye = np.eye(3)
    one, other = (both[0, head] / 2 + eye / 2 for head in (0, 1))
    np.testing.assert_allclose(rollout(maps, heads=1)[1], one @ other)
    np.testing.assert_allclose(rollout(maps, heads=[0, 0])[1], other @ one)
    mean = both[0].mean(0) / 2 + eye / 2
    np.testing.assert_allclose(rollout(maps)[1], mean @ mean)


def test_rollout_rows_sum_to_one_whatever_is_masked(french):
    for kind in ("encoder", "decoder"):
        np.testing.assert_allclose(rollout(french, kind).sum(-1), 1, rtol=1e-5)
    empty = recorded(np.zeros((1, 1, 3, 3)))
    np.testing.assert_array_equal(rollout(empty)[0], np.eye(3))
    np.testing.assert_array_equal(rollout(empty, residual=0)[0], np.eye(3))


def test_rollout_errors(french):
    with pytest.raises(ValueError, match="every layer"):
        rollout(french.find("encoder", 1))
    with pytest.raises(ValueError, match="whole maps of 3 × 3"):
        rollout(recorded(np.ones((1, 1, 1, 3)) / 3, "causal", rows=[2]))
    with pytest.raises(ValueError, match=r"one per layer \(3\)"):
        rollout(french, "encoder", heads=[0])
    with pytest.raises(ValueError, match="residual"):
        rollout(french, residual=1)


def test_tiny_values_have_numbers_apart():
    values = np.random.default_rng(0).standard_normal((3, 4)) * 2e-5
    made = head_matrix(
        HeadTable("cross", (0, 1, 2), (0, 1, 2, 3), values), title="effects", unit="change"
    )
    bars = next(one for one in made.canvas.axes if "mean" in one.get_title("left"))
    boxes = [label.get_window_extent() for label in bars.get_xticklabels() if label.get_text()]
    assert len(boxes) > 1
    assert all(a.x1 < b.x0 for a, b in pairwise(sorted(boxes, key=lambda box: box.x0)))


def test_missing_font_families_are_not_logged(caplog):
    with new_figure((2, 2)):
        logging.getLogger("matplotlib.font_manager").warning("findfont: none of it")
    assert not caplog.records
