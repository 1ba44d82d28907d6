"""All figures of a text, cost curves, positions and gates."""

import re

import numpy as np
import pytest
import torch

from regard.attention import AttentionMap, Learned, RelativeBias
from regard.views import SentenceView, gate_figure, positions_figure
from regard.views.figures.figure_set import LONG, color_limit, figure_set
from regard.views.figures.growth import Panel, growth_figure
from regard.views.figures.positions import cosine_similarity


def test_figures_of_a_single_text():
    weights = torch.rand(1, 2, 4, 4).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    maps = [AttentionMap(weights, "causal", n, (0, 1), tuple(range(4)), "x") for n in (0, 1)]
    names = [
        name
        for name, _ in figure_set(SentenceView.from_text(maps, tokens=["<s>", "▁我", "们", "。"]))
    ]
    assert names == [
        "decoder-heads",
        "decoder-layer-0",
        "decoder-layer-1",
        "decoder-entropy",
        "decoder-distance",
        "decoder-rollout",
    ]


def test_translation_starts_with_its_alignment(chinese):
    name, figure = next(iter(figure_set(chinese)))
    assert name == "alignment" and "alignment of" in repr(figure)


def test_without_maps():
    assert list(figure_set(SentenceView(*(("a",) for _ in range(4))))) == []
    linked = SentenceView(*(("a",) for _ in range(4)), links=((0, 0),))
    assert [name for name, _ in figure_set(linked)] == ["alignment"]


def test_color_limit_of_long_maps():
    plane = np.full((3 * LONG, 3 * LONG), 0.001)
    np.fill_diagonal(plane, 0.1)
    plane[0, 0] = 1.0
    assert color_limit(plane) == pytest.approx(0.1)
    assert color_limit(plane[:LONG, :LONG]) is None


def test_learned_positions_show_similarity():
    table = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(cosine_similarity(table), expected)
    titles = [axes.get_title("left") for axes in positions_figure(Learned(9, 4), 9).canvas.axes]
    assert {"learned positions", "similarity of positions"} <= set(titles)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_causal_bias_has_no_keys_ahead(bidirectional):
    figure = positions_figure(RelativeBias(2, bidirectional=bidirectional), 20)
    shown = figure.canvas.axes[0].images[0].get_array()
    hidden = np.ma.getmaskarray(shown)
    assert hidden[0, 1] == (not bidirectional) and not hidden[1, 0]
    curve = next(axes.lines[0] for axes in figure.canvas.axes if axes.lines)
    assert (max(curve.get_xdata()) > 0) == bidirectional


def test_gate_ticks_are_integers():
    gate = AttentionMap(torch.rand(1, 1, 1, 600), "spatial", 0, (0,), (0,), "x")
    axes = gate_figure(gate, shape=(20, 30)).canvas.axes[0]
    assert all(tick == round(tick) for tick in (*axes.get_xticks(), *axes.get_yticks()))
    many = AttentionMap(torch.rand(1, 1, 1, 300), "channel", 0, (0,), (0,), "x")
    assert len(gate_figure(many).canvas.axes[0].patches) == 1  # one outline instead of bars


def test_growth(tmp_path):
    lines = {f"name {n}": ((64, 128), (1.0 + n, 2.0 + n)) for n in range(10)}
    growth_figure([Panel("time", "seconds", lines)], tmp_path / "growth.svg")
    drawn = (tmp_path / "growth.svg").read_text("utf-8")
    written = re.findall("<!-- (.*?) -->", drawn)
    assert {"time", "seconds", "name 9", "64", "10"} <= set(written)
    assert "$" not in drawn
