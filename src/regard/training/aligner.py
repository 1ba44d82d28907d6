"""Which cross-attention to read as alignment, chosen on development sentences, no gold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.alignment import Choice, MappedBatch, align_both_ways, choose, pieces
from regard.config import Alignment, Run
from regard.corpus.pairs import Pair
from regard.folder import Tokenizers
from regard.models.batch import batch_of
from regard.models.build import Network

SENTENCES = 200  # that readings are compared on
MORE = 5000  # that help the statistical aligner


def choose_alignment(
    network: Network,
    run: Run,
    tokenizers: Tokenizers,
    dev: Sequence[Pair],
    more: Sequence[Pair] = (),
) -> tuple[Alignment, Choice] | None:
    """The reading that agrees best with a statistical aligner; None without cross-attention."""
    shown = [p for p in dev[:SENTENCES] if p.source and p.target]
    if not shown or (run.model.kind == "rnn" and run.model.attention == "none"):
        return None
    every = [*shown, *more[:MORE]]
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
    return Alignment(*found[mutual].reading, mutual=mutual), found[mutual]
