"""Which cross-attention to read as alignment, chosen on development sentences, no gold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.alignment import Choice, MappedBatch, align_both_ways, choose, pieces
from regard.config import AlignmentSettings, Run
from regard.corpus.pairs import Pair
from regard.folder import Tokenizers
from regard.models.batch import batch_of
from regard.models.build import Network
from regard.training.examples import Examples

SENTENCES = 300  # that readings are compared on
MORE = 5000  # that help the statistical aligner


def choose_alignment(
    network: Network,
    run: Run,
    tokenizers: Tokenizers,
    dev: Sequence[Pair],
    train: Examples | None = None,
) -> tuple[AlignmentSettings, Choice] | None:
    """The reading that agrees best with a statistical aligner; None without cross-attention."""
    room = run.model.max_length - 1
    shown = [
        p
        for p in dev[:SENTENCES]
        if len(tokenizers.source.encode(p.source)) < room
        and len(tokenizers.target.encode(p.target)) < room
    ]
    if not shown or (run.model.kind == "rnn" and run.model.attention == "none"):
        return None
    every = [*shown, *_some(train, tokenizers)]
    sources = [pieces(p.source, tokenizers.source, run.source_language) for p in every]
    targets = [pieces(p.target, tokenizers.target, run.target_language) for p in every]
    aligned = align_both_ways(
        [[word.text for word in s.words] for s in sources],
        [[word.text for word in t.words] for t in targets],
    )

    def mapped() -> Iterator[MappedBatch]:
        for start in range(0, len(shown), 50):
            part = slice(start, min(start + 50, len(shown)))
            batch = batch_of(
                [tokenizers.source.encode(p.source) for p in shown[part]],
                [tokenizers.target.encode(p.target) for p in shown[part]],
            )
            device = next(network.parameters()).device
            yield MappedBatch(network.maps(batch.to(device)), sources[part], targets[part])

    batches = list(mapped())
    found = {mutual: choose(batches, aligned, mutual=mutual) for mutual in (False, True)}
    mutual = found[True].agreement > found[False].agreement
    return AlignmentSettings(*found[mutual].reading, mutual=mutual), found[mutual]


def _some(train: Examples | None, tokenizers: Tokenizers) -> list[Pair]:
    """Sentences of the training corpus, read back from their ids."""
    if train is None or train.sources is None:
        return []
    step = max(1, len(train) // MORE)
    return [
        Pair(
            tokenizers.source.decode(train.sources[n].tolist()),
            tokenizers.target.decode(train.targets[n].tolist()),
        )
        for n in range(0, len(train), step)
    ][:MORE]
