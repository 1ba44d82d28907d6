"""What a classifier reads: texts as ids or series as numbers, padded to a rectangle, with labels.

B examples, T tokens of a text or moments of a series, C channels.
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


class Labelled(NamedTuple):
    """Examples to learn from or to label.

    values   (B, T) ids of texts, then PAD; or (B, C, T) numbers of series, then zeros
    lengths  (B,)   tokens or moments of each
    labels   (B,)   the number of each one's label; −1 where it is not known
    """

    values: Tensor
    lengths: Tensor
    labels: Tensor

    @property
    def answers(self) -> int:
        """How many labels there are: what the loss is a mean of."""
        return len(self.labels)

    @property
    def sizes(self) -> Tensor:
        """(B,): how much there is to read in each."""
        return self.lengths

    def rows(self, rows: Tensor) -> Labelled:
        """Chosen examples, cut to the longest of them."""
        lengths = self.lengths[rows]
        longest = int(lengths.max()) if len(lengths) else 0
        return Labelled(self.values[rows][..., :longest], lengths, self.labels[rows])

    def to(self, device: torch.device) -> Labelled:
        """The same, there."""
        return Labelled(*(part.to(device) for part in self))


def texts_batch(rows: Sequence[Sequence[int]], labels: Sequence[int] | None = None) -> Labelled:
    """Texts' ids as a batch."""
    return Labelled(padded(rows), torch.tensor([len(row) for row in rows]), _numbers(rows, labels))


def series_batch(rows: Sequence[Series], labels: Sequence[int] | None = None) -> Labelled:
    """Series (C, T), of any lengths, as a batch.

    >>> series_batch([np.ones((1, 2), np.float32), np.ones((1, 3), np.float32)]).values
    tensor([[[1., 1., 0.]],
    <BLANKLINE>
            [[1., 1., 1.]]])
    """
    longest = max(row.shape[1] for row in rows)
    values = np.zeros((len(rows), rows[0].shape[0], longest), np.float32)
    for place, row in enumerate(rows):
        values[place, :, : row.shape[1]] = row
    lengths = torch.tensor([row.shape[1] for row in rows])
    return Labelled(torch.from_numpy(values), lengths, _numbers(rows, labels))


def _numbers(rows: Sequence[object], labels: Sequence[int] | None) -> Tensor:
    return torch.tensor([-1] * len(rows) if labels is None else list(labels), dtype=torch.int64)
