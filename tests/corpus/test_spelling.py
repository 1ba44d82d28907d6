"""Words spelled out: right by construction, apart by split, the same by seed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.corpus.spelling import LONGEST, NAMES, SHORTEST, sample, spelled, word_split
from regard.corpus.splits import SPLITS

every_split = pytest.mark.parametrize("split", SPLITS)


def test_names_are_one_for_each_letter():
    assert sorted(NAMES) == [chr(n) for n in range(ord("a"), ord("z") + 1)]
    assert len(set(NAMES.values())) == 26
    assert not any(" " in name for name in NAMES.values())


@every_split
def test_targets_spell_their_sources(split):
    letters = {name: letter for letter, name in NAMES.items()}
    for source, target, *_ in sample(split, 300):
        assert SHORTEST <= len(source) <= LONGEST
        assert "".join(letters[name] for name in target.split(" ")) == source
        assert word_split(source) == split


def test_splits_share_no_word_whatever_the_seed():
    samples = [{p.source for p in sample(split, 2000, seed)} for split in SPLITS for seed in (0, 1)]
    train, dev, test = (samples[n] | samples[n + 1] for n in (0, 2, 4))
    assert not (train & dev or train & test or dev & test)


@every_split
def test_samples_are_by_seed_unique_and_begin_alike(split):
    many = sample(split, 500, 3)
    assert len({pair.source for pair in many}) == 500
    assert sample(split, 50, 3) == many[:50]
    assert sample(split, 50, 4) != many[:50]


def test_every_letter_and_every_length_is_there():
    words = [pair.source for pair in sample("train", 2000)]
    assert {letter for word in words for letter in word} == set(NAMES)
    for length in range(SHORTEST, LONGEST + 1):
        assert sum(len(word) == length for word in words) > 50


@given(st.text("abcxyz", min_size=1), st.text("abcxyz", min_size=1))
def test_spelling_joins_as_words_do(word, other):
    assert spelled(word + other) == f"{spelled(word)} {spelled(other)}"


def test_what_cannot_be_spelled_is_refused():
    with pytest.raises(ValueError, match="'é'"):
        spelled("café")
    with pytest.raises(ValueError, match="'valid'"):
        sample("valid", 1)
