"""Sentences as padded tensors of token ids.

B sentences, S source tokens, T target tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from regard.text import BOS, EOS, PAD


class Source(NamedTuple):
    """Input of an encoder.

    tokens   (B, S)  ids, each sentence ending in EOS, then PAD
    lengths  (B,)    number of tokens of each, EOS included
    """

    tokens: Tensor
    lengths: Tensor

    def to(self, device: torch.device) -> Source:
        """Move to a device."""
        return Source(self.tokens.to(device), self.lengths.to(device))


AttentionName = Literal["encoder", "decoder", "cross"]
"""Self-attention of the encoder or of the decoder, or cross-attention."""


class GuidedHead(NamedTuple):
    """A head that is to attend along links, and the links of a batch.

    attention, layer, head  which head, numbers from 0
    factor                  of its loss
    links  (B, Q, K)        True where a query is linked to a key
    """

    attention: AttentionName
    layer: int
    head: int
    factor: float
    links: Tensor


class Batch(NamedTuple):
    """Training examples.

    source  input of the encoder; None for a model without one
    inputs  (B, T)  BOS and the target's ids, then PAD: the decoder's input
    labels  (B, T)  the target's ids and EOS, then PAD: the expected output
    guided  heads with the links that they are to attend along
    """

    source: Source | None
    inputs: Tensor
    labels: Tensor
    guided: tuple[GuidedHead, ...] = ()

    @property
    def answers(self) -> int:
        """Number of labels, over which the loss is averaged."""
        return int((self.labels != PAD).sum())

    @property
    def costs(self) -> Tensor:
        """(B,): the cost of each sentence, in thirds of a target token's.

        A source token costs two thirds: it neither attends to the other side nor is predicted.
        """
        lengths = (self.inputs != PAD).sum(1)  # not labels: a masked language model has few of them
        return 3 * lengths if self.source is None else 3 * lengths + 2 * self.source.lengths

    def rows(self, rows: Tensor) -> Batch:
        """Return the given sentences, cut to the longest of them."""
        inputs = self.inputs[rows]
        longest = int((inputs != PAD).sum(1).max())
        source = self.source
        if source is not None:
            lengths = source.lengths[rows]
            source = Source(source.tokens[rows, : int(lengths.max())], lengths)
        batch = Batch(source, inputs[:, :longest], self.labels[rows, :longest])
        return batch._replace(guided=self._guided_rows(rows, batch)) if self.guided else batch

    def _guided_rows(self, rows: Tensor, batch: Batch) -> tuple[GuidedHead, ...]:
        """Return the links of the given sentences, cut to the lengths of their batch."""
        longest = batch.inputs.shape[1]
        source = longest if batch.source is None else batch.source.tokens.shape[1]
        return tuple(
            head._replace(
                links=head.links[
                    rows,
                    : source if head.attention == "encoder" else longest,
                    : longest if head.attention == "decoder" else source,
                ]
            )
            for head in self.guided
        )

    def to(self, device: torch.device) -> Batch:
        """Move to a device."""
        source = self.source and self.source.to(device)
        guided = tuple(head._replace(links=head.links.to(device)) for head in self.guided)
        return Batch(source, self.inputs.to(device), self.labels.to(device), guided)


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of ids as one tensor (B, longest), padded at the end.

    >>> padded([[5, 6, 3], [7, 3]])
    tensor([[5, 6, 3],
            [7, 3, 0]])
    """
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.int64)


def source_of(rows: Sequence[Sequence[int]]) -> Source:
    """Return the source batch of sentences' ids without specials."""
    return Source(
        padded([[*row, EOS] for row in rows]), torch.tensor([len(row) + 1 for row in rows])
    )


def batch_of(sources: Sequence[Sequence[int]] | None, targets: Sequence[Sequence[int]]) -> Batch:
    """Return the training batch of sentences and their targets, ids without specials."""
    return Batch(
        None if sources is None else source_of(sources),
        padded([[BOS, *row] for row in targets]),
        padded([[*row, EOS] for row in targets]),
    )
