"""Word links of sentence pairs by a trained model, which is given the targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard.alignment import (
    AlignmentHead,
    Links,
    alignment_weights,
    tokenized_words,
    word_links,
)
from regard.corpus.pairs import Pair
from regard.models.batch import batch_of
from regard.tasks.translation.tagged_pairs import encode_sources, target_of
from regard.tasks.translation.translator import Translator
from regard.text import Word

BATCH = 100  # pairs whose maps are computed together


class AlignedWords(NamedTuple):
    """The words of a pair and the links between them."""

    source: tuple[Word, ...]
    target: tuple[Word, ...]
    links: Links


def align_pairs(model: Translator, pairs: Sequence[Pair]) -> list[AlignedWords]:
    """Align pairs by the model's alignment head; a pair too long for the model has no links."""
    run, tokenizers, alignment = model.run, model.tokenizers, model.run.alignment
    assert alignment is not None
    head = AlignmentHead(alignment.layer, alignment.head, alignment.shift)
    sources = encode_sources(pairs, tokenizers)
    targets = [tokenizers.target.encode(pair.target) for pair in pairs]
    aligned = [AlignedWords((), (), frozenset())] * len(pairs)
    room = run.model.max_length - 1
    fitting = [n for n in range(len(pairs)) if max(len(sources[n]), len(targets[n])) <= room]
    fitting.sort(key=lambda n: len(sources[n]) + len(targets[n]))
    for start in range(0, len(fitting), BATCH):
        rows = fitting[start : start + BATCH]
        batch = batch_of([sources[n] for n in rows], [targets[n] for n in rows])
        maps = model.network.maps(batch)
        for row, n in enumerate(rows):
            pair, language = pairs[n], target_of(pairs[n], run.target_language)
            source = tokenized_words(
                pair.source, tokenizers.source, run.source_language, ids=sources[n]
            )
            target = tokenized_words(pair.target, tokenizers.target, language, ids=targets[n])
            weights = alignment_weights(
                maps, head, row,
                target_length=len(targets[n]) + 1, source_length=len(sources[n]) + 1,
            )  # fmt: skip
            links = word_links(weights, target, source, mutual=alignment.mutual)
            aligned[n] = AlignedWords(source.words, target.words, links)
    return aligned
