"""Batches of texts (ids) or series (numbers), padded, with labels.

B examples, T tokens of a text or time steps of a series, C channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.models.batch import padded

Series = NDArray[np.float32]
"""(C, T): one series."""


class LabeledBatch(NamedTuple):
    """Examples to train on or to classify.

    values   (B, T) token ids, padded with PAD; or (B, C, T) numbers, padded with zeros
    lengths  (B,)   tokens or time steps of each example
    labels   (B,)   label indices; −1 where the label is unknown
    """

    values: Tensor
    lengths: Tensor
    labels: Tensor

    @property
    def answers(self) -> int:
        """Number of labels, over which the loss is averaged."""
        return len(self.labels)

    @property
    def costs(self) -> Tensor:
        """(B,): cost of each example."""
        return self.lengths

    def rows(self, rows: Tensor) -> LabeledBatch:
        """Select examples, cut to the longest of them."""
        lengths = self.lengths[rows]
        longest = int(lengths.max()) if len(lengths) else 0
        return LabeledBatch(self.values[rows][..., :longest], lengths, self.labels[rows])

    def to(self, device: torch.device) -> LabeledBatch:
        """Move the batch to a device."""
        return LabeledBatch(*(part.to(device) for part in self))


def text_batch(rows: Sequence[Sequence[int]], labels: Sequence[int] | None = None) -> LabeledBatch:
    """Pad token ids to a batch."""
    lengths = torch.tensor([len(row) for row in rows])
    return LabeledBatch(padded(rows), lengths, _label_tensor(rows, labels))


def series_batch(rows: Sequence[Series], labels: Sequence[int] | None = None) -> LabeledBatch:
    """Pad series (C, T) of any lengths to a batch.

    >>> series_batch([np.ones((1, 2), np.float32), np.ones((1, 3), np.float32)]).values
    tensor([[[1., 1., 0.]],
    <BLANKLINE>
            [[1., 1., 1.]]])
    """
    longest = max(row.shape[1] for row in rows)
    values = np.zeros((len(rows), rows[0].shape[0], longest), np.float32)
    for index, row in enumerate(rows):
        values[index, :, : row.shape[1]] = row
    lengths = torch.tensor([row.shape[1] for row in rows])
    return LabeledBatch(torch.from_numpy(values), lengths, _label_tensor(rows, labels))


def _label_tensor(rows: Sequence[object], labels: Sequence[int] | None) -> Tensor:
    return torch.tensor([-1] * len(rows) if labels is None else list(labels), dtype=torch.int64)
