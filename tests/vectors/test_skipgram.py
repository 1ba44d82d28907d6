"""Skip-gram and CBOW: their parts against the formulas, what they learn of the grammar."""

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from regard.corpus.grammar import sample
from regard.corpus.grammar.vocabulary import ADJECTIVES, KINDS, PLURAL_KINDS
from regard.errors import InputError
from regard.vectors.skipgram import (
    Cbow,
    SkipGram,
    WordStream,
    batches,
    cbow_gradients,
    gradients,
    learn,
    read_text,
    subsample,
    window_pairs,
)

LINES = ["The cat saw the dog.", "the dog saw a cat", "猫看见狗。"]


def test_words_and_counts():
    text = read_text(LINES, "en", min_count=2, lowercase=True)
    assert text.words == ("the", "cat", "dog", "saw")
    assert text.counts.tolist() == [3, 2, 2, 2]
    read = " ".join(text.words[n] for n in text.stream)
    assert read == "the cat saw the dog the dog saw cat"
    assert text.sentences.tolist() == [0] * 5 + [1] * 4
    assert "猫" in read_text(LINES, "zh", min_count=1).words
    with pytest.raises(InputError, match="must occur 9 times or more, got 0 in a text of 16 words"):
        read_text(LINES, "en", min_count=9)


def test_gradients_are_those_of_the_objective():
    shapes = ((2, 5, 3), (2, 9, 3), (2, 4, 3))
    own, other, apart = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes)
    near = (torch.rand(2, 5, 9) > 0.5).double()
    weight = torch.rand(2, 5, 1).double()
    loss = -(near * F.logsigmoid(own @ other.mT)).sum()
    loss = loss - (weight * F.logsigmoid(-own @ apart.mT)).sum()
    wanted = torch.autograd.grad(loss, (own, other, apart))
    torch.testing.assert_close(gradients(own, other, apart, near, weight), wanted)


@given(
    lengths=st.lists(st.integers(1, 150), min_size=1, max_size=6),
    window=st.integers(1, 7),
    seed=st.integers(0, 99),
)
def test_pairs_are_those_within_reach_of_each_other(lengths, window, seed):
    """Every place is a centre once, with all words of its sentence that it can reach, and only."""
    number = sum(lengths)
    stream = np.arange(number)  # each word tells where it stands
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    observed = set()
    chance = np.random.default_rng(seed)
    for share, batch in batches(stream, sentences, window, chance):
        assert 0 <= share < 1
        near = window_pairs(batch, window)
        for s, i in np.argwhere(batch.sentences[:, window:-window].numpy() >= 0).tolist():
            centre, reach = int(batch.context[s, i + window]), int(batch.reach[s, i])
            result = batch.context[s][near[s, i] > 0].tolist()
            assert result == [
                j
                for j in range(centre - reach, centre + reach + 1)
                if 0 <= j < number and j != centre and sentences[j] == sentences[centre]
            ]
            assert centre not in observed
            observed.add(centre)
    assert observed == set(range(number))


def test_frequent_words_are_passed_over():
    stream = np.repeat(np.arange(4), [60_000, 30_000, 9_000, 1_000])
    text = WordStream(tuple("abcd"), np.bincount(stream), stream, np.zeros_like(stream))
    remaining, _ = subsample(text, 0.05, np.random.default_rng(0))
    share = np.bincount(remaining) / text.counts
    wanted = np.minimum(1, np.sqrt(0.05 / (text.counts / len(stream))))
    np.testing.assert_allclose(share, wanted, atol=0.02)
    assert len(subsample(text, 0, np.random.default_rng(0))[0]) == len(stream)


def test_noise_is_drawn_by_the_three_quarters_power():
    counts = np.array([810_000, 10_000, 16])
    text = WordStream(tuple("abc"), counts, np.zeros(1, int), np.zeros(1, int))
    trainer = SkipGram(dim=2).trainer(text, np.random.default_rng(0))
    draws = np.bincount(trainer.draw_noise(5000).flatten().numpy(), minlength=3)
    wanted = text.counts**0.75
    np.testing.assert_allclose(draws / draws.sum(), wanted / wanted.sum(), atol=0.003)


METHODS = {"skip-gram": SkipGram, "cbow": Cbow}
both = pytest.mark.parametrize("method", METHODS)


def test_gradients_of_cbow_are_those_of_its_objective():
    shapes = ((2, 9, 3), (2, 5, 3), (2, 4, 3))
    around, own, apart = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes)
    near = (torch.rand(2, 5, 9) > 0.5).double()
    near[0, 2] = 0  # a word with none near counts nowhere
    loss = 0
    for s, i in np.argwhere(near.sum(-1).numpy() > 0).tolist():
        mean = around[s][near[s, i] > 0].mean(0)
        loss = loss - F.logsigmoid(own[s, i] @ mean) - 0.3 * F.logsigmoid(-apart[s] @ mean).sum()
    wanted = torch.autograd.grad(loss, (around, own, apart))
    torch.testing.assert_close(cbow_gradients(around, own, apart, near, 0.3), wanted)


