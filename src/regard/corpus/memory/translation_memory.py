"""A translation memory: exact and fuzzy matches of a text.

A match is exact if the texts are equal when normalized. The score of a fuzzy one is

    1 − edit distance in characters / characters of the longer text

Where the placeholders or numbers of the two sources differ, the match is `adapted`: if nothing else
differs and its translation has each of them once, they are exchanged; else it is not `usable`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from regard.corpus.memory.ngram_index import NgramIndex
from regard.text import normalize
from regard.text.placeholders import Placeholder, find_placeholders

LEAST = 0.75
"""The least score of a match that is shown."""


class MemoryMatch(NamedTuple):
    """A sentence of a memory that equals or resembles another.

    score        1 if it is exact
    source       as it stands in the memory
    translation  of it; with the placeholders and numbers of the other sentence if `adapted`
    usable       whether both sentences have the same placeholders and numbers, or it is adapted
    """

    score: float
    source: str
    translation: str
    adapted: bool = False
    usable: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The match as JSON has it."""
        return {**self._asdict(), "score": round(self.score, 4)}


class TranslationMemory:
    """Sentences and their translations; of several translations of a sentence, the last.

    >>> memory = TranslationMemory([("Page 3 of %d", "Page 3 sur %d"), ("A cat.", "Un chat.")])
    >>> memory.exact(" A  cat. ").translation
    'Un chat.'
    >>> memory.similar("Page 4 of %s")[0].translation
    'Page 4 sur %s'
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._entries: dict[str, tuple[str, str]] = {}
        for source, translation in pairs:
            if (normal := normalize(source)) and translation.strip():
                self._entries[normal] = source, translation

    def __len__(self) -> int:
        return len(self._entries)

    def exact(self, text: str) -> MemoryMatch | None:
        """The match of a text that is in the memory."""
        entry = self._entries.get(normalize(text))
        return None if entry is None else MemoryMatch(1.0, *entry)

    def similar(self, text: str, least: float = LEAST, limit: int = 3) -> list[MemoryMatch]:
        """The best matches of a score of at least `least`, best first, exact or fuzzy."""
        normal = normalize(text)
        matches = self._index.similar(normal, least, limit)
        return [
            _adapted(normal, score, *self._entries[self._index.texts[number]])
            for score, number in matches
        ]

    @cached_property
    def _index(self) -> NgramIndex:
        return NgramIndex(list(self._entries))


def _adapted(text: str, score: float, source: str, translation: str) -> MemoryMatch:
    """A match with the placeholders of `text`, if these are all that is different."""
    match = MemoryMatch(score, source, translation)
    wanted, replaced = find_placeholders(text), find_placeholders(source)
    wanted_texts, replaced_texts = ([p.text for p in part] for part in (wanted, replaced))
    if Counter(wanted_texts) == Counter(replaced_texts):
        return match
    in_translation = find_placeholders(translation)
    values: dict[str, str] = {}
    for old, new in zip(replaced_texts, wanted_texts, strict=False):
        values.setdefault(old, new)
    normal = normalize(source)
    adaptable = (
        _skeleton(text, wanted) == _skeleton(normal, find_placeholders(normal))
        and all(count == 1 for count in Counter(replaced_texts).values())
        and sorted(p.text for p in in_translation) == sorted(replaced_texts)
    )
    if not adaptable:
        return match._replace(usable=False)
    return match._replace(translation=_exchanged(translation, in_translation, values), adapted=True)


def _skeleton(text: str, placeholders: Sequence[Placeholder]) -> str:
    """The text with a mark in place of its placeholders."""
    return _exchanged(text, placeholders, {placeholder.text: "\0" for placeholder in placeholders})


def _exchanged(text: str, placeholders: Sequence[Placeholder], values: dict[str, str]) -> str:
    parts: list[str] = []
    position = 0
    for placeholder in placeholders:
        parts += text[position : placeholder.start], values[placeholder.text]
        position = placeholder.end
    return "".join((*parts, text[position:]))
