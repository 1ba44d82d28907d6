"""What models read: sentences as ids, padded to a rectangle.

B sentences, S source tokens, T target tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

PAD, BOS, EOS = 0, 2, 3
"""Ids that mean the same in every tokeniser (they are `regard.text`'s)."""


class Source(NamedTuple):
    """What is read.

    tokens   (B, S)  ids, each sentence ending in EOS, then PAD
    lengths  (B,)    tokens of each, EOS counted
    """

    tokens: Tensor
    lengths: Tensor

    def to(self, device: torch.device) -> Source:
        """The same, there."""
        return Source(self.tokens.to(device), self.lengths.to(device))


class Batch(NamedTuple):
    """Sentences to learn from.

    source  what is read; None for a model that only writes
    inputs  (B, T)  BOS and the target's ids, then PAD: what the decoder is given
    labels  (B, T)  the target's ids and EOS, then PAD: what it is to answer
    """

    source: Source | None
    inputs: Tensor
    labels: Tensor

    @property
    def answers(self) -> int:
        """How many labels there are: what the loss is a mean of."""
        return int((self.labels != PAD).sum())

    @property
    def sizes(self) -> Tensor:
        """(B,): how much there is to read and write in each sentence."""
        sizes = (self.inputs != PAD).sum(1)  # not labels: a masked model has few of them
        return sizes if self.source is None else sizes + self.source.lengths

    def rows(self, rows: Tensor) -> Batch:
        """Chosen sentences, cut to the longest of them."""
        inputs = self.inputs[rows]
        longest = int((inputs != PAD).sum(1).max())
        source = self.source
        if source is not None:
            lengths = source.lengths[rows]
            source = Source(source.tokens[rows, : int(lengths.max())], lengths)
        return Batch(source, inputs[:, :longest], self.labels[rows, :longest])

    def to(self, device: torch.device) -> Batch:
        """The same, there."""
        source = self.source and self.source.to(device)
        return Batch(source, self.inputs.to(device), self.labels.to(device))


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids as one tensor (B, longest), PAD at the ends.

    >>> padded([[5, 6, 3], [7, 3]])
    tensor([[5, 6, 3],
            [7, 3, 0]])
    """
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.int64)


def source_of(rows: Sequence[Sequence[int]]) -> Source:
    """Sentences' ids, without specials, as a model reads them."""
    return Source(
        padded([[*row, EOS] for row in rows]), torch.tensor([len(row) + 1 for row in rows])
    )


def batch_of(sources: Sequence[Sequence[int]] | None, targets: Sequence[Sequence[int]]) -> Batch:
    """Sentences and their translations, ids without specials, as a model learns from them."""
    return Batch(
        None if sources is None else source_of(sources),
        padded([[BOS, *row] for row in targets]),
        padded([[*row, EOS] for row in targets]),
    )
