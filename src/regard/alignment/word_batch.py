"""The words and tokens of many sentences, and their attention pooled from tokens to words.

What `tokenized_words` and `pool` are for one sentence, computed for many at once: on sentences of
a dozen words, calls of NumPy cost more than their arithmetic.

Shapes: N sentences; T target tokens, S source tokens, V target words, U source words, all padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.alignment.tokenized_words import Array, TokenizedWords
from regard.text import Tokenizer
from regard.text.words import word_texts

Counts = NDArray[np.intp]
Number = TypeVar("Number", bound=np.generic)


class WordBatch(NamedTuple):
    """The words of sentences, and the share of each word in each token of its sentence.

    words    of each sentence
    overlap  (N, tokens, words): characters that a token and a word have in common; zero elsewhere
    """

    words: list[tuple[str, ...]]
    overlap: Counts

    def shares(self) -> Array:
        """(N, tokens, words): how a token's weight is split; rows sum to one, or to zero."""
        total = self.overlap.sum(2, keepdims=True)
        return np.asarray(self.overlap / np.maximum(total, 1))

    def members(self) -> Array:
        """(N, words, tokens): one where a token belongs to a word."""
        return (self.overlap > 0).swapaxes(1, 2).astype(np.float64)


def word_batch(
    texts: Sequence[str],
    ids: Sequence[Sequence[int]],
    tokenizer: Tokenizer,
    language: str,
    tokenized: Callable[[int], TokenizedWords],
) -> WordBatch:
    """The words and tokens of texts as the tokenizer normalizes or decodes them.

    Words and tokens divide the same characters, those that are not spaces, so that both their
    spans follow from their lengths. Where a token's length is not known (a byte of a character),
    or the text is not that of its tokens, `tokenized` returns the sentence of a number.
    """
    words = [tuple(word_texts(text, language)) for text in texts]
    lengths: Counts | None = getattr(tokenizer, "num_characters", None)
    flat_ids = np.fromiter(chain.from_iterable(ids), np.intp)
    of_tokens = flat_ids * 0 - 1 if lengths is None else lengths[flat_ids]
    tokens_NT = padded(of_tokens, list(map(len, ids)))
    of_words = np.fromiter(map(len, chain.from_iterable(words)), np.intp)
    words_NU = padded(of_words, list(map(len, words)))
    known = (tokens_NT.min(1, initial=0) >= 0) & (tokens_NT.sum(1) == words_NU.sum(1))
    overlap_NTU = _overlap(tokens_NT, words_NU)
    for number in np.flatnonzero(~known).tolist():
        own = tokenized(number).overlap
        overlap_NTU[number] = 0
        overlap_NTU[number, : own.shape[0], : own.shape[1]] = own
    return WordBatch(words, overlap_NTU)


def pool_batch(weights_NTS: Array, target: WordBatch, source: WordBatch) -> Array:
    """(N, V, U): the attention of each target word to each source word, as `pool` defines it."""
    members_NVT = target.members()
    means_NVT = members_NVT / np.maximum(members_NVT.sum(2, keepdims=True), 1)
    return np.asarray(means_NVT @ weights_NTS @ source.shares())


def padded(flat: NDArray[Number], counts: Sequence[int]) -> NDArray[Number]:
    """(N, longest): the numbers of each sentence, which stand one after the other in `flat`.

    >>> padded(np.array([1, 2, 3]), [2, 0, 1]).tolist()
    [[1, 2], [0, 0], [3, 0]]
    """
    ends = np.array(counts, np.intp)[:, None]
    within = np.arange(max(counts, default=0)) < ends
    rows = np.zeros(within.shape, flat.dtype)
    rows[within] = flat
    return rows


def _overlap(tokens_NT: Counts, words_NU: Counts) -> Counts:
    """(N, T, U): characters in common, by the number of characters of each."""
    token_ends, word_ends = tokens_NT.cumsum(1), words_NU.cumsum(1)
    common = np.minimum(token_ends[:, :, None], word_ends[:, None])
    starts = (token_ends - tokens_NT)[:, :, None], (word_ends - words_NU)[:, None]
    common -= np.maximum(*starts)
    return np.asarray(np.maximum(common, 0, out=common))
