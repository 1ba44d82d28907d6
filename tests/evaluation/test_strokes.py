"""The recogniser: it reads the corpus, and reads what is written, not what was meant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.corpus.strokes import ALPHABET, PLAIN, Hand, sample, write
from regard.evaluation.strokes import character_error, distance, recognise, split_strokes

WORDS = st.text("abc", max_size=6)


def test_reads_the_corpus():
    lines = sample("test", 150, seed=11)
    read = [recognise(line.strokes) for line in lines]
    assert character_error([line.text for line in lines], read) <= 0.02


def test_reads_the_whole_alphabet_in_a_plain_hand():
    text = " ".join([ALPHABET[:26], ALPHABET[26:52], ALPHABET[52:].strip()])
    assert recognise(write(text, PLAIN, np.random.default_rng(0))) == text


@pytest.mark.parametrize("hand", [Hand(slant=0.4), Hand(size=0.8), Hand(size=1.2, slope=0.04)])
def test_reads_other_hands(hand):
    assert recognise(write("Quick wizards", hand, np.random.default_rng(0))) == "Quick wizards"


def test_reads_nothing_into_noise():
    noise = np.random.default_rng(0).normal(size=(60, 3))
    noise[:, 2] = np.arange(60) % 12 == 11
    assert recognise(noise) != ""
    assert character_error(["hello"], [recognise(noise)]) > 0.5
    assert recognise(np.zeros((0, 3))) == ""


def test_a_wrong_letter_is_read_as_it_stands():
    hand, random = Hand(slant=0.1), np.random.default_rng(0)
    assert recognise(write("catention", hand, random)) == "catention"


def test_strokes_are_cut_where_the_pen_is_lifted():
    pen = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 0]])
    one, two = (stroke.tolist() for stroke in split_strokes(pen))
    assert one == [[0, 0], [1, 0]] and two == [[1, 1], [1, 2]]


@given(WORDS, WORDS, WORDS)
def test_distance_is_a_metric(a, b, c):
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) == (a == b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
    assert abs(len(a) - len(b)) <= distance(a, b) <= max(len(a), len(b))


def test_known_distances():
    assert distance("kitten", "sitting") == 3 and distance("", "abc") == 3
