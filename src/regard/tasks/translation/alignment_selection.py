"""Choose the cross-attention that is read as word alignment, without gold alignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from regard.alignment import (
    AlignmentSelection,
    MappedBatch,
    align_bidirectional,
    select_alignment_head,
    tokenized_words,
)
from regard.config import AlignmentSettings, Run
from regard.corpus.pairs import Pair
from regard.folder import Tokenizers
from regard.models.batch import batch_of
from regard.tasks.text.encoded_corpus import EncodedCorpus

NUM_COMPARED = 300  # sentences that readings are compared on
NUM_ALIGNED = 5000  # more sentences, for the statistical aligner


def choose_alignment(
    network: Any,
    run: Run,
    tokenizers: Tokenizers,
    dev: Sequence[Pair],
    train: Any = None,
) -> tuple[AlignmentSettings, AlignmentSelection] | None:
    """Return the reading that agrees best with a statistical aligner; None without attention."""
    room = run.model.max_length - 1
    compared = [
        p
        for p in dev[:NUM_COMPARED]
        if len(tokenizers.source.encode(p.source)) < room
        and len(tokenizers.target.encode(p.target)) < room
    ]
    if not compared or getattr(run.model, "attention", "") == "none":
        return None
    pairs = [*compared, *_decoded(train, tokenizers)]
    sources = [tokenized_words(p.source, tokenizers.source, run.source_language) for p in pairs]
    targets = [tokenized_words(p.target, tokenizers.target, run.target_language) for p in pairs]
    aligned = align_bidirectional(
        [[word.text for word in s.words] for s in sources],
        [[word.text for word in t.words] for t in targets],
    )

    def mapped() -> Iterator[MappedBatch]:
        for start in range(0, len(compared), 50):
            part = slice(start, min(start + 50, len(compared)))
            batch = batch_of(
                [tokenizers.source.encode(p.source) for p in compared[part]],
                [tokenizers.target.encode(p.target) for p in compared[part]],
            )
            device = next(network.parameters()).device
            yield MappedBatch(network.maps(batch.to(device)), sources[part], targets[part])

    batches = list(mapped())
    choices = {
        mutual: select_alignment_head(batches, aligned, mutual=mutual) for mutual in (False, True)
    }
    mutual = choices[True].agreement > choices[False].agreement
    return AlignmentSettings(*choices[mutual].best, mutual=mutual), choices[mutual]


def _decoded(train: Any, tokenizers: Tokenizers) -> list[Pair]:
    """Return some sentences of the training corpus, decoded from their ids."""
    if not isinstance(train, EncodedCorpus) or train.sources is None:
        return []
    step = max(1, len(train) // NUM_ALIGNED)
    return [
        Pair(
            tokenizers.source.decode(train.sources[n].tolist()),
            tokenizers.target.decode(train.targets[n].tolist()),
        )
        for n in range(0, len(train), step)
    ][:NUM_ALIGNED]
