"""Selecting the cross-attention that aligns best, without gold links.

A statistical aligner, which is independent of the model, aligns the same sentences. The alignment
head that agrees with it most is selected. Its links in both directions stand for gold: the
intersection I for the sure ones, the union U for the possible ones. With A a head's links, summed
over sentences:

    agreement = (|A ∩ I| + |A ∩ U|) / (|A| + |I|)

Shapes: H heads, V target words, U source words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.alignment.heads import AlignmentHead, layer_maps, shift_rows
from regard.alignment.links import Links, link_mask
from regard.alignment.statistical import BidirectionalLinks
from regard.alignment.tokenized_words import Flags, TokenizedWords, pool
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.attention import AttentionMap

Counts = NDArray[np.int64]

MIN_AGREEMENT = 0.5
"""With less agreement, no single head is selected."""


class MappedBatch(NamedTuple):
    """The maps of a batch, recorded with the targets given, and its texts in the maps' order."""

    maps: Sequence[AttentionMap]
    sources: Sequence[TokenizedWords]
    targets: Sequence[TokenizedWords]


class AlignmentSelection(NamedTuple):
    """The best alignment head and its agreement with the statistical aligner (0 to 1).

    candidates  every head that was compared, with its agreement, the best first
    """

    best: AlignmentHead
    agreement: float
    candidates: tuple[tuple[AlignmentHead, float], ...] = ()


def select_alignment_head(
    batches: Iterable[MappedBatch], aligned: BidirectionalLinks, *, mutual: bool = False
) -> AlignmentSelection:
    """The best of all layers, heads and their means, and both rows.

    `aligned` has links for every sentence of the batches, in their order, between the words of the
    batches' `TokenizedWords`. Of equal candidates the first is taken: the lower layer, the mean
    before heads, the predicting row. `mutual` is that of `extract_links`.

    If none reaches `MIN_AGREEMENT`, the model or the aligner has hardly learned anything, and the
    best single head is so by chance: then the best mean of a layer's heads is taken.
    """
    counts: dict[AlignmentHead, Counts] = {}
    num_sentences = 0
    for batch in batches:
        layers = layer_maps(batch.maps, "cross")
        for row, (source, target) in enumerate(zip(batch.sources, batch.targets, strict=True)):
            if num_sentences >= len(aligned.forward):
                raise InputError(
                    f"there are more sentences than the {len(aligned.forward)} that are aligned; "
                    "align the same sentences."
                )
            forward, backward = aligned.forward[num_sentences], aligned.backward[num_sentences]
            sure = _as_mask(forward & backward, target, source)
            possible = _as_mask(forward | backward, target, source)
            for layer, (weights, heads) in layers.items():
                with_mean = np.concatenate([weights[row], weights[row].mean(0, keepdims=True)])
                rows = with_mean[
                    :, : target.num_tokens + 1
                ]  # in EOS's row, the last token is input
                for shift in (False, True):
                    pooled = pool(shift_rows(rows) if shift else rows, target, source)
                    per_head = _count(link_mask(pooled, mutual), sure, possible)
                    for head, count in zip((*heads, None), per_head, strict=True):
                        candidate = AlignmentHead(layer, head, shift)
                        counts[candidate] = counts.get(candidate, 0) + count
            num_sentences += 1
    if not counts:
        raise InputError("there are no maps of cross-attention to select from; record some.")
    agreement = {head: float(part / max(whole, 1)) for head, (part, whole) in counts.items()}

    reliable = max(agreement.values()) >= MIN_AGREEMENT

    def order(head: AlignmentHead) -> tuple[bool, float, int, int, bool]:
        number = -1 if head.head is None else head.head
        by_chance = number >= 0 and not reliable
        return by_chance, -agreement[head], head.layer, number, head.shift

    ranked = sorted(agreement, key=order)
    candidates = tuple((head, agreement[head]) for head in ranked)
    return AlignmentSelection(*candidates[0], candidates)


def _count(links_HVU: Flags, sure_VU: Flags, possible_VU: Flags) -> Counts:
    """(H + 1, 2): |A ∩ I| + |A ∩ U| and |A| + |I|."""
    total = links_HVU.sum(axis=(1, 2))
    in_sure = (links_HVU & sure_VU).sum(axis=(1, 2))
    in_possible = (links_HVU & possible_VU).sum(axis=(1, 2))
    return np.stack([in_sure + in_possible, total + sure_VU.sum()], axis=1)


def _as_mask(links: Links, target: TokenizedWords, source: TokenizedWords) -> Flags:
    """(V, U): True where a link is."""
    mask = np.zeros((len(target.words), len(source.words)), bool)
    for source_word, target_word in links:
        if not (source_word < len(source.words) and target_word < len(target.words)):
            raise InputError(
                f"the link {source_word}-{target_word} is outside of a sentence of "
                f"{len(source.words)} source and {len(target.words)} target words; "
                "align the same words."
            )
        mask[target_word, source_word] = True
    return mask
