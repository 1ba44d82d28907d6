"""Pairs whose source begins with tags: its ids, and the language that a tag asks for."""

from __future__ import annotations

from collections.abc import Sequence

from regard.corpus.pairs import Pair
from regard.folder import Tokenizers
from regard.text.tags import tag_ids, tagged_language


def encode_sources(pairs: Sequence[Pair], tokenizers: Tokenizers) -> list[list[int]]:
    """Return the ids of each pair's tags and source."""
    tokenizer = tokenizers.source
    encoded = tokenizer.encode_all([pair.source for pair in pairs])
    return [
        [*tag_ids(tokenizer.tags, pair.tags), *ids] if pair.tags else ids
        for pair, ids in zip(pairs, encoded, strict=True)
    ]


def target_of(pair: Pair, language: str) -> str:
    """Return the language that a pair's tag asks for; without such a tag, the given one."""
    asked = (tagged_language(tag) for tag in pair.tags)
    return next((code for code in asked if code), language)
