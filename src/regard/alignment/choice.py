"""Choosing the reading of cross-attention that aligns best, without gold links.

A statistical aligner, which knows nothing of the model, aligns the same sentences. The reading
that agrees with it most is taken. Its links both ways stand for gold: the intersection I for the
sure ones, the union U for the possible ones. A are a reading's links, summed over sentences:

    agreement = (|A ∩ I| + |A ∩ U|) / (|A| + |I|)

Shapes: H heads and their mean, T and S tokens, V target words, U source words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.alignment.links import Links, decided
from regard.alignment.pieces import Array, Flags, Pieces, pool
from regard.alignment.reading import Reading, layer_maps, shifted
from regard.alignment.statistical import BothWays
from regard.alignment.symmetrise import intersection, union
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.attention import AttentionMap


Counts = NDArray[np.int64]


class MappedBatch(NamedTuple):
    """The maps of a batch, recorded with the targets given, and its texts in the maps' order."""

    maps: Sequence[AttentionMap]
    sources: Sequence[Pieces]
    targets: Sequence[Pieces]


class Choice(NamedTuple):
    """The best reading, how far it agrees with the statistical aligner (0 to 1), and all of them.

    table: every reading with its agreement, the best first.
    """

    reading: Reading
    agreement: float
    table: tuple[tuple[Reading, float], ...]


def choose(
    batches: Iterable[MappedBatch], aligned: BothWays, *, null: float = 0.5, mutual: bool = False
) -> Choice:
    """The reading, of all layers, heads and their means, and both rows, that agrees best.

    `aligned` has links for every sentence of the batches, in their order; its words are those of
    the batches' `Pieces`. Of readings that agree equally well the first is taken: the lower layer,
    the mean before heads, the predicting row. `null` and `mutual` make links as in `decide`.
    """
    counts: dict[Reading, Counts] = {}
    place = 0
    for batch in batches:
        layers = layer_maps(batch.maps, "cross")
        for row, (source, target) in enumerate(zip(batch.sources, batch.targets, strict=True)):
            if place >= len(aligned.forward):
                raise InputError(
                    f"there are more sentences than the {len(aligned.forward)} that are aligned; "
                    "align the same sentences."
                )
            links = aligned.forward[place], aligned.backward[place]
            sure = _as_map(intersection(*links), target, source)
            possible = _as_map(union(*links), target, source)
            for layer, (weights, heads) in layers.items():
                for shift in (False, True):
                    made = _made(weights[row], shift, target, source, null, mutual)
                    counted = _count(made, sure, possible)
                    for head, count in zip((*heads, None), counted, strict=True):
                        reading = Reading(layer, head, shift)
                        counts[reading] = counts.get(reading, 0) + count
            place += 1
    if not counts:
        raise InputError("there are no maps of cross-attention to choose from; record some.")
    return _ranked(counts)


def _made(
    weights_HTS: Array, shift: bool, target: Pieces, source: Pieces, null: float, mutual: bool
) -> Flags:
    """(H + 1, V, U): the links of each head, and of the mean of all."""
    with_mean = np.concatenate([weights_HTS, weights_HTS.mean(axis=0, keepdims=True)])
    own = with_mean[:, : target.num_tokens + 1]  # with EOS's row, where the last token is input
    pooled = pool(shifted(own) if shift else own, target, source)
    return decided(pooled, null=null, mutual=mutual)


def _count(made_HVU: Flags, sure_VU: Flags, possible_VU: Flags) -> Counts:
    """(H + 1, 2): |A ∩ I| + |A ∩ U| and |A| + |I|."""
    made, both = made_HVU.sum(axis=(1, 2)), (made_HVU & sure_VU).sum(axis=(1, 2))
    either = (made_HVU & possible_VU).sum(axis=(1, 2))
    return np.stack([both + either, made + sure_VU.sum()], axis=1)


def _as_map(links: Links, target: Pieces, source: Pieces) -> Flags:
    """(V, U): True where a link is."""
    found = np.zeros((len(target.words), len(source.words)), bool)
    for one, other in links:
        if not (one < len(source.words) and other < len(target.words)):
            raise InputError(
                f"the link {one}-{other} is outside of a sentence of {len(source.words)} source "
                f"and {len(target.words)} target words; align the same words."
            )
        found[other, one] = True
    return found


def _ranked(counts: dict[Reading, Counts]) -> Choice:
    def order(row: tuple[Reading, float]) -> tuple[float, int, int, bool]:
        reading, agreement = row
        return (
            -agreement,
            reading.layer,
            -1 if reading.head is None else reading.head,
            reading.shift,
        )

    table = [(reading, float(a / t) if t else 0.0) for reading, (a, t) in counts.items()]
    table.sort(key=order)
    return Choice(*table[0], tuple(table))
