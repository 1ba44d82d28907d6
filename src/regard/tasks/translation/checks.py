"""Signs that a translation leaves something out or says it twice.

They are hints for a reader, by rules of thumb; U source words, V target words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import eq
from typing import NamedTuple

from regard.alignment.tokenized_words import Array
from regard.config import CleaningSettings
from regard.text.words import SPACELESS_SCRIPTS

MIN_ATTENTION, MAX_ATTENTION = 0.2, 2.5
"""Target words that attend to a source word: fewer, and it may be untranslated; more, and it may be
translated twice. Short words often have little attention in good translations."""

MAX_PHRASE = 20
"""Words of a phrase that follows itself; a longer one is found by its groups of three words."""

_CONTENT = re.compile(rf"[^\W\d_]{{4,}}|[{SPACELESS_SCRIPTS}]")


class QualityFlag(NamedTuple):
    """Something that a reader should look at.

    kind          untranslated: hardly any target word attends to these source words
                  retranslated: many target words attend to these source words
                  repeated: these target words repeat those before them
                  length: the translation is far shorter or longer than its source
    source_words  numbers of source words, from 0
    words         numbers of target words
    """

    kind: str
    source_words: tuple[int, ...] = ()
    words: tuple[int, ...] = ()


def quality_flags(
    weights_VU: Array | None,
    source: Sequence[str],
    target: Sequence[str],
    cleaning: CleaningSettings,
) -> tuple[QualityFlag, ...]:
    """The flags of a translation: its words, and their attention if the model has any.

    The attention to source word u is Σ_v weights[v, u], the number of target words that it feeds.
    Lengths are compared as in the cleaning of the model's corpus.
    """
    received = None if weights_VU is None else weights_VU.sum(axis=0).tolist()
    return flags_by_attention(received, source, target, cleaning)


def flags_by_attention(
    received_U: Sequence[float] | None,
    source: Sequence[str],
    target: Sequence[str],
    cleaning: CleaningSettings,
) -> tuple[QualityFlag, ...]:
    """The flags of a translation, by the attention that each of its source words receives."""
    flags = []
    if received_U is not None:
        # most words are neither, so that few are looked at
        little = [u for u in range(len(source)) if received_U[u] < MIN_ATTENTION]
        much = [u for u in range(len(source)) if received_U[u] > MAX_ATTENTION]
        for kind, words in (("untranslated", little), ("retranslated", much)):
            if found := tuple(u for u in words if _CONTENT.search(source[u])):
                flags.append(QualityFlag(kind, source_words=found))
    again = sorted(set(_repeated(target)))
    if again and not any(_repeated(source)):
        flags.append(QualityFlag("repeated", words=tuple(again)))
    lengths = sorted(len(side) + cleaning.ratio_slack for side in (source, target))
    if 0 < cleaning.max_ratio < lengths[1] / max(lengths[0], 1):
        flags.append(QualityFlag("length"))
    return tuple(flags)


NOTES = {
    "untranslated": "perhaps not translated",
    "retranslated": "perhaps translated twice",
    "repeated": "repeated",
    "length": "far shorter or longer than the source",
}


def flag_notes(
    flags: Sequence[QualityFlag], source: Sequence[str], target: Sequence[str]
) -> list[str]:
    """The flags in words, with the source or target words that they are of.

    >>> flag_notes([QualityFlag("untranslated", (1,)), QualityFlag("length")], ["a", "cat"], ["un"])
    ['perhaps not translated: cat', 'far shorter or longer than the source']
    """
    notes = []
    for flag in flags:
        words = [source[u] for u in flag.source_words] + [target[v] for v in flag.words]
        notes.append(NOTES[flag.kind] + ": " * bool(words) + " ".join(words))
    return notes


def _repeated(words: Sequence[str]) -> Iterator[int]:
    """The words of a phrase that follows itself, or of three words that occurred before.

    >>> list(_repeated("a cat a cat sleeps".split())), list(_repeated("a cat and a dog".split()))
    ([2, 3], [])
    """
    lower = [word.lower() for word in words]
    pairs = list(pairwise(lower))
    if len(set(pairs)) == len(pairs) and not any(map(eq, lower, lower[1:])):
        return  # without two neighbors that occur again, nothing is repeated
    for size in range(1, min(len(lower) // 2, MAX_PHRASE) + 1):
        # 1 where a word occurs `size` words later; the last 0 ends the last run of them
        equals = bytes(map(eq, lower, lower[size:])) + b"\0"
        start = 0
        while (start := equals.find(1, start)) >= 0:
            end = equals.find(0, start)
            if end - start >= size and any(map(str.isalpha, lower[start : start + size])):
                yield from range(start + size, end + size)
            start = end
    seen: set[tuple[str, ...]] = set()
    for start, phrase in enumerate(zip(lower, lower[1:], lower[2:], strict=False)):
        if phrase in seen and any(map(str.isalpha, phrase)):
            yield from range(start, start + 3)
        seen.add(phrase)
