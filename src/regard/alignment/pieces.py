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
from regard.text import Tokenizer, Word, normalise, words

Array = NDArray[np.floating]
"""Weights of any precision."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The words of a text, and the share that each has in each of the text's tokens.

    words    the words with their places in the normalised text
    overlap  (tokens, words): characters that a token and a word have in common

    Specials (EOS) are not among the tokens: they come after them and belong to no word. A token
    may belong to several words, as a piece of two Chinese characters or of `qu'il` does.
    """

    words: tuple[Word, ...]
    overlap: NDArray[np.int64]

    @property
    def num_tokens(self) -> int:
        """How many tokens the text has, EOS not counted."""
        return len(self.overlap)

    @cached_property
    def shares(self) -> Array:
        """(tokens, words): how a token's weight is shared out; rows sum to one, or to zero."""
        total = self.overlap.sum(axis=1, keepdims=True)
        return np.asarray(self.overlap / np.maximum(total, 1))

    @cached_property
    def means(self) -> Array:
        """(words, tokens): the mean over a word's tokens; rows sum to one, or to zero."""
        member = (self.overlap > 0).T
        return np.asarray(member / np.maximum(member.sum(axis=1, keepdims=True), 1))


def pieces(
    text: str, tokenizer: Tokenizer, language: str = "", given: Sequence[str] | None = None
) -> Pieces:
    """The words of a text and its tokens; `given` words (of gold links) replace the text's own.

    >>> from regard.text.word_tokenizer import train_words
    >>> tokenizer = train_words(["The cat didn't sleep."], None, "en")
    >>> pieces("The cat didn't sleep.", tokenizer, "en").overlap.shape
    (5, 5)
    """
    normal = normalise(text)
    found = words(normal, language) if given is None else located(given, normal)
    return Pieces(tuple(found), _overlap(tokenizer.spans(text), found))


def written_pieces(ids: Sequence[int], tokenizer: Tokenizer, language: str = "") -> Pieces:
    """The words of what a model wrote, and its tokens, however the model spelled them.

    A model may spell a word in other tokens than the tokeniser would; then the characters of each
    token are found by reading the tokens one after another.
    """
    text = tokenizer.decode(ids)
    if tokenizer.encode(text) == list(ids):
        return pieces(text, tokenizer, language)
    found = words(text, language)
    ends = [len(tokenizer.decode(ids[: number + 1])) for number in range(len(ids))]
    spans = list(zip([0, *ends], ends, strict=False))
    return Pieces(tuple(found), _overlap(spans, found))


def located(given: Sequence[str], text: str) -> list[Word]:
    """Given words at their places in the text, in order; what is between them is passed over.

    >>> located(["L'", "animal"], "L'animal dort")
    [Word(text="L'", start=0, end=2), Word(text='animal', start=2, end=8)]
    """
    found, place = [], 0
    for number, word in enumerate(given):
        start = text.find(word, place)
        if start < 0:
            raise InputError(
                f"word {number} ({word!r}) is not in {text!r} after character {place}; "
                "give the words of this text in their order."
            )
        place = start + len(word)
        found.append(Word(word, start, place))
    return found


def pool(weights_TS: Array, target: Pieces, source: Pieces) -> Array:
    """(V, U): the weight that each target word gave to each source word.

        pooled[v, u] = mean over tokens t of v of (sum over s of weights[t, s] · share of u in s)

    A row sums to what was not given to specials. Leading dimensions (heads) are kept. Rows and
    columns after the texts' own tokens (EOS, padding) belong to no word.
    """
    enough = weights_TS.shape[-2] >= target.num_tokens and weights_TS.shape[-1] >= source.num_tokens
    if not enough:
        raise InputError(
            f"the map has {weights_TS.shape[-2]} rows and {weights_TS.shape[-1]} columns, but the "
            f"texts have {target.num_tokens} and {source.num_tokens} tokens; "
            "give the map of these texts."
        )
    own = weights_TS[..., : target.num_tokens, : source.num_tokens]
    return np.asarray(target.means @ own @ source.shares)


def _overlap(spans: Sequence[tuple[int, int]], found: Sequence[Word]) -> NDArray[np.int64]:
    start, end = np.array(spans, np.int64).reshape(-1, 2).T
    places = [(word.start, word.end) for word in found]
    first, last = np.array(places, np.int64).reshape(-1, 2).T
    common = np.minimum(end[:, None], last) - np.maximum(start[:, None], first)
    return np.asarray(np.maximum(common, 0))
