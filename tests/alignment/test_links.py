"""Weights of tokens to links of words: pooling, and the rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.alignment import (
    extract_links,
    locate_words,
    pool,
    tokenized_words,
    word_links,
)
from regard.corpus.grammar import sample, seed_sentences
from regard.errors import InputError
from regard.text.sentencepiece_tokenizer import train_sentencepiece
from regard.text.vocabulary import train_chars, train_words

PAIRS = {language: sample("train", 150, language=language) for language in ("fr", "zh")}
LINES = {
    "en": [pair.source for pair in PAIRS["fr"]],
    "fr": [pair.target for pair in PAIRS["fr"]],
    "zh": [pair.target for pair in PAIRS["zh"]],
}
TOKENIZERS = {
    (kind, language): train(lines, language)
    for kind, train in {
        "pieces": lambda lines, _: train_sentencepiece(lines, 600, "bpe"),
        "words": lambda lines, language: train_words(lines, None, language),
        "characters": lambda lines, language: train_chars(lines, None, language),
    }.items()
    for language, lines in LINES.items()
}
KINDS = ("pieces", "words", "characters")


def random_map(target, source, seed=0):
    """Rows that sum to one, with a row and a column for EOS and some padding."""
    shape = (target.num_tokens + 3, source.num_tokens + 1)
    return np.random.default_rng(seed).dirichlet(np.ones(shape[1]), shape[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["fr", "zh"])
def test_pooling_keeps_the_mass_and_drops_specials(kind, language):
    for pair in PAIRS[language][:20]:
        source = tokenized_words(pair.source, TOKENIZERS[kind, "en"], "en")
        target = tokenized_words(pair.target, TOKENIZERS[kind, language], language)
        weights = random_map(target, source)
        pooled = pool(weights, target, source)
        assert pooled.shape == (len(target.words), len(source.words))
        if kind == "words":  # one token is one word
            np.testing.assert_allclose(pooled, weights[: len(pooled), :-1])
        on_eos = target.means @ weights[: target.num_tokens, -1]
        # What goes to a character that is a space goes to no word either.
        spaces = source.shares.sum(axis=1) == 0
        on_spaces = target.means @ weights[: target.num_tokens, :-1] @ spaces
        np.testing.assert_allclose(pooled.sum(axis=1) + on_eos + on_spaces, 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["fr", "zh"])
def test_a_map_of_gold_links_gives_them(kind, language):
    """Every token of a target word looks at all tokens of its (first) gold source word."""
    for pair in [*PAIRS[language][:20], *seed_sentences(language)]:
        source = tokenized_words(pair.source, TOKENIZERS[kind, "en"], "en", pair.source_words)
        target = tokenized_words(
            pair.target, TOKENIZERS[kind, language], language, pair.target_words
        )
        gold = {}
        for link in pair.links:
            gold.setdefault(link.target, link.source)
        weights = np.zeros((target.num_tokens + 1, source.num_tokens + 1))
        for target_word, source_word in gold.items():
            for token in np.flatnonzero(target.overlap[:, target_word]):
                shares = source.overlap[:, source_word] / source.overlap[:, source_word].sum()
                weights[token, :-1] = shares
        weights[weights.sum(axis=1) == 0, -1] = 1.0
        found = word_links(weights, target, source)
        alone = (target.overlap > 0).sum(axis=1) <= 1  # a token of two words can follow only one
        for target_word, source_word in gold.items():
            if alone[target.overlap[:, target_word] > 0].all():
                shared = (source.overlap[source.overlap[:, source_word] > 0] > 0).sum(axis=1).max()
                if shared == 1:
                    assert (source_word, target_word) in found
        assert kind == "pieces" or alone.all()


def test_a_token_of_two_words_is_shared_by_characters():
    tokenizer = train_sentencepiece(["abcd " * 50], 300, "bpe")
    assert tokenizer.spans("abcd") == [(0, 4)]
    found = tokenized_words("abcd", tokenizer, word_list=["abc", "d"])
    np.testing.assert_allclose(found.shares, [[0.75, 0.25]])
    np.testing.assert_allclose(found.means, [[1.0], [1.0]])


def test_empty_texts_have_no_links():
    tokenizer = TOKENIZERS["words", "en"]
    nothing, something = (
        tokenized_words("", tokenizer, "en"),
        tokenized_words("The cat", tokenizer, "en"),
    )
    assert word_links(np.ones((1, 3)) / 3, nothing, something) == frozenset()
    assert word_links(np.ones((3, 1)), something, nothing) == frozenset()


def test_words_and_maps_that_do_not_fit():
    with pytest.raises(InputError, match=r"word 1 \('dog'\)"):
        locate_words(["The", "dog"], "The cat")
    text = tokenized_words("The cat", TOKENIZERS["words", "en"], "en")
    with pytest.raises(InputError, match="1 rows and 2 columns"):
        pool(np.ones((1, 2)), text, text)


def test_rule():
    weights = np.array([[0.5, 0.3, 0.0], [0.1, 0.1, 0.2], [0.0, 0.0, 0.0], [0.3, 0.3, 0.3]])
    assert extract_links(weights) == {(0, 0), (0, 3)}  # the second gave most to specials
    assert extract_links(np.full((1, 10), 0.05 - 1e-9)) == {(0, 0)}  # half, but for rounding
    # Mutually: source word 0 is the largest of targets 0 and 3, and target 0 has more of it. Target
    # 3 takes source word 2 then, and the second target's specials do not matter.
    assert extract_links(weights, mutual=True) == {(0, 0), (2, 3)}


def test_a_word_that_all_attend_to_does_not_take_mutual_links():
    """Two target words give most to the full stop (2), which only the third translates."""
    weights = np.array([[0.4, 0.0, 0.5], [0.0, 0.4, 0.5], [0.0, 0.0, 1.0]])
    assert extract_links(weights) == {(2, 0), (2, 1), (2, 2)}
    assert extract_links(weights, mutual=True) == {(0, 0), (1, 1), (2, 2)}


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 99))
def test_mutual_links_are_the_best_both_ways(num_targets, num_sources, seed):
    weights = np.random.default_rng(seed).random((num_targets, num_sources))
    weights /= 2 * np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    links = extract_links(weights)
    assert sorted(target for _, target in links) == list(range(num_targets if num_sources else 0))
    best = {
        (max(range(num_sources), key=lambda s: weights[t, s] ** 2 / weights[:, s].sum()), t)
        for t in range(num_targets if num_sources else 0)
    }
    back = {
        (s, max(range(num_targets), key=lambda t: weights[t, s]))
        for s in range(num_sources if num_targets else 0)
    }
    assert extract_links(weights, mutual=True) == best & back
