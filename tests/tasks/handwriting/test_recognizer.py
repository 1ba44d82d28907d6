"""The recognizer of the built-in alphabet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tasks.handwriting.recognizer import (
    character_error,
    edit_distance,
    recognize,
    split_strokes,
)
from regard.tasks.handwriting.strokes.glyphs import ALPHABET
from regard.tasks.handwriting.strokes.lines import PLAIN, WritingStyle, sample, write

WORDS = st.text("abc", max_size=6)


def test_reads_the_corpus():
    lines = sample("test", 150, seed=11)
    read = [recognize(line.strokes) for line in lines]
    assert character_error([line.text for line in lines], read) <= 0.02


def test_reads_the_whole_alphabet_in_a_plain_style():
    text = " ".join([ALPHABET[:26], ALPHABET[26:52], ALPHABET[52:].strip()])
    assert recognize(write(text, PLAIN, np.random.default_rng(0))) == text


@pytest.mark.parametrize(
    "style", [WritingStyle(slant=0.4), WritingStyle(size=0.8), WritingStyle(size=1.2, slope=0.04)]
)
def test_reads_other_styles(style):
    assert recognize(write("Quick wizards", style, np.random.default_rng(0))) == "Quick wizards"


def test_reads_nothing_into_noise():
    noise = np.random.default_rng(0).normal(size=(60, 3))
    noise[:, 2] = np.arange(60) % 12 == 11
    assert recognize(noise) != ""
    assert character_error(["hello"], [recognize(noise)]) > 0.5
    assert recognize(np.zeros((0, 3))) == ""


def test_a_wrong_letter_is_read_as_it_stands():
    style, random = WritingStyle(slant=0.1), np.random.default_rng(0)
    assert recognize(write("catention", style, random)) == "catention"


def test_strokes_are_cut_where_the_pen_is_lifted():
    pen = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 0]])
    first, second = (stroke.tolist() for stroke in split_strokes(pen))
    assert first == [[0, 0], [1, 0]] and second == [[1, 1], [1, 2]]


@given(WORDS, WORDS, WORDS)
def test_distance_is_a_metric(a, b, c):
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


def test_known_distances():
    assert edit_distance("kitten", "sitting") == 3 and edit_distance("", "abc") == 3
