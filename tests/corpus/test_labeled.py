"""Labeled examples: cleaning, splitting, and corpora with known causes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_texts import KEYWORDS, known_texts
from regard.corpus.labeled import (
    check_labels,
    clean_labeled,
    split_labeled,
)
from regard.corpus.planted_series import EVENTS, planted
from regard.errors import InputError
from regard.formats.labeled import LabeledText


def test_cleaning_drops_what_is_empty_or_twice():
    rows = [("a", "cafe\u0301"), ("a", " café "), ("b", "café"), ("b", "\t")]
    examples, dropped = clean_labeled(LabeledText(*row, "f", 1) for row in rows)
    assert examples == [("café", "a"), ("café", "b")]
    assert dropped == {"duplicate": 1, "empty": 1}


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)), min_size=8), st.integers(0, 9)
)
def test_a_split_keeps_contents_together_and_labels_in_both(rows, seed):
    labels, contents = [row[0] for row in rows], [row[1] for row in rows]
    try:
        train, dev = split_labeled(labels, contents, seed)
    except InputError:
        return
    assert sorted(train + dev) == list(range(len(rows)))
    assert not {contents[n] for n in train} & {contents[n] for n in dev}
    assert {labels[n] for n in train} == set(labels)
    assert (train, dev) == split_labeled(labels, contents, seed)


def test_a_split_takes_a_tenth_of_each_label():
    labels = ["a"] * 100 + ["b"] * 40
    _, dev = split_labeled(labels, range(140), 0)
    assert Counter(labels[n] for n in dev) == {"a": 10, "b": 4}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 9, "only 'a' occurs"),
        ([], "none occurs"),
        (["a", "b"], "at least 4 examples are needed, got 2"),
    ],
)
def test_labels_that_cannot_be_told_apart(labels, message):
    with pytest.raises(InputError, match=message):
        check_labels(labels, "x.tsv")


def test_planted_series_are_the_noise_and_the_event():
    data = planted(200, 3, channels=5, moments=64, width=12, strength=6.0)
    quiet = planted(200, 3, channels=5, moments=64, width=12, strength=0.0)
    changed = data.x != quiet.x
    for n in range(200):
        assert (data.channel[n] == -1) == (EVENTS[data.y[n]] == "rest")
        where = np.argwhere(changed[n])
        if data.y[n] == 0:
            assert not len(where)
            continue
        assert (where[:, 0] == data.channel[n]).all()
        assert where[:, 1].min() >= data.start[n] and where[:, 1].max() < data.end[n]
        added = (data.x[n] - quiet.x[n])[data.channel[n], data.start[n] : data.end[n]]
        assert {"up": added.min() >= 0, "down": added.max() <= 0, "burst": abs(added.sum()) < 9}[
            EVENTS[data.y[n]]
        ]
    assert Counter(data.y.tolist()) == dict.fromkeys(range(4), 50)
    np.testing.assert_array_equal(data.x, planted(200, 3, channels=5, moments=64, width=12).x)
    assert len(set(planted(1, channels=40, moments=16, width=8).channels)) == 40


@pytest.mark.parametrize("settings", [{"count": 0}, {"channels": 0}, {"width": 7}, {"width": 129}])
def test_series_that_cannot_be_written(settings):
    with pytest.raises(InputError):
        planted(**{"count": 3, **settings})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_known_texts_have_one_cause(language):
    words = {word: label for label, some in KEYWORDS[language].items() for word in some}
    for row in known_texts(60, 1, language):
        causes = [word for word in words if word in row.text]
        assert causes == [row.cause] and words[row.cause] == row.label
        parts = list(row.text) if language == "zh" else row.text.split()
        assert parts[row.position] == row.cause
