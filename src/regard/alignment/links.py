"""The rule that turns attention weights into links between source and target words.

Shapes: V target words (or tokens), U source words (or tokens).
"""

from __future__ import annotations

import numpy as np

from regard.alignment.tokenized_words import Array, Flags, TokenizedWords, pool

Link = tuple[int, int]
"""A source word and a target word, counted from 0."""

Links = frozenset[Link]


def word_links(
    weights_TS: Array,
    target: TokenizedWords,
    source: TokenizedWords,
    *,
    ratio: float | None = None,
    null: float = 0.5,
    mutual: bool = False,
) -> Links:
    """The word links of one sentence's token weights; see `extract_links` for the rule."""
    return extract_links(pool(weights_TS, target, source), ratio=ratio, null=null, mutual=mutual)


def extract_links(
    weights_VU: Array, *, ratio: float | None = None, null: float = 0.5, mutual: bool = False
) -> Links:
    """The links of a matrix of word weights.

    Each target word is linked to the source word of its largest weight (the first, if two are
    equal). With a `ratio` it is linked to all source words whose weight is at least that share of
    the largest. It stays unlinked if less than `1 - null` of its weight is on words: the rest is
    on special tokens. `null=1` links every target word that attends to any word.

    `mutual` keeps a link only if it is also the source word's largest (or within `ratio` of that)
    among all target words. This leaves more words unlinked, mostly function words, and makes the
    remaining links more precise: suited to error rates, not to showing a word's origin.

    >>> weights = np.array([[0.7, 0.2, 0.1], [0.1, 0.4, 0.4], [0.1, 0.1, 0.0]])
    >>> sorted(extract_links(weights))
    [(0, 0), (1, 1)]
    >>> sorted(extract_links(weights, ratio=0.9, null=1.0))
    [(0, 0), (0, 2), (1, 1), (1, 2), (2, 1)]
    """
    return frozenset(
        (int(source), int(target))
        for target, source in np.argwhere(link_mask(weights_VU, ratio, null, mutual))
    )


def link_mask(
    weights_VU: Array, ratio: float | None = None, null: float = 0.5, mutual: bool = False
) -> Flags:
    """The links of `extract_links` as a boolean matrix (V, U); leading dimensions are kept."""
    if ratio is not None and not 0 < ratio <= 1:
        raise ValueError(f"ratio must be above 0 and at most 1, got {ratio}.")
    if not 0 <= null <= 1:
        raise ValueError(f"null must be from 0 to 1, got {null}.")
    if 0 in weights_VU.shape[-2:]:
        return np.zeros(weights_VU.shape, bool)
    chosen = _largest(weights_VU, ratio)
    if mutual:
        chosen &= _largest(weights_VU.swapaxes(-1, -2), ratio).swapaxes(-1, -2)
    # A millionth less, so that a row that sums to one but for rounding passes null=0.
    enough = weights_VU.sum(axis=-1, keepdims=True) >= (1 - null) * (1 - 1e-6)
    return np.asarray(chosen & enough & (weights_VU > 0))


def _largest(weights_VU: Array, ratio: float | None) -> Flags:
    """In each row the first largest weight, or all that are at least `ratio` of the largest."""
    if ratio is not None:
        return np.asarray(weights_VU >= ratio * weights_VU.max(axis=-1, keepdims=True))
    columns = weights_VU.argmax(axis=-1)[..., None]
    return np.asarray(np.arange(weights_VU.shape[-1]) == columns)
