"""From attention weights to links: which source words each target word looked at.

Shapes: V target words (or tokens), U source words (or tokens).
"""

from __future__ import annotations

import numpy as np

from regard.alignment.pieces import Array, Flags, Pieces, pool

Link = tuple[int, int]
"""A source word and a target word, counted from 0."""

Links = frozenset[Link]


def word_links(
    weights_TS: Array,
    target: Pieces,
    source: Pieces,
    *,
    ratio: float | None = None,
    null: float = 0.5,
    mutual: bool = False,
) -> Links:
    """The word links of one sentence's map of tokens; see `decide` for the rule."""
    return decide(pool(weights_TS, target, source), ratio=ratio, null=null, mutual=mutual)


def decide(
    weights_VU: Array, *, ratio: float | None = None, null: float = 0.5, mutual: bool = False
) -> Links:
    """The links that a map of weights shows.

    Each target word is linked to the source word of its largest weight (the first, if two are
    equal). With a `ratio` it is linked to all source words whose weight is at least that share of
    the largest. It stays without a link if less than `1 - null` of its weight is on words: the
    rest went to specials. `null=1` links every target word that looked at any word.

    `mutual` keeps a link only if it is also the source word's largest (or within `ratio` of that)
    among all target words. This leaves words without a link, mostly function words, and makes
    those that are left more precise: the choice for error rates, not for showing a word's origin.

    >>> weights = np.array([[0.7, 0.2, 0.1], [0.1, 0.4, 0.4], [0.1, 0.1, 0.0]])
    >>> sorted(decide(weights))
    [(0, 0), (1, 1)]
    >>> sorted(decide(weights, ratio=0.9, null=1.0))
    [(0, 0), (0, 2), (1, 1), (1, 2), (2, 1)]
    """
    return frozenset(
        (int(source), int(target))
        for target, source in np.argwhere(decided(weights_VU, ratio, null, mutual))
    )


def decided(
    weights_VU: Array, ratio: float | None = None, null: float = 0.5, mutual: bool = False
) -> Flags:
    """The same as a boolean map (V, U); leading dimensions (heads) are kept."""
    if ratio is not None and not 0 < ratio <= 1:
        raise ValueError(f"ratio is {ratio} but must be above 0 and at most 1.")
    if not 0 <= null <= 1:
        raise ValueError(f"null is {null} but must be from 0 to 1.")
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
    places = weights_VU.argmax(axis=-1)[..., None]
    return np.asarray(np.arange(weights_VU.shape[-1]) == places)