@cache
def sampled(language, number):
    return sample("train", number, language=language, seed=0)


@cache
def text_of(side, language, number):
    pairs = sampled("zh" if language == "zh" else "fr", number)
    return read_text((getattr(pair, side) for pair in pairs), language, 5, lowercase=True)


def learned(side, language, method="skip-gram", seed=0, number=6000, **settings):
    text = text_of(side, language, number)
    return learn(text, METHODS[method](dim=32, window=3, epochs=4, seed=seed, **settings))


@pytest.fixture(scope="module", params=METHODS)
def english(request):
    return learned("source", "en", request.param)


def test_neighbours_of_a_noun_are_of_its_kind(english):
    kinds = {noun.english: kind for kind, nouns in KINDS.items() for noun in nouns}
    kinds = {word: kind for word, kind in kinds.items() if word in english}
    right = [kinds.get(english.near(word, 1)[0].word) == kind for word, kind in kinds.items()]
    largest = max(sum(k == kind for k in kinds.values()) for kind in KINDS)
    assert len(kinds) > 200
    assert np.mean(right) > 0.8 > 4 * largest / len(english)


def asked(vectors, pairs, count=20):
    """How often d is among the answers to a : b :: c : ?, and the first answers."""
    result, first = [], []
    for a, b in pairs[:10]:
        for c, d in pairs[::2]:
            if a != c:
                answers = [near.word for near in vectors.analogy(a, b, c, count)]
                result.append(d in answers)
                first.append((d, answers[0]))
    return np.mean(result), first


def test_plural_analogies(english):
    """horse : horses :: dog : dogs is among the first, and the first a plural of dog's kind."""
    kinds = {
        (noun.english, noun.plural): kind
        for kind in sorted(PLURAL_KINDS)
        for noun in KINDS[kind]
        if noun.english in english and noun.plural in english
    }
    right, first = asked(english, list(kinds))
    assert right > 5 * 20 / len(english)
    plurals = {plural: kind for (_, plural), kind in kinds.items()}
    of_kind = np.mean([plurals[wanted] == plurals.get(answer) for wanted, answer in first])
    assert of_kind > 4 * max(map(list(plurals.values()).count, PLURAL_KINDS)) / len(english)


@both
def test_gender_analogies(method):
    """fatigué : fatiguée :: petit : petite is among the first."""
    french = learned("target", "fr", method)
    forms = [entry.forms[:2] for entry in ADJECTIVES.values() if len(set(entry.forms[:2])) == 2]
    pairs = [(a, b) for a, b in forms if a in french and b in french]
    assert len(pairs) > 40
    assert asked(french, pairs)[0] > 5 * 20 / len(french)


def test_chinese_characters_get_vectors():
    vectors = learned("target", "zh", number=2000)
    assert {"猫", "狗", "。"} & set(vectors.words)
    assert all(len(word) == 1 for word in vectors.words if "\u4e00" <= word[0] <= "\u9fff")


@both
def test_the_seed_decides(method):
    runs = [learned("source", "en", method, seed=seed, number=300) for seed in (3, 3, 4)]
    assert np.array_equal(runs[0].matrix, runs[1].matrix)
    assert not np.array_equal(runs[0].matrix, runs[2].matrix)


def test_learning_is_told():
    heard = []
    text = read_text(LINES * 40, "en", 1)
    learn(text, SkipGram(dim=4, epochs=2), lambda share, speed: heard.append((share, speed)))
    shares = [share for share, _ in heard]
    assert shares == sorted(shares) and shares[0] >= 0 and 0.5 <= shares[-1] < 1


@both
def test_vectors_of_pure_chance_are_refused(method):
    text = read_text(LINES * 9, "en", 1)
    with pytest.raises(InputError, match="--subsample 1e-12 skips nearly all words"):
        learn(text, METHODS[method](dim=4, subsample=1e-12))
    alone = read_text(["cat", "dog"] * 9, "en", 1)  # no word has a neighbour
    with pytest.raises(InputError, match="give longer lines"):
        learn(alone, METHODS[method](dim=4, subsample=0))


@pytest.mark.parametrize(
    "bad",
    [
        {"dim": 0},
        {"window": 0},
        {"epochs": 0},
        {"subsample": -1.0},
        {"subsample": float("nan")},
        {"rate": float("nan")},
        {"rate": float("inf")},
    ],
)
def test_settings_that_cannot_be(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        SkipGram(**bad)
