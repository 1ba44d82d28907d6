"""Which tokens make up which words, and attention pooled from tokens to words.

Shapes: T target tokens, S source tokens (EOS among both), V target words, U source words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.text import Tokenizer, Word, normalize, words
from regard.text.tags import tagged_spans

Array = NDArray[np.floating]
"""Weights of any precision."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TokenizedWords:
    """The words of a text, and the share of each word in each of the text's tokens.

    words    the words with their spans in the normalized text
    overlap  (tokens, words): characters that a token and a word have in common

    Special tokens (EOS) are not counted: they follow the text's tokens and belong to no word. A
    token may belong to several words, as a piece of two Chinese characters or of `qu'il` does.
    """

    words: tuple[Word, ...]
    overlap: NDArray[np.int64]

    @property
    def num_tokens(self) -> int:
        """The number of tokens, without EOS."""
        return len(self.overlap)

    @cached_property
    def shares(self) -> Array:
        """(tokens, words): how a token's weight is split; rows sum to one, or to zero."""
        total = self.overlap.sum(axis=1, keepdims=True)
        return np.asarray(self.overlap / np.maximum(total, 1))

    @cached_property
    def tokens(self) -> list[list[int]]:
        """The tokens of each word."""
        tokens: list[list[int]] = [[] for _ in self.words]
        for word, token in np.argwhere(self.overlap.T).tolist():
            tokens[word].append(token)
        return tokens

    @cached_property
    def means(self) -> Array:
        """(words, tokens): the mean over a word's tokens; rows sum to one, or to zero."""
        member = (self.overlap > 0).T
        return np.asarray(member / np.maximum(member.sum(axis=1, keepdims=True), 1))


def tokenized_words(
    text: str,
    tokenizer: Tokenizer,
    language: str = "",
    word_list: Sequence[str] | None = None,
    ids: Sequence[int] | None = None,
) -> TokenizedWords:
    """The words and tokens of a text; `word_list` (of gold links) replaces the text's words.

    `ids` are the text's tokens, if they are known, or the first of them; tags before them belong
    to no word.

    >>> from regard.text.vocabulary import train_words
    >>> tokenizer = train_words(["The cat didn't sleep."], None, "en")
    >>> tokenized_words("The cat didn't sleep.", tokenizer, "en").overlap.shape
    (5, 5)
    """
    normal = normalize(text)
    located = words(normal, language) if word_list is None else locate_words(word_list, normal)
    spans = tokenizer.spans(text) if ids is None else tagged_spans(tokenizer, text, ids)
    if ids is not None:  # those of a text that is cut to the model's length are fewer
        spans = spans[: len(ids)]
    return TokenizedWords(tuple(located), _overlap(spans, located))


def tokenized_output(
    ids: Sequence[int], tokenizer: Tokenizer, language: str = ""
) -> TokenizedWords:
    """The words and tokens of a model's output.

    A model may spell a word in other tokens than the tokenizer would; then the characters of each
    token are found by decoding the prefixes of the output.
    """
    text = tokenizer.decode(ids)
    if tokenizer.encode(text) == list(ids):
        return tokenized_words(text, tokenizer, language, ids=ids)
    located = words(text, language)
    ends = [len(tokenizer.decode(ids[: number + 1])) for number in range(len(ids))]
    spans = list(zip([0, *ends], ends, strict=False))
    return TokenizedWords(tuple(located), _overlap(spans, located))


def locate_words(word_list: Sequence[str], text: str) -> list[Word]:
    """The listed words with their spans in the text, in order; text between them is skipped.

    >>> locate_words(["L'", "animal"], "L'animal dort")
    [Word(text="L'", start=0, end=2), Word(text='animal', start=2, end=8)]
    """
    located, position = [], 0
    for number, word in enumerate(word_list):
        start = text.find(word, position)
        if start < 0:
            raise InputError(
                f"word {number} ({word!r}) is not in {text!r} after character {position}; "
                "give the words of this text in their order."
            )
        position = start + len(word)
        located.append(Word(word, start, position))
    return located


def pool(weights_TS: Array, target: TokenizedWords, source: TokenizedWords) -> Array:
    """(V, U): the attention of each target word to each source word.

        pooled[v, u] = mean over tokens t of v of (sum over s of weights[t, s] · share of u in s)

    A row sums to the weight that is not on special tokens. Leading dimensions (heads) are kept.
    Rows and columns after the texts' own tokens (EOS, padding) belong to no word.
    """
    num_rows, num_columns = weights_TS.shape[-2:]
    if num_rows < target.num_tokens or num_columns < source.num_tokens:
        raise InputError(
            f"the map has {num_rows} rows and {num_columns} columns, but the texts have "
            f"{target.num_tokens} and {source.num_tokens} tokens; give the map of these texts."
        )
    tokens_TS = weights_TS[..., : target.num_tokens, : source.num_tokens]
    return np.asarray(target.means @ tokens_TS @ source.shares)


def _overlap(spans: Sequence[tuple[int, int]], located: Sequence[Word]) -> NDArray[np.int64]:
    start, end = np.array(spans, np.int64).reshape(-1, 2).T
    word_spans = [(word.start, word.end) for word in located]
    first, last = np.array(word_spans, np.int64).reshape(-1, 2).T
    common = np.minimum(end[:, None], last) - np.maximum(start[:, None], first)
    return np.asarray(np.maximum(common, 0))
