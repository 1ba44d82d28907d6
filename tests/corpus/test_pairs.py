"""Cleaning and splitting: what goes, what is counted, and that no source is on both sides."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config import CleaningSettings
from regard.corpus.pairs import Pair, clean
from regard.corpus.splits import dev_size, split_dev
from regard.errors import InputError
from regard.formats import RawPair, read_pairs
from regard.text.words import count_words


def raw(*sides):
    return [RawPair(source, target, "a.tsv", n) for n, (source, target) in enumerate(sides, 1)]


def test_each_fault_is_counted_with_its_first_place():
    pairs, report = clean(
        raw(
            ("Good  morning.", "Bonjour\u00a0!"),
            ("", "vide"),
            ("empty", " \u200a\n"),
            ("long " * 251, "longue " * 251),
            ("one", "mot " * 40),
            ("Good morning.", "Bonjour !"),
            ("Good morning.", "Salut !"),
            ("OK", "OK"),
        )
    )
    assert pairs == [
        Pair("Good morning.", "Bonjour !"),
        Pair("Good morning.", "Salut !"),
        Pair("OK", "OK"),
    ]
    assert report.rows() == [
        ("read", 8, ""),
        ("empty side", 2, "a.tsv:2"),
        ("too long", 1, "a.tsv:4"),
        ("lengths too different", 1, "a.tsv:5"),
        ("duplicate", 1, "a.tsv:6"),
        ("kept", 3, ""),
    ]


def test_identical_sides_go_only_if_asked():
    kept, report = clean(raw(("OK", "OK"), ("a", "b")), CleaningSettings(drop_identical=True))
    assert kept == [Pair("a", "b")]
    assert report.dropped == {"identical": 1}


def test_rules_can_be_switched_off():
    rules = CleaningSettings(max_length=1000, max_ratio=0, drop_duplicates=False)
    given_pairs = raw(("one", "mot " * 400), ("a", "b"), ("a", "b"))
    assert len(clean(given_pairs, rules)[0]) == 3


@given(
    st.lists(st.sampled_from(["a", "longer-word's", "U.S.", "3.5", "!?", "我们", "é"]), min_size=1),
    st.lists(st.sampled_from(["b", "mots", "l'eau", "——", "たべる"]), min_size=1),
    st.integers(1, 30),
    st.sampled_from([0, 1.5, 3]),
)
def test_lengths_are_counted_in_words(source, target, longest, ratio):
    rules = CleaningSettings(max_length=longest, max_ratio=ratio, ratio_slack=2)
    pair = Pair(" ".join(source), " ".join(target))
    shorter, longer = sorted(map(count_words, pair[:2]))
    fits = longer <= longest and (not ratio or longer + 2 <= ratio * (shorter + 2))
    assert clean(raw(pair[:2]), rules)[0] == [pair] * fits


def test_natural_pairs_of_unlike_languages_stay():
    natural = raw(
        ("Hi.", "嗨。"),
        ("Go.", "Va !"),
        ("The animal didn't cross the street.", "那只动物没有过马路，因为它太累了。"),
        ("Thanks.", "Je vous remercie infiniment de tout cela."),
        ("疲れた。", "I am tired."),
    )
    assert len(clean(natural)[0]) == len(natural)


def test_from_a_file(tmp_path):
    (tmp_path / "a.tsv").write_text("Go.\tVa !\tCC\n\nGo.\tVa !\tCC\n")
    pairs, report = clean(read_pairs(tmp_path / "a.tsv"))
    assert pairs == [Pair("Go.", "Va !")]
    assert report.rows()[1:3] == [
        ("empty side", 1, f"{tmp_path}/a.tsv:2"),
        ("duplicate", 1, f"{tmp_path}/a.tsv:3"),
    ]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3)), min_size=40, max_size=80),
    st.integers(1, 20),
    st.integers(0, 5),
)
def test_split_by_source(numbers, size, seed):
    pairs = [Pair(f"source {source}", f"target {target}") for source, target in numbers]
    try:
        train, dev = split_dev(pairs, size, seed)
    except InputError:
        assert min(Counter(pair.source for pair in pairs).values()) > size
        return
    assert 1 <= len(dev) <= size
    assert not {pair.source for pair in train} & {pair.source for pair in dev}
    assert Counter(train) + Counter(dev) == Counter(pairs)
    assert (train, dev) == split_dev(pairs, size, seed)


def test_split_is_exact_ordered_and_by_seed():
    pairs = [Pair(f"s{number}", f"t{number}") for number in range(1000)]
    train, dev = split_dev(pairs, 100, 1)
    assert (len(train), len(dev)) == (900, 100)
    assert train == sorted(train, key=pairs.index)
    assert dev != split_dev(pairs, 100, 2)[1]


@pytest.mark.parametrize("size", [0, 6, 11])
def test_split_of_too_few(size):
    with pytest.raises(InputError, match=rf"half of the 10 pairs, got {size}\.$"):
        split_dev([Pair(str(number), "x") for number in range(10)], size, 0)


def test_default_size_of_the_development_set():
    assert [dev_size(count) for count in (2, 100, 10_000, 10_000_000)] == [1, 5, 500, 1000]
