"""The words of a sentence pair and the links between them."""

from __future__ import annotations

from typing import NamedTuple

from regard.alignment import Links
from regard.text import normalize
from regard.text.words import word_texts


class AlignedPair(NamedTuple):
    """The words of both sides and their links, as (source, target)."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: Links


def split_words(text: str, language: str, *, tokenized: bool) -> list[str]:
    """The words of a text: split by spaces if it is `tokenized`, otherwise by our own rules.

    >>> split_words("L' eau", "fr", tokenized=True), split_words("L'eau.", "fr", tokenized=False)
    (["L'", 'eau'], ["L'", 'eau', '.'])
    """
    return text.split() if tokenized else word_texts(normalize(text), language)
