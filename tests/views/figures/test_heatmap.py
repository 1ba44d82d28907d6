"""Heat maps: colors of cells, readable labels, small files."""

import io
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from regard.errors import InputError
from regard.views import heatmap
from regard.views.figures import palette
from regard.views.figures.figure import MAX_INCHES
from regard.views.figures.heatmap import MAX_IMAGE_CELLS, pool
from regard.views.figures.labels import MIN_SIZE, shorten


def rgb(colour):
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255


def first_cells(figure, number=3):
    """The pixels of the first cells of the first row."""
    image = imread(io.BytesIO(figure.render("png", dpi=100)))[..., :3]
    return [cell_pixels(figure, image, 0, column) for column in range(number)]


def cell_pixels(figure, image, row, column, size=0.6):
    """The pixels of the middle of a cell."""
    axes = figure.canvas.axes[0]
    half = size / 2
    corners = [(column - half, row - half), (column + half, row + half)]
    (x0, y0), (x1, y1) = axes.transData.transform(corners) * 100 / figure.canvas.dpi
    height = image.shape[0]
    rows = slice(int(height - max(y0, y1)), int(height - min(y0, y1)) + 1)
    return image[rows, int(min(x0, x1)) : int(max(x0, x1)) + 1].reshape(-1, 3)


@pytest.mark.parametrize("size", [3, 60])  # cells one by one, and an image
def test_masked_zero_and_weight_differ(size):
    weights = np.zeros((size, size))
    weights[:, 0] = 1.0
    visible = np.ones((size, size), bool)
    visible[0, 2] = False
    figure = heatmap(weights, ["r"] * size, ["c"] * size, visible)
    full, zero, masked = first_cells(figure)
    np.testing.assert_allclose(np.median(full, 0), rgb(palette.ACCENT), atol=0.02)
    np.testing.assert_allclose(np.median(zero, 0), 1, atol=0.01)
    assert np.median(masked, 0).max() < 0.9
    if size == 3:  # the hatch: two greys
        assert np.ptp(masked, 0).max() > 0.08


def test_below_zero_has_the_other_colour():
    figure = heatmap([[-1.0, 0.0, 1.0]], ["r"], list("abc"))
    low, zero, high = (np.median(pixels, 0) for pixels in first_cells(figure))
    np.testing.assert_allclose(low, rgb(palette.SECOND), atol=0.02)
    np.testing.assert_allclose(zero, 1, atol=0.02)
    np.testing.assert_allclose(high, rgb(palette.ACCENT), atol=0.02)


def of_tokens(number):
    words = [f"▁word{place}" if place % 3 else "汉字" for place in range(number)]
    weights = np.eye(number) * 0.5 + np.eye(number, k=-1) * 0.25
    return heatmap(weights, words, words, np.tri(number, dtype=bool))


@pytest.mark.parametrize("number", [2, 60, 1000])
def test_labels_can_be_read_and_files_are_small(number, tmp_path):
    figure = of_tokens(number)
    canvas = figure.canvas
    assert max(canvas.get_size_inches()) <= MAX_INCHES
    axes = canvas.axes[0]
    for ticks, side in ((axes.get_xticklabels(), 0), (axes.get_yticklabels(), 1)):
        assert len(ticks) >= min(number, 40)
        assert all(label.get_fontsize() >= MIN_SIZE for label in ticks)
        spans = sorted(
            tuple(sorted(np.array(label.get_window_extent())[:, side])) for label in ticks
        )
        assert all(a[1] <= b[0] + 1 for a, b in pairwise(spans))
    drawn = axes.get_position()
    width, height = canvas.get_size_inches()
    assert drawn.width * width > 0.5 and drawn.height * height > 0.5
    assert ("one token in 10" in canvas.get_supxlabel()) == (number == 1000)
    for kind in ("svg", "pdf"):
        assert figure.save(tmp_path / f"map.{kind}").stat().st_size < 1.5e6


