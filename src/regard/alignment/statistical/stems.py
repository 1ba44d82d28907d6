"""Stems of words, by which a rare word has the translations of its relatives.

    α(e, f) = α_spelling(e, f) + κ · n(stem e, stem f) / n(stem e)

A stem is a word's first letters without accents: inflections of a word share it (`nation`,
`national`, `nations`). In Chinese it is the first character.

Shapes: P distinct pairs of words, Q distinct pairs of stems.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

import numpy as np

from regard.alignment.statistical.jumps import Floats
from regard.alignment.statistical.pair_batches import Ints, WordPairs
from regard.text.words import SPACELESS_SCRIPTS

STEM_LETTERS = 4
STEM_WEIGHT = 1.0
"""κ: how many links the translations of a word's stem count for."""
_SPACELESS = re.compile(f"[{SPACELESS_SCRIPTS}]")


class StemPairs(NamedTuple):
    """The pairs of stems that pairs of words have.

    pair    (P,) the pair of stems of each pair of words
    source  (Q,) the source stem of each pair of stems
    """

    pair: Ints
    source: Ints

    def prior(self, counts: Floats) -> Floats:
        """(P,) κ times the share of the target's stem in the links of the source's stem."""
        stems = np.bincount(self.pair, counts, minlength=len(self.source))
        total = np.bincount(self.source, stems)
        share = STEM_WEIGHT * stems / np.maximum(total, 1e-9)[self.source]
        return np.asarray(share, np.float32)[self.pair]


def stem_pairs(pairs: WordPairs) -> StemPairs:
    """The stems of all pairs of words."""
    source, target = (
        _number([stem(word) for word in side]) for side in (pairs.source_words, pairs.target_words)
    )
    width = int(target.max(initial=0)) + 1
    keys = source[pairs.source].astype(np.int64) * width + target[pairs.target]
    distinct, pair = np.unique(keys, return_inverse=True)
    return StemPairs(pair.astype(np.int32), (distinct // width).astype(np.int32))


def stem(word: str) -> str:
    """The first letters of a word; a word without letters is its own stem.

    >>> stem("sénateurs"), stem("北京"), stem("..."), stem("the")
    ('sena', '北', '...', 'the')
    """
    word_letters = letters(word)
    if _SPACELESS.match(word_letters):
        return word_letters[0]
    return word_letters[:STEM_LETTERS] or word


def letters(word: str) -> str:
    """The letters and digits of a word, without accents.

    >>> letters("Sénat"), letters("?"), letters("1979")
    ('Senat', '', '1979')
    """
    plain = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in plain if letter.isalnum())


def _number(texts: list[str]) -> Ints:
    """Equal texts have equal numbers."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(text, len(known)) for text in texts], np.int32)
