"""Sentence pairs as arrays of numbers: batches of like lengths, and the distinct pairs of words.

Shapes: B pairs of a batch, J target and I source words (padded), P distinct pairs of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Sentences = Sequence[Sequence[str]]

BATCH_CELLS = 400_000
"""The most cells (source word, target word) of a batch with more than one pair."""
SORTED_CELLS = 4_000_000
"""Cells whose pairs of words are sorted at once, which bounds memory."""


class WordPairs(NamedTuple):
    """The pairs of words that occur in a sentence pair, sorted: words are numbers from 0.

    source, target    (P,) the words of each pair
    source_words, target_words  the words themselves
    """

    source: Ints
    target: Ints
    source_words: list[str]
    target_words: list[str]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.source)


class PairBatch(NamedTuple):
    """Sentence pairs of like lengths, padded.

    sentences   (B,) their numbers
    source      (B, I) words; padding is one more than the last word
    target      (B, J)
    num_source, num_target  (B,) lengths
    pair        (J, B, I) the pair of words of each cell, a number of `WordPairs`; with P pairs,
                P is a target word with padding, P + 1 padding with a source word, P + 2 padding
    """

    sentences: Ints
    source: Ints
    target: Ints
    num_source: Ints
    num_target: Ints
    pair: Ints


def make_batches(sources: Sentences, targets: Sentences) -> tuple[list[PairBatch], WordPairs]:
    """The pairs in which both sides have words, case ignored; about four bytes per cell."""
    source_ids, source_words = _number(sources)
    target_ids, target_words = _number(targets)
    empty = np.zeros((0, 0, 0), np.int32)
    batches = [
        PairBatch(
            np.array(numbers, np.int32),
            _pad([source_ids[n] for n in numbers], num_source, len(source_words)),
            _pad([target_ids[n] for n in numbers], num_target, len(target_words)),
            np.array([len(source_ids[n]) for n in numbers], np.int32),
            np.array([len(target_ids[n]) for n in numbers], np.int32),
            empty,
        )
        for numbers, num_source, num_target in _group(source_ids, target_ids)
    ]
    return _with_pairs(batches, source_words, target_words)


def _number(sentences: Iterable[Sequence[str]]) -> tuple[list[list[int]], list[str]]:
    """The words as numbers, in the order of their first occurrence, and the distinct words."""
    known: dict[str, int] = {}
    numbered = [
        [known.setdefault(word.casefold(), len(known)) for word in words] for words in sentences
    ]
    return numbered, list(known)


def _group(
    sources: list[list[int]], targets: list[list[int]]
) -> Iterator[tuple[list[int], int, int]]:
    """The sentences of each batch with its padded lengths."""
    groups: dict[tuple[int, int], list[int]] = {}
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if source and target:
            lengths = padded_length(len(source)), padded_length(len(target))
            groups.setdefault(lengths, []).append(number)
    for (num_source, num_target), numbers in sorted(groups.items()):
        size = max(1, BATCH_CELLS // (num_source * num_target))
        for start in range(0, len(numbers), size):
            part = numbers[start : start + size]
            yield (
                part,
                max(len(sources[number]) for number in part),
                max(len(targets[number]) for number in part),
            )


def padded_length(length: int) -> int:
    """The next of the lengths 1, 2 … 8, 10 … 16, 20 … 32, 40 … 64, 80 …

    Finer steps leave less padding, but make more batches, whose number is the time of a small text.

    >>> [padded_length(length) for length in (3, 16, 17, 33, 100)]
    [3, 16, 20, 40, 112]
    """
    step = 1 << max(0, (length - 1).bit_length() - 3)
    return -(-length // step) * step


def _pad(rows: Sequence[Sequence[int]], width: int, padding: int) -> Ints:
    padded = np.full((len(rows), width), padding, np.int32)
    for row, words in enumerate(rows):
        padded[row, : len(words)] = words
    return padded


def _with_pairs(
    batches: list[PairBatch], source_words: list[str], target_words: list[str]
) -> tuple[list[PairBatch], WordPairs]:
    """Number the distinct pairs of words, some batches at a time."""
    width = len(target_words) + 1
    parts: list[tuple[list[PairBatch], NDArray[np.int64], Ints]] = []
    for some in _some_at_a_time(batches):
        keys = np.concatenate([_keys(batch, width) for batch in some])
        distinct, place = np.unique(keys, return_inverse=True)
        parts.append((some, distinct, place.astype(np.int32)))
    every = np.unique(np.concatenate([part[1] for part in parts] or [np.zeros(0, np.int64)]))
    source, target = every // width, every % width
    no_source, no_target = source == len(source_words), target == len(target_words)
    real = ~no_source & ~no_target
    num_pairs = int(real.sum())
    numbers = np.where(real, np.cumsum(real) - 1, num_pairs - 1 + no_source + 2 * no_target)
    numbered = [
        batch._replace(pair=pair)
        for some, distinct, place in parts
        for batch, pair in zip(
            some,
            _cut(numbers[np.searchsorted(every, distinct)].astype(np.int32)[place], some),
            strict=True,
        )
    ]
    word_numbers = source[real].astype(np.int32), target[real].astype(np.int32)
    return numbered, WordPairs(*word_numbers, source_words, target_words)


def _some_at_a_time(batches: Iterable[PairBatch]) -> Iterator[list[PairBatch]]:
    some: list[PairBatch] = []
    num_cells = 0
    for batch in batches:
        some.append(batch)
        num_cells += batch.source.size * batch.target.shape[1]
        if num_cells >= SORTED_CELLS:
            yield some
            some, num_cells = [], 0
    if some:
        yield some


def _keys(batch: PairBatch, width: int) -> NDArray[np.int64]:
    """(J · B · I,) a number for the two words of each cell."""
    source, target = batch.source.astype(np.int64), batch.target.astype(np.int64)
    return np.asarray(source * width + target.T[:, :, None]).ravel()


def _cut(numbers: Ints, batches: Iterable[PairBatch]) -> Iterator[Ints]:
    """The numbers of all cells, as (J, B, I) of each batch."""
    start = 0
    for batch in batches:
        shape = batch.target.shape[1], *batch.source.shape
        end = start + int(np.prod(shape))
        yield numbers[start:end].reshape(shape)
        start = end
