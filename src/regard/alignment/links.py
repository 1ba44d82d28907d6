"""The rules that turn attention weights into links between source and target words.

    argmax    each target word with the source word of its largest weight
    mutual    of these, the links that are the largest from the source word's side too
    entropic  each target word with every source word of a large weight, if it is certain of them

Shapes: V target words, U source words.
"""

from __future__ import annotations

import numpy as np

from regard.alignment.tokenized_words import Array, Flags, TokenizedWords, pool
from regard.errors import InputError

Link = tuple[int, int]
"""A source word and a target word, counted from 0."""

Links = frozenset[Link]

MIN_SHARE = 0.5
"""The share of its weight that a linked target word has on words rather than on special tokens."""


MIN_CERTAIN = 0.25
"""The least weight of an entropic link, scaled by how certain its target word is."""

RULES = ("argmax", "mutual", "entropic")


def word_links(
    weights_TS: Array, target: TokenizedWords, source: TokenizedWords, *, mutual: bool = False
) -> Links:
    """The word links of one sentence's token weights; see `extract_links` for the rule."""
    return extract_links(pool(weights_TS, target, source), mutual=mutual)


def extract_links(weights_VU: Array, *, mutual: bool = False) -> Links:
    """The links of a matrix of word weights.

    Each target word is linked to the source word of its largest weight (the first, if two are
    equal). It stays unlinked if less than half of its weight is on words.

    `mutual` keeps a link only if each of its words is the other's best: the target word v is the
    one with the largest weight α(v, u) on the source word u, and u is the one with the largest
    product of α(v, u) and its share of all that u receives,

        α(v, u) · α(v, u) / Σ_v' α(v', u)

    so that a source word that many target words attend to a little (an article, a full stop) does
    not take them from the words they translate. Weight on special tokens does not matter. This
    leaves more words unlinked, mostly function words, and makes the remaining links more precise:
    suited to error rates, not to showing a word's origin.

    >>> sorted(extract_links(np.array([[0.7, 0.2, 0.1], [0.1, 0.4, 0.4], [0.1, 0.1, 0.0]])))
    [(0, 0), (1, 1)]
    """
    return frozenset(
        (int(source), int(target)) for target, source in np.argwhere(link_mask(weights_VU, mutual))
    )


def entropic_links(weights_VU: Array) -> Links:
    """The links of a matrix of word weights that are large for how certain a target word is.

        p(u | v) · (1 - H(v) / log U) ≥ MIN_CERTAIN

    p is a row of weights, scaled to sum to one, and H its entropy: 0 for a word that looks at one
    source word, log U for one that looks at all alike. So a word may have several links, and one
    that is undecided has none. As with `extract_links`, a word needs half of its weight on words.

    >>> weights = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.2, 0.3, 0.3, 0.2]])
    >>> sorted(entropic_links(weights))
    [(0, 0), (1, 0), (2, 1)]
    """
    if 0 in weights_VU.shape:
        return frozenset()
    total = weights_VU.sum(axis=-1, keepdims=True)
    share = weights_VU / np.where(total > 0, total, 1.0)
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=-1, keepdims=True)
    certainty = 1 - entropy / max(np.log(weights_VU.shape[-1]), 1e-9)
    chosen = (share * certainty >= MIN_CERTAIN) & (total >= MIN_SHARE * (1 - 1e-6))
    return frozenset((int(source), int(target)) for target, source in np.argwhere(chosen))


def rule_links(weights_VU: Array, rule: str) -> Links:
    """The links of a matrix of word weights by a rule of `RULES`."""
    if rule not in RULES:
        raise InputError(f"rule must be one of {', '.join(RULES)}, got {rule!r}.")
    if rule == "entropic":
        return entropic_links(weights_VU)
    return extract_links(weights_VU, mutual=rule == "mutual")


def link_mask(weights_VU: Array, mutual: bool = False) -> Flags:
    """The links of `extract_links` as a boolean matrix (V, U); leading dimensions are kept."""
    if 0 in weights_VU.shape[-2:]:
        return np.zeros(weights_VU.shape, bool)
    if mutual:
        received = weights_VU.sum(axis=-2, keepdims=True)
        shares = np.divide(weights_VU, received, out=np.zeros_like(weights_VU), where=received > 0)
        backward = _largest(weights_VU.swapaxes(-1, -2)).swapaxes(-1, -2)
        return np.asarray(_largest(weights_VU * shares) & backward & (weights_VU > 0))
    # A millionth less: the weights of words may sum to half but for rounding.
    enough = weights_VU.sum(axis=-1, keepdims=True) >= MIN_SHARE * (1 - 1e-6)
    return np.asarray(_largest(weights_VU) & enough & (weights_VU > 0))


def _largest(weights_VU: Array) -> Flags:
    """In each row the first largest weight."""
    columns = weights_VU.argmax(axis=-1)[..., None]
    return np.asarray(np.arange(weights_VU.shape[-1]) == columns)
