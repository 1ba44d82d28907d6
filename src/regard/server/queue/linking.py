"""Word links of translations that are there already: of the next best, so that they hold markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from regard.alignment import tokenized_output, tokenized_words
from regard.models.batch import batch_of
from regard.text import normalize
from regard.translator import Sentence, Translator

TOGETHER = 64  # sentences


def linked(translator: Translator, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with the words of their texts, and links by what the model attends to."""
    source, target = translator.tokenizers.source, translator.tokenizers.target
    ids = [source.encode(one.source) for one in sentences]
    written = [target.encode(one.text) for one in sentences]
    room = translator.network.max_length
    batch = batch_of(ids, [row[: room - 1] for row in written])
    with torch.no_grad():
        maps = translator.network.maps(batch.to(translator.device))
    made = []
    for row, sentence in enumerate(sentences):
        own = tokenized_words(normalize(sentence.source), source, translator.run.source_language)
        other = tokenized_output(
            written[row][: room - 1], target, translator.run.target_language
        )  # fmt: skip
        made.append(
            replace(
                sentence,
                source_words=tuple(word.text for word in own.words),
                words=tuple(word.text for word in other.words),
                alignment=translator.links(maps, row, own, other),
            )
        )
    return made
