"""Every other figure is drawn with its labels."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch

from regard.attention import (
    Alibi,
    AttentionMap,
    Learned,
    NadarayaWatson,
    NonLocal,
    RelativeBias,
    Rotary,
    Sinusoidal,
    SpatialGate,
    SqueezeExcitation,
    record,
)
from regard.views import (
    HeadTable,
    alignment_lines,
    gate_figure,
    gaze_figure,
    gaze_map,
    head_distance,
    head_effects,
    head_entropy,
    head_grid,
    kernel_regression_figure,
    positions_figure,
    rollout_figure,
    vector_plane,
)
from regard.views.figures.alignment_lines import MAX_WORDS
from regard.views.figures.figure import MAX_INCHES
from regard.views.figures.positions import rotation_angles, score_biases


def texts(figure):
    """All texts on a figure."""
    from matplotlib.text import Text

    figure.canvas.draw_without_rendering()
    return [found.get_text() for found in figure.canvas.findobj(Text) if found.get_text()]


def drawn(figure, *kinds):
    """The figure, drawn as SVG or as these kinds."""
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for kind in kinds or ("svg",):
        assert figure.render(kind, dpi=40).startswith(begins[kind])
    assert max(figure.canvas.get_size_inches()) <= MAX_INCHES
    return figure


def test_importing_views_stays_light():
    code = (
        "import sys, regard.views; print([m for m in ('torch', 'matplotlib') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_names_are_functions_whatever_was_imported_before():
    import regard.views
    import regard.views.figures.heads  # it imports the module heatmap

    for name in regard.views.__all__:
        assert callable(getattr(regard.views, name)), name
    with pytest.raises(AttributeError, match="nothing"):
        regard.views.nothing  # noqa: B018


@pytest.mark.parametrize(
    "language", ["french", pytest.param("chinese", marks=pytest.mark.needs("cjk-font"))]
)
def test_alignment_of_a_sentence(request, language):
    sentence = request.getfixturevalue(language)
    figure = alignment_lines(
        sentence.source_words,
        sentence.target_words,
        sentence.alignment_weights(),
        links=sentence.links,
        title=f"en → {language}",
    )
    assert {*sentence.source_words, *sentence.target_words, "link", "50%"} <= set(
        texts(drawn(figure, "png", "svg", "pdf"))
    )


def test_lines_are_the_weights():
    from matplotlib.patches import PathPatch

    weights = [[0.9, 0.1, 0.0], [0.0, 0.01, 0.99]]
    figure = alignment_lines(list("abc"), list("xy"), weights)
    lines = [p for p in figure.canvas.axes[0].patches if isinstance(p, PathPatch)]
    assert len(lines) == 3  # none below the threshold
    widths = [line.get_linewidth() for line in lines]
    assert widths == sorted(widths) and widths[0] < widths[1] < widths[2]
    linked = alignment_lines(list("abc"), list("xy"), links=[(0, 0), (2, 1)])
    lines = [p for p in linked.canvas.axes[0].patches if isinstance(p, PathPatch)]
    assert len(lines) == 2
    begin, end = lines[1].get_path().vertices[[0, -1]]
    places = {t.get_text(): t.get_position()[0] for t in linked.canvas.axes[0].texts}
    assert (begin[0], end[0]) == pytest.approx((places["c"], places["y"]))


@pytest.mark.parametrize("number", [1, 15, 60, MAX_WORDS])
def test_words_do_not_overlap(number):
    words = [f"word{place}" if place % 4 else "汉字" for place in range(number)]
    figure = alignment_lines(words, words[: max(1, number - 3)], links=[(0, 0)])
    canvas = figure.canvas
    assert max(canvas.get_size_inches()) <= MAX_INCHES
    canvas.draw_without_rendering()
    boxes = [t.get_window_extent() for t in canvas.axes[0].texts if t.get_text()]
    for one, other in pairwise(boxes):
        assert not (one.overlaps(other) and one.shrunk(0.8, 0.8).overlaps(other)), number
    page = canvas.bbox
    assert all(page.x0 <= b.x0 and b.x1 <= page.x1 and b.y1 <= page.y1 for b in boxes)


def test_alignment_lines_errors():
    with pytest.raises(ValueError, match=r"links must be .* got \(3, 0\)"):
        alignment_lines(list("abc"), list("xy"), links=[(3, 0)])
    with pytest.raises(ValueError, match="target words by source words"):
        alignment_lines(list("abc"), list("xy"), np.ones((3, 2)) / 3)
    with pytest.raises(ValueError, match="heatmap"):
        alignment_lines(["a"] * (MAX_WORDS + 1), ["b"])
    with pytest.raises(ValueError, match="at least one"):
        alignment_lines([], ["b"])
    with pytest.raises(ValueError, match="from 0 to 1"):
        alignment_lines(["a"], ["b"], [[-0.5]])


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_grid_has_every_head(french, kind):
    figure = drawn(head_grid(french, kind), "pdf")
    assert len(figure.canvas.axes[0].images) == 12
    written = texts(figure)
    assert {"layer 0", "layer 2", "head 0", "head 3", f"{kind} attention"} <= set(written)
    assert ("masked" in written) == (kind == "decoder")
    each = head_grid(french, kind, each=True)
    assert len(each.canvas.axes) == 1  # no common scale


@pytest.mark.parametrize("given", [lambda x: x, torch.Tensor.numpy, torch.Tensor.tolist, list])
def test_a_grid_of_plain_numbers(given):
    weights = torch.randn(2, 3, 4, 5).softmax(-1)
    figure = drawn(head_grid(given(weights)))
    images = figure.canvas.axes[0].images
    assert len(images) == 6
    for image, plane in zip(images, weights.flatten(0, 1), strict=True):
        np.testing.assert_allclose(np.asarray(image.get_array()), plane, rtol=1e-6)
    assert {"layer 1", "head 2", "attention", "weight"} <= set(texts(figure))


def test_a_grid_of_one_layer_a_batch_a_mask_and_scores():
    scores = torch.randn(2, 2, 3, 4, 4) * 3
    assert len(head_grid(scores[0, 0]).canvas.axes[0].images) == 3
    second = head_grid(scores, row=1, mask=torch.ones(4, 4).tril().bool())  # (layers, B, heads, …)
    first = np.ma.asarray(second.canvas.axes[0].images[0].get_array())
    np.testing.assert_allclose(first.compressed(), scores[0, 1, 0][np.tri(4, dtype=bool)])
    assert {"masked", "value"} <= set(texts(second))
    assert "decoder attention" in texts(head_grid(scores[0].softmax(-1), "causal"))
    with pytest.raises(ValueError, match=r"\(layers, heads, R, C\).* got \(4, 4\); heatmap draws"):
        head_grid(scores[0, 0, 0])
    with pytest.raises(ValueError, match="row must be below 2"):
        head_grid(scores, row=2)
    with pytest.raises(ValueError, match="finite"):
        head_grid(scores[0] * torch.nan)
    with pytest.raises(ValueError, match="as many rows as columns"):
        head_distance(scores[0, :, :, :2])
    square = scores[0].softmax(-1)
    assert drawn(head_distance(square)) and drawn(rollout_figure(square, list("abcd")))


def test_a_large_model_fits():
    weights = torch.rand(1, 16, 40, 40).softmax(-1)
    heads, rows = tuple(range(16)), tuple(range(40))
    maps = [AttentionMap(weights, "self", layer, heads, rows, "m") for layer in range(24)]
    figure = head_grid(maps)
    assert len(figure.canvas.axes[0].images) == 384
    assert max(figure.canvas.get_size_inches()) <= MAX_INCHES
    assert figure.render("png", dpi=60)


def test_summaries(french):
    assert "entropy / maximum" in texts(drawn(head_entropy(french)))
    assert "entropy (bits)" in texts(head_entropy(french, "decoder", normalized=False))
    assert "mean distance (tokens)" in texts(drawn(head_distance(french, "encoder")))
    rolled = rollout_figure(french, french.source_tokens, "encoder")
    assert "rollout through layer 2" in texts(drawn(rolled))
    later = rollout_figure(french, french.axis("inputs").tokens, "decoder", layer=0)
    assert {"rollout through layer 0", "masked"} <= set(texts(later))


def test_effects_are_written_and_missing_heads_left_out():
    values = np.array([[-0.5, 0.25], [np.nan, 1.5]])
    figure = drawn(head_effects(HeadTable("cross", (0, 2), (0, 1), values)))
    written = texts(figure)
    assert {"-0.50", "0.25", "1.50", "2"} <= set(written)
    assert "cross attention: a head switched off" in written
    nothing = head_effects(HeadTable("self", (0,), (0,), np.zeros((1, 1))))
    assert drawn(nothing)


@pytest.mark.parametrize(
    "position",
    [
        Sinusoidal(16),
        Sinusoidal(1),
        Learned(64, 8),
        Rotary(8),
        Rotary(8, interleaved=True),
        Alibi(4),
        Alibi(1),
        RelativeBias(12),
    ],
    ids=repr,
)
def test_positions(position):
    assert drawn(positions_figure(position, 20))
    assert positions_figure(position, 1)


def test_angles_and_biases_written_out():
    for interleaved in (False, True):
        found = rotation_angles(Rotary(6, interleaved=interleaved), 9)
        place, pair = np.arange(9)[:, None], np.arange(3)
        expected = place / 10000 ** (2 * pair / 6) % (2 * np.pi)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    slopes = np.array([2.0**-4, 2.0**-8])
    apart = np.abs(np.arange(5)[:, None] - np.arange(5))
    np.testing.assert_allclose(score_biases(Alibi(2), 5), -slopes[:, None, None] * apart)
    with pytest.raises(ValueError, match="at most 4, the positions of Learned"):
        positions_figure(Learned(4, 8), 5)
    with pytest.raises(TypeError, match="position must be"):
        positions_figure(torch.nn.Linear(1, 1), 5)


def test_kernel_regression():
    x = np.linspace(0, 5, 40)
    y = 2 * np.sin(x) + x**0.8
    model = NadarayaWatson(bandwidth=0.4).fit(x[:, None], y)
    figure = kernel_regression_figure(
        x, y, model, query=2.0, truth=lambda v: 2 * np.sin(v) + abs(v) ** 0.8
    )
    assert {"estimate", "truth", "query", "weight at x = 2"} <= set(
        texts(drawn(figure, "png", "pdf"))
    )
    marks = figure.canvas.axes[1].lines[0]
    np.testing.assert_allclose(marks.get_ydata(), model.attention_weights([[2.0]])[0])
    np.testing.assert_allclose(marks.get_xdata(), x)
    evaluated = []
    for query in (None, -3.0, 9.0):
        kernel_regression_figure(x, y, model, query=query, truth=lambda v: evaluated.append(v) or v)
    assert min(evaluated) == 0 and max(evaluated) == 5  # only between the samples
    with pytest.raises(ValueError, match="same number of values"):
        kernel_regression_figure(x, y[:-1], model)
    two = NadarayaWatson().fit(np.ones((3, 2)), np.ones(3))
    with pytest.raises(ValueError):
        kernel_regression_figure(np.ones(3), np.ones(3), two)


def test_gates():
    torch.manual_seed(0)
    x = torch.randn(1, 8, 4, 6)
    for gate, kind, shape in (
        (SqueezeExcitation(8), "channel", None),
        (SpatialGate(), "spatial", (4, 6)),
    ):
        with record(gate) as recording:
            gate(x)
        figure = drawn(gate_figure(recording[0], shape=shape))
        assert f"{kind} gate, layer 0" in texts(figure)
    assert len(gate_figure(recording[0]).canvas.axes) == 2  # 24 positions are no square: a line
    with pytest.raises(ValueError, match="24 positions"):
        gate_figure(recording[0], shape=(5, 5))


def test_gates_over_the_image_they_came_from():
    torch.manual_seed(0)
    x = torch.rand(2, 3, 8, 12)
    features = torch.nn.Conv2d(3, 6, 3, stride=2, padding=1)(x)
    for layer, kind, name in (
        (SpatialGate(), "spatial", "spatial gate, layer 0"),
        (NonLocal(6), "self", "attention received, layer 0"),
        (SqueezeExcitation(6), "channel", "channel gate, layer 0"),
    ):
        with record(layer) as recording:
            layer(features)
        scaled = features[1] if kind == "channel" else None
        figure = drawn(gate_figure(recording[0], row=1, image=x[1], features=scaled))
        assert name in texts(figure)
        plain, over = figure.canvas.axes[:2]
        np.testing.assert_allclose(plain.images[0].get_array(), x[1].movedim(0, 2), rtol=1e-6)
        heat = gaze_map(recording[0], row=1, shape=(4, 6), features=scaled)
        assert heat.shape == (4, 6)
        alpha = over.images[1].get_array()[..., 3]
        assert alpha.argmax() == heat.argmax() and alpha.min() == 0
        down, across = np.unravel_index(heat.argmax(), heat.shape)
        ((at_x, at_y),) = over.lines[0].get_xydata()  # the circle is around the highest place
        assert (at_x, at_y) == (2 * across + 1, 2 * down + 1)
    gate = recording[0].weights[1, 0, 0].numpy()
    expected = np.tensordot(gate, features[1].abs().detach().numpy(), 1) / gate.sum()
    np.testing.assert_allclose(heat, expected, rtol=1e-5)
    grid = gaze_figure(x, {"注意": [heat, heat]}, ["圆", "square"])
    assert len(grid.canvas.axes) == 4
    with pytest.raises(ValueError, match="features must be given"):
        gate_figure(recording[0], image=x[0])
    with pytest.raises(ValueError, match=r"features must have shape \(6, h, w\)"):
        gate_figure(recording[0], image=x[0], features=x[0])
    with pytest.raises(ValueError, match="image must have shape"):
        gate_figure(recording[0], image=x, features=features[0])
    with pytest.raises(ValueError, match="one map per image, got 1 of a"):
        gaze_figure(x, {"a": [heat]})


@pytest.mark.needs("cjk-font")
def test_a_plane_of_vectors():
    square = np.array([[0.0, 0, 5], [3, 0, 5], [0, 2, 5], [3, 2, 5]])
    arrows = [(0, 1), (2, 3)]
    figure = drawn(
        vector_plane(
            square,
            ["man", "king", "女人", "女王"],
            arrows,
            groups=[0, 0, 1, 1],
            names=["first", "second"],
            title="analogy",
        )
    )
    assert {"man", "king", "女人", "女王", "first", "second", "analogy"} <= set(texts(figure))
    points = np.concatenate([line.get_xydata() for line in figure.canvas.axes[0].lines])
    for first, second in [(0, 1), (0, 2), (1, 2), (0, 3)]:  # distances are kept
        expected = np.linalg.norm(square[first] - square[second])
        assert np.linalg.norm(points[first] - points[second]) == pytest.approx(expected)
    assert "0%" not in texts(vector_plane(square[:2], ["a", ""]))
    for bad, message in (
        (lambda: vector_plane(square[:1], ["a"]), "P ≥ 2"),
        (lambda: vector_plane(square, ["a"]), "one entry for each of 4"),
        (lambda: vector_plane(square, list("abcd"), [(0, 4)]), "between points 0 to 3"),
        (lambda: vector_plane(square * np.nan, list("abcd")), "must be finite"),
        (lambda: vector_plane(np.ones((201, 2)), ["a"] * 201), "at most 200"),
    ):
        with pytest.raises(ValueError, match=message):
            bad()
