"""Word links by forced decoding: a model reads both sides, and its attention is the alignment.

With a reverse model, which reads the target and writes the source, the links of both directions are
symmetrized.

Shapes: V target words, U source words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from regard.alignment import (
    AlignmentHead,
    Links,
    TokenizedWords,
    alignment_weights,
    pool,
    rule_links,
    symmetrize,
    tokenized_words,
)
from regard.errors import InputError
from regard.tasks.alignment.aligned_pair import AlignedPair, split_words
from regard.text import normalize

if TYPE_CHECKING:
    from regard.tasks.translation.translation_model import TranslationModel

WINDOW = 64
"""Pairs that are read before their links are written."""


@dataclass(frozen=True)
class MapReading:
    """Which attention is read, and how; None is what was selected at the end of training.

    layer  of the decoder, from 0
    head   of that layer, from 0; -1 is the mean of all
    shift  whether a word's row is the step that reads it
    rule   `argmax`, `mutual` or `entropic`
    """

    layer: int | None = None
    head: int | None = None
    shift: bool | None = None
    rule: str | None = None


class ModelAligner:
    """Aligns sentence pairs with a model.

    too_long  the number of pairs so far that do not fit the model, and so have no links
    """

    def __init__(
        self, model: TranslationModel, reading: MapReading | None = None, *, tokenized: bool = False
    ) -> None:
        self.model, self.tokenized = model, tokenized
        self.too_long = 0
        reading = reading or MapReading()
        chosen = model.run.alignment
        num_layers = getattr(model.run.model, "num_decoder_layers", 1)
        layer = chosen.layer if chosen else num_layers - 1
        head = chosen.head if chosen else None
        shift = chosen.shift if chosen else False
        if reading.layer is not None and reading.layer != layer:
            layer, head = reading.layer, None  # the selected head is one of another layer
        if reading.head is not None:
            head = None if reading.head < 0 else reading.head
        shift = shift if reading.shift is None else reading.shift
        self.head = AlignmentHead(layer, head, shift)
        mutual = bool(chosen and chosen.mutual)
        self.rule = reading.rule or ("mutual" if mutual else "argmax")

    def words(self, source: str, target: str) -> tuple[list[str], list[str]]:
        """The words of both sides."""
        info = self.model.info
        return (
            split_words(source, info.source_language, tokenized=self.tokenized),
            split_words(target, info.target_language, tokenized=self.tokenized),
        )

    def links(self, pairs: Sequence[tuple[str, str]]) -> list[Links]:
        """The links of each pair; none where a side is empty or does not fit the model."""
        links: list[Links] = [frozenset()] * len(pairs)
        room = self.model.max_length - 1
        kept, source_ids, target_ids = [], [], []
        for number, (source, target) in enumerate(pairs):
            if not source.strip() or not target.strip():
                continue
            source_tokens = self.model.encode_source(source)
            target_tokens = self.model.tokenizers.target.encode(target)
            if max(len(source_tokens), len(target_tokens)) > room:
                self.too_long += 1
                continue
            kept.append(number)
            source_ids.append(source_tokens)
            target_ids.append(target_tokens)
        if not kept:
            return links
        maps = self.model.maps(source_ids, target_ids)
        for row, number in enumerate(kept):
            sides = self._tokenized(*pairs[number], source_ids[row], target_ids[row])
            try:
                weights = alignment_weights(
                    maps,
                    self.head,
                    row,
                    source_length=sides[0].num_tokens + 1,
                    target_length=sides[1].num_tokens + 1,
                )
            except ValueError as error:
                raise InputError(f"{self.model.path}: {error}") from None
            links[number] = rule_links(pool(weights, sides[1], sides[0]), self.rule)
        return links

    def _tokenized(
        self, source: str, target: str, source_ids: list[int], target_ids: list[int]
    ) -> tuple[TokenizedWords, TokenizedWords]:
        tokenizers, info = self.model.tokenizers, self.model.info
        given = [
            [normalize(word) for word in words] if self.tokenized else None
            for words in self.words(source, target)
        ]
        return (
            tokenized_words(source, tokenizers.source, info.source_language, given[0], source_ids),
            tokenized_words(target, tokenizers.target, info.target_language, given[1], target_ids),
        )


def align_with_model(
    pairs: Iterable[tuple[str, str]],
    aligner: ModelAligner,
    reverse: ModelAligner | None = None,
    method: str = "grow-diag-final-and",
) -> Iterator[AlignedPair]:
    """Align pairs some at a time; with a reverse model, by `method` of both directions."""
    if reverse is not None:
        _check_reverse(aligner, reverse)
    stream = iter(pairs)
    while window := list(islice(stream, WINDOW)):
        links = aligner.links(window)
        if reverse is not None:
            backward = reverse.links([(target, source) for source, target in window])
            turned = [frozenset((s, t) for t, s in found) for found in backward]
            if method == "backward":
                links = turned
            elif method != "forward":
                links = symmetrize(links, turned, method)
        for (source, target), found in zip(window, links, strict=True):
            source_words, target_words = aligner.words(source, target)
            yield AlignedPair(tuple(source_words), tuple(target_words), found)


def _check_reverse(aligner: ModelAligner, reverse: ModelAligner) -> None:
    """Raise an error unless the second model translates in the other direction."""
    info, other = aligner.model.info, reverse.model.info
    if (info.source_language, info.target_language) != (
        other.target_language,
        other.source_language,
    ):
        raise InputError(
            f"{reverse.model.path}: the reverse model must translate from "
            f"{info.target_language or '?'} to {info.source_language or '?'}, got "
            f"{other.source_language or '?'} to {other.target_language or '?'}."
        )
