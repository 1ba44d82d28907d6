"""Built-in handwriting: alphabet, styles, splits, and lines from files."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import InputError
from regard.tasks.handwriting.strokes.files import read_strokes
from regard.tasks.handwriting.strokes.glyphs import ALPHABET, glyph, resampled, smoothing
from regard.tasks.handwriting.strokes.lines import (
    PLAIN,
    WritingStyle,
    line_split,
    random_style,
    sample,
    write,
)
from stroke_files import as_json

TEXTS = st.text(ALPHABET, min_size=1, max_size=12).filter(str.strip)


def rng(seed=0):
    return np.random.default_rng(seed)


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.integers(0, 1000))
def test_every_text_becomes_finite_movements_with_its_strokes(text, seed):
    random = rng(seed)
    strokes = write(text, random_style(random), random)
    assert strokes.shape[1] == 3 and np.isfinite(strokes).all()
    assert set(np.unique(strokes[:, 2])) <= {0.0, 1.0} and strokes[-1, 2] == 1
    assert strokes[:, 2].sum() == sum(len(glyph(c).strokes) for c in text)


@pytest.mark.parametrize("character", ALPHABET.strip())
def test_a_glyph_stays_in_its_box(character):
    points = np.vstack([s.curve @ s.control for s in glyph(character).strokes])
    assert points[:, 0].min() > -0.25 and points[:, 0].max() < 1.5
    assert points[:, 1].min() > -0.8 and points[:, 1].max() < 1.75


@given(st.floats(0.05, 0.5), st.floats(0.0, 0.5))
def test_points_keep_the_ends_and_the_pace(step, slowing):
    curve = smoothing([5]) @ np.array([[0, 0], [1, 2], [2, 0], [3, 2], [4, 0.0]])
    points = resampled(curve, step, slowing)
    assert np.allclose(points[0], curve[0]) and np.allclose(points[-1], curve[-1])
    gaps = np.hypot(*np.diff(points, axis=0).T)
    assert gaps.max() < 1.6 * step


def test_the_curve_passes_its_points_and_keeps_its_corners():
    points = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    curve = smoothing([2, 3]) @ points
    for point in points:
        assert np.abs(curve - point).sum(1).min() < 1e-12
    assert (curve[:12, 1] == 0).all()  # straight until the corner


def test_style_parameters_take_effect():
    plain = np.cumsum(write("lol", PLAIN, rng())[:, :2], 0)
    large = np.cumsum(write("lol", WritingStyle(size=1.5), rng())[:, :2], 0)
    leaning = np.cumsum(write("lol", WritingStyle(slant=0.5), rng())[:, :2], 0)
    assert np.ptp(large[:, 1]) == pytest.approx(1.5 * np.ptp(plain[:, 1]), rel=0.02)
    assert np.ptp(leaning[:, 0]) > np.ptp(plain[:, 0]) + 0.2
    assert len(write("lol", WritingStyle(speed=0.1), rng())) > 2 * len(plain)


def test_samples_depend_on_the_seed_alone_and_splits_share_nothing():
    again = sample("train", 30, seed=4)
    for a, b in zip(sample("train", 40, seed=4), again, strict=False):
        assert a.text == b.text and np.array_equal(a.strokes, b.strokes)
    assert sample("train", 1, seed=5)[0].text != again[0].text
    texts = {split: {w.text for w in sample(split, 200)} for split in ("train", "dev", "test")}
    assert not texts["train"] & texts["dev"] and not texts["dev"] & texts["test"]
    assert not texts["train"] & texts["test"]
    assert line_split("attention") == "test"


def test_lines_are_much_longer_than_their_text_and_cover_the_alphabet():
    lines = sample("train", 1500)
    points = sum(len(line.strokes) for line in lines)
    assert 10 < points / sum(len(line.text) for line in lines) < 20
    assert set("".join(line.text for line in lines)) == set(ALPHABET)


@pytest.mark.parametrize(("text", "message"), [("naïve 字", "'ï', '字'"), ("  ", "no text")])
def test_names_characters_that_cannot_be_written(text, message):
    with pytest.raises(InputError, match=message):
        write(text, PLAIN, rng())


def test_another_split_is_an_error():
    with pytest.raises(InputError, match="train, dev, test"):
        sample("validation", 1)


def test_lines_survive_a_round_trip_through_a_file(tmp_path):
    lines = sample("train", 3)
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(as_json, lines)) + "\n", "utf-8")
    for line, read in zip(lines, read_strokes([path]), strict=True):
        assert line.text == read.text
        assert np.allclose(line.strokes, read.strokes, atol=1e-5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: this is not JSON"),
        ('["a"]', 'line 2: an object with "text" and "strokes"'),
        ({"text": "a"}, '"text" and "strokes"'),
        ({"text": " ", "strokes": [[0, 0, 0], [1, 1, 1]]}, "text"),
        ({"text": "a", "strokes": [[0, 0, 0]]}, "at least two points"),
        ({"text": "a", "strokes": [[0, 0, 0], [1, 1]]}, r"point 2 must be three numbers"),
        ({"text": "a", "strokes": [[0, 0, 0], [1, "x", 1]]}, r"point 2 must be three numbers"),
        ({"text": "a", "strokes": [[0, 0, 0], [1, 1, 7]]}, r"point 2 must end in 0"),
        ('{"text": "a", "strokes": [[0, 0, 0], [NaN, 1, 1]]}', "not a finite number"),
        ({"text": "a", "strokes": [[0, 0, 0], [0, 0, 1]]}, "never moves"),
    ],
)
def test_errors_in_a_file_name_its_line(tmp_path, line, message):
    good = {"text": "字", "strokes": [[0, 0, 0], [1, 1, 1]]}
    path = tmp_path / "mine.jsonl"
    written = line if isinstance(line, str) else json.dumps(line)
    path.write_text(json.dumps(good) + "\n" + written + "\n", "utf-8")
    with pytest.raises(InputError, match=message):
        list(read_strokes([path]))
