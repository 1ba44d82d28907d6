"""BPE-dropout: training sentences in several segmentations, so that a word is seen in other pieces.

While a word is merged into pieces, each merge is left out with a probability p (Provilkov,
Emelianenko and Voita 2020). The paper draws anew in every epoch; here a few segmentations of the
corpus are drawn beforehand, and each epoch takes one of them for each sentence. So training waits
for no tokenizer, a batch has sentences of like length, and a run continues exactly where it was
stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.config import Run
from regard.errors import InputError
from regard.folder import Tokenizers
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.text import Tokenizer
from regard.text.sentencepiece_tokenizer import SentencePieceTokenizer

NUM_SEGMENTATIONS = 5
"""The plain segmentation, which is that of translation, and four others."""

Rows = list[list[int]]


def resegmented(corpus: EncodedCorpus, tokenizers: Tokenizers, run: Run) -> EncodedCorpus:
    """Return the corpus with further segmentations of every pair."""
    assert corpus.sources is not None
    sources = [row.tolist() for row in corpus.sources]
    targets = [row.tolist() for row in corpus.targets]
    dropout, room, seed = run.text.subword_dropout, run.model.max_length - 1, run.training.seed
    all_sources, all_targets = list(sources), list(targets)
    for number in range(1, NUM_SEGMENTATIONS):
        seeds = [(seed * NUM_SEGMENTATIONS + number) * 2 + side for side in (0, 1)]
        others = _others(tokenizers.source, sources, dropout, seeds[0])
        all_sources += _within(others, sources, room)
        others = _others(tokenizers.target, targets, dropout, seeds[1])
        all_targets += _within(others, targets, room)
    weights = None if corpus.weights is None else corpus.weights.tolist()
    training = run.training
    return EncodedCorpus(
        all_sources,
        all_targets,
        training.batch_tokens,
        training.seed,
        weights,
        num_segmentations=NUM_SEGMENTATIONS,
    )


def _others(tokenizer: Tokenizer, rows: Rows, dropout: float, seed: int) -> Rows:
    """Return the same sentences in other pieces; tags before them stay."""
    if not isinstance(tokenizer, SentencePieceTokenizer):
        raise InputError("text.subword_dropout needs text.unit bpe, got another tokenizer.")
    tags = set(tokenizer.tags.values())
    starts = [next((n for n, id in enumerate(row) if id not in tags), len(row)) for row in rows]
    texts = [tokenizer.decode(row) for row in rows]
    others = tokenizer.encode_with_dropout(texts, dropout, seed)
    return [row[:n] + other for row, n, other in zip(rows, starts, others, strict=True)]


def _within(others: Rows, rows: Sequence[list[int]], room: int) -> Rows:
    """Return the other segmentations; where they are too long for the model, the plain ones."""
    return [other if len(other) <= room else row for other, row in zip(others, rows, strict=True)]
