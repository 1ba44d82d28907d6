"""Handwritten lines as training batches, stored with the checkpoints to resume from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config import Run
from regard.corpus.batches import batches
from regard.models.batch import source_of
from regard.tasks.handwriting.network import StrokeBatch
from regard.training.data_cursor import EpochBatches


class StrokeBatches(EpochBatches[StrokeBatch]):
    """Lines as character ids and points (N, 3) in the model's unit."""

    def __init__(
        self, texts: Sequence[Sequence[int]], points: Sequence[NDArray[np.float32]], run: Run
    ) -> None:
        super().__init__(run.training.seed)
        self.texts, self.points = texts, points
        self.max_points = run.training.batch_tokens
        self.num_chars = [len(text) + 1 for text in texts]
        self.lengths = [len(line) for line in points]

    def __len__(self) -> int:
        return len(self.texts)

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Batches of similar cost, of lines of similar length."""
        return batches(self.num_chars, self.lengths, self.max_points, seed, epoch)

    def batch(self, rows: Sequence[int]) -> StrokeBatch:
        """The lines with these indices."""
        lengths = torch.tensor([self.lengths[n] for n in rows])
        points = torch.zeros(len(rows), int(lengths.max()), 3)
        for row, n in enumerate(rows):
            points[row, : self.lengths[n]] = torch.from_numpy(self.points[n])
        return StrokeBatch(source_of([list(self.texts[n]) for n in rows]), points, lengths)

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """The lines as tensors whose names begin with `prefix`."""
        return {
            f"{prefix}.points": torch.from_numpy(np.concatenate(self.points)),
            f"{prefix}.lengths": torch.tensor(self.lengths),
            f"{prefix}.texts": torch.tensor([token for text in self.texts for token in text]),
            f"{prefix}.letters": torch.tensor(self.num_chars) - 1,
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], prefix: str, run: Run) -> StrokeBatches:
        """The lines that `tensors` stored."""
        points = tensors[f"{prefix}.points"].split(tensors[f"{prefix}.lengths"].tolist())
        texts = tensors[f"{prefix}.texts"].split(tensors[f"{prefix}.letters"].tolist())
        return cls([text.tolist() for text in texts], [line.numpy() for line in points], run)