def test_the_largest_of_a_block_is_kept():
    plane = np.zeros((2 * MAX_IMAGE_CELLS + 1, 5))
    plane[777, 3], plane[2 * MAX_IMAGE_CELLS, 1] = 0.9, -0.5
    small = pool(np.ma.masked_array(plane, np.zeros_like(plane, bool)))
    assert small.shape == (-(-plane.shape[0] // 3), 5)
    assert small[777 // 3, 3] == 0.9
    assert small[-1, 1] == -0.5
    hidden = np.ma.masked_array(plane, np.ones_like(plane, bool))
    hidden.mask[:4] = False
    assert pool(hidden).mask[:, 0].tolist()[:3] == [False, False, True]


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (3, 40)])
def test_long_and_narrow(shape):
    rows, columns = shape
    figure = heatmap(np.ones(shape) / columns, ["行"] * rows, ["a long word"] * columns)
    width, height = figure.canvas.get_size_inches()
    assert 1 <= width <= MAX_INCHES and 1 <= height <= MAX_INCHES
    assert figure.render("png").startswith(b"\x89PNG")


def test_shortened():
    assert shorten("因为" * 20) == "因为" * 5 + "因…"
    assert shorten("short") == "short"


def test_files(tmp_path):
    figure = heatmap([[0.5, 0.5]], ["a"], ["b", "c"], values=True)
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for kind, magic in begins.items():
        path = figure.save(tmp_path / f"one.{kind}")
        assert path.read_bytes().startswith(magic)
        assert path.read_bytes() == figure.render(kind)  # the same each time
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.pdf", "one.png", "one.svg"]
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert "<svg" in figure._repr_svg_()
    with pytest.raises(InputError, match=r"\.png, \.svg or \.pdf"):
        figure.save(tmp_path / "one.jpg")
    with pytest.raises(InputError, match="no folder"):
        figure.save(tmp_path / "nowhere" / "one.png")


def test_user_settings_have_no_effect():
    import matplotlib

    plain = heatmap([[0.5, 0.5]], ["a"], ["b", "c"], title="one").render("svg")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "figure.dpi": 50}):
        assert heatmap([[0.5, 0.5]], ["a"], ["b", "c"], title="one").render("svg") == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_figures_of_several_threads():
    def draw(word):
        return heatmap([[1.0]], [word], ["x"]).render("svg")

    words = ["a", "因", "b", "為", "c", "d"]
    alone = [draw(word) for word in words]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(draw, words)) == alone


def shown_labels(figure):
    axes = figure.canvas.axes[0]
    ticks = axes.get_yticklabels(), axes.get_xticklabels()
    return [[label.get_text() for label in side] for side in ticks]


@pytest.mark.parametrize("given", [np.array, torch.tensor, list], ids=["numpy", "torch", "lists"])
def test_plain_matrix(given):
    plane = [[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]
    figure = heatmap(given(plane))
    assert shown_labels(figure) == [["0", "1"], ["0", "1", "2"]]
    assert figure.canvas.axes[1].get_ylabel() == "weight"
    _, _, high = (np.median(pixels, 0) for pixels in first_cells(figure))
    assert high[2] > high[0] + 0.2  # blue
    numbered = heatmap(given(plane), rows=given([0.5, 12]), columns=range(3))
    assert shown_labels(numbered) == [["0.5", "12"], ["0", "1", "2"]]
    assert heatmap(np.array(plane) * 8).canvas.axes[1].get_ylabel() == "value"


def test_numbers_of_a_large_matrix_are_thinned():
    figure = heatmap(np.random.default_rng(0).random((50, 300)))
    rows, columns = shown_labels(figure)
    assert rows == [str(n) for n in range(0, 50, 5)]
    assert columns == [str(n) for n in range(0, 300, 20)]
    assert figure.canvas.get_supxlabel() == ""


def test_errors():
    for wrong in ([1.0, 2.0], np.zeros((1, 1, 2, 2))):
        with pytest.raises(ValueError, match=r"one matrix \(R, C\), got shape .* head_grid draws"):
            heatmap(wrong)
    with pytest.raises(TypeError, match="numbers of one shape"):
        heatmap([[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        heatmap([[1.0]], ["a"], ["b", "c"])
    with pytest.raises(ValueError, match="at least one"):
        heatmap(np.zeros((0, 2)), [], ["b", "c"])
    with pytest.raises(ValueError, match="finite"):
        heatmap([[np.nan]], ["a"], ["b"])
    with pytest.raises(TypeError, match="boolean"):
        heatmap([[1.0]], ["a"], ["b"], [[1]])
    with pytest.raises(ValueError, match="mask must have shape"):
        heatmap([[1.0]], ["a"], ["b"], [True, False])
    heatmap([[np.nan, 1.0]], ["a"], ["b", "c"], [[False, True]])  # masked, so not checked
