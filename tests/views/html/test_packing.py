"""Packed maps: exact weights are exact, bounds are upper bounds, and all fits the budget."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import InputError
from regard.views import HeadMaps, SentenceView, entropies
from regard.views.html.packing import (
    PLANS,
    PackingPlan,
    blob_size,
    largest_of_rows,
    max_pool,
    pack,
    pack_within,
    row_entropies,
    summarize,
    to_blob,
)
from regard.views.html.payload import MAPS_BUDGET, pack_views, sentence_payload, summarize_views

PACKED = PackingPlan(0, 4, 8)


def numbers(text, dtype):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype)


def text_of(rows, heads=2, *, kind="encoder", seed=0, spread=0.2):
    rng = np.random.default_rng(seed)
    weights = rng.gamma(spread, 1, (heads, rows, rows)).astype(np.float32)
    if kind == "decoder":
        weights = np.tril(weights)
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-9)
    tokens = tuple(f"▁t{number}" for number in range(rows))
    maps = HeadMaps(kind, 0, tuple(range(heads)), weights, tokens, tokens)
    groups = tuple((number,) for number in range(rows))
    return SentenceView(tokens, (), tokens, (), maps=(maps,), source_groups=groups)


def test_small_map_is_sent_whole_within_half_a_step(french):
    for maps, sent in zip(french.maps, sentence_payload(french)["maps"], strict=True):
        found = [numbers(plane, "<u2").reshape(maps.weights.shape[1:]) for plane in sent["whole"]]
        np.testing.assert_allclose(np.stack(found) / 65535, maps.weights, atol=0.5 / 65535 + 1e-7)
        assert "largest" not in sent


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_packed_map_has_exact_weights_and_bounds(kind):
    (maps,) = text_of(61, 3, kind=kind).maps
    sent = pack(summarize(maps, PLANS[0]), PACKED)
    planes = [*maps.weights, maps.weights.mean(axis=0)]  # the mean of the heads is last
    assert sent["causal"] == (kind == "decoder")
    assert len(sent["pooled"]["cells"]) == 4
    for place, plane in enumerate(planes):
        columns = numbers(sent["largest"]["columns"][place], "<u2").reshape(61, 4).astype(int)
        weights = numbers(sent["largest"]["weights"][place], "<f4").reshape(61, 4)
        np.testing.assert_array_equal(weights, np.take_along_axis(plane, columns, 1))
        np.testing.assert_array_equal(np.sort(weights), np.sort(plane)[:, -4:])
        assert (np.diff(columns) > 0).all()
        squares = numbers(sent["pooled"]["cells"][place], "u1").reshape(8, 8).astype(np.float32)
        bound = ((squares / 255) ** 2).repeat(8, 0).repeat(8, 1)[:61, :61]
        assert (bound >= plane - 1e-6).all()
        assert (
            np.sqrt(bound)
            <= np.sqrt(max_pool(plane, 8).repeat(8, 0).repeat(8, 1)[:61, :61]) + 1 / 255 + 1e-6
        ).all()


def test_entropies_are_those_of_the_summaries():
    (maps,) = text_of(40, 3).maps
    sent = sentence_payload(text_of(40, 3))["maps"][0]["entropy"]
    bits = numbers(sent["rows"], "<u2").reshape(4, 40) * sent["max"] / 65535
    expected = entropies([maps], normalized=False).values[0]
    np.testing.assert_allclose(bits[:3].mean(-1), expected, atol=1e-4)
    np.testing.assert_allclose(bits[3], row_entropies(maps.weights.mean(axis=0)), atol=1e-4)
    assert row_entropies(np.zeros((2, 3), np.float32)).tolist() == [0, 0]
    maps.weights[1, 5:] = 0  # rows without weights
    sent = pack(summarize(maps, PLANS[0]), PLANS[0])["entropy"]
    assert sent["numFilled"] == [40, 5, 40, 40]
    bits = numbers(sent["rows"], "<u2").reshape(4, 40) * sent["max"] / 65535
    expected = entropies([maps], normalized=False).values[0, 1]
    np.testing.assert_allclose(bits[1].sum() / 5, expected, atol=1e-4)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=60)
def test_pooling_and_largest(rows, columns, factor, seed):
    plane = np.random.default_rng(seed).random((rows, columns), np.float32)
    found = max_pool(plane, factor)
    for row in range(found.shape[0]):
        for column in range(found.shape[1]):
            part = plane[row * factor :, column * factor :][:factor, :factor]
            assert found[row, column] == part.max()
    places, weights = largest_of_rows(plane, factor)
    count = min(factor, columns)
    np.testing.assert_array_equal(np.sort(weights), np.sort(plane)[:, columns - count :])
    np.testing.assert_array_equal(np.take_along_axis(plane, places.astype(int), 1), weights)


@pytest.mark.parametrize("budget", [60_000, 200_000, 700_000, 3_000_000])
def test_a_budget_is_kept_and_used(budget):
    texts = [text_of(560, 3), text_of(30, 2, seed=1)]
    found = [summarize(maps, PLANS[0]) for one in texts for maps in one.maps]
    plan, made = pack_within(found, budget)
    assert sum(map(blob_size, made)) <= budget
    for better in PLANS[: PLANS.index(plan)]:
        assert sum(blob_size(pack(one, better)) for one in found) > budget
    with pytest.raises(InputError, match="show fewer"):
        pack_within(found, 1000)


def test_invalid_weights_become_zero():
    tokens = ("▁a", "▁b")
    weights = np.array([[[np.nan, -1.0], [2.0, 0.5]]], np.float32)
    maps = HeadMaps("decoder", 0, (0,), weights, tokens, tokens)
    sent = pack(summarize(maps, PLANS[0]), PLANS[0])
    assert numbers(sent["whole"][0], "<u2").tolist() == [0, 0, 65535, 16384]
    assert sent["scales"] == [2.0]
    assert sent["causal"]


@pytest.mark.parametrize("plan", [PLANS[0], PACKED])
def test_weights_above_one_are_exact(plan):
    """As with Gaussian windows, whose rows do not sum to one."""
    (maps,) = text_of(40, 3).maps
    scale = np.array([2.89, 16.46, 0.5], np.float32)[:, None, None]
    loose = HeadMaps("encoder", 0, (0, 1, 2), maps.weights * scale, maps.rows, maps.columns)
    found = summarize(loose, plan)
    sent = pack(found, plan)
    assert sent["normalized"] is False and "normalized" not in pack(summarize(maps, plan), plan)
    assert "scales" not in pack(summarize(maps, plan), plan)
    bits = numbers(sent["entropy"]["rows"], "<u2").reshape(4, 40) * sent["entropy"]["max"] / 65535
    expected = entropies([loose], normalized=False).values[0]
    np.testing.assert_allclose(bits[:3].mean(-1), expected, atol=1e-4)
    for place, plane in enumerate(loose.weights):
        most = sent["scales"][place]
        assert most == pytest.approx(max(1, plane.max()))
        if plan is PLANS[0]:
            whole = numbers(sent["whole"][place], "<u2").reshape(40, 40) * most / 65535
            np.testing.assert_allclose(whole, plane, atol=0.51 * most / 65535)
        else:
            squares = numbers(sent["pooled"]["cells"][place], "u1").reshape(5, 5)
            bound = (most * (squares / 255) ** 2).repeat(8, 0).repeat(8, 1)
            assert (bound >= plane - 1e-5).all()


def test_decoder_with_weights_ahead_is_not_causal():
    tokens = ("▁a", "▁b")
    maps = HeadMaps("decoder", 0, (0,), np.full((1, 2, 2), 0.5, np.float32), tokens, tokens)
    assert not summarize(maps, PLANS[0]).causal


class Recorded:
    """Weights that record when they are read, like those of a lazily recorded layer."""

    def __init__(self, weights):
        self.weights, self.read = weights, []
        self.shape, self.dtype, self.ndim = weights.shape, weights.dtype, 3

    def __getitem__(self, place):
        self.read.append(place)
        return self.weights[place]


def test_each_head_is_read_once():
    text = text_of(600, 3)
    lazy = Recorded(text.maps[0].weights)
    maps = HeadMaps("encoder", 0, (0, 1, 2), lazy, text.source_tokens, text.source_tokens)
    made = SentenceView(text.source_tokens, (), (), (), maps=(maps,))
    assert lazy.read == []
    assert sentence_payload(made)["maps"] == sentence_payload(text)["maps"]
    assert lazy.read == [0, 1, 2]


def test_long_strings_are_moved_to_blobs():
    blobs = {}
    text = text_of(600, 2)
    sent = pack_views(summarize_views([text]), [text], blobs, budget=MAPS_BUDGET)[0]["maps"][0]
    assert sent["largest"]["weights"][0]["blob"] in blobs
    assert all(len(value) > 4096 for value in blobs.values())
    whole = sentence_payload(text)["maps"][0]
    assert blobs[sent["pooled"]["cells"][1]["blob"]] == whole["pooled"]["cells"][1]
    assert isinstance(to_blob(np.zeros(3)), str)
