"""Labeled texts or series as training batches, stored with the checkpoints to resume from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.config import ClassifierSettings, Run
from regard.corpus.batches import batches
from regard.models.classifier.batch import LabeledBatch, Series, series_batch, text_batch
from regard.training.data_cursor import EpochBatches


class LabeledBatches(EpochBatches[LabeledBatch]):
    """Texts as ids or series as numbers, with label indices."""

    def __init__(
        self, rows: Sequence[Sequence[int]] | Sequence[Series], labels: Sequence[int], run: Run
    ) -> None:
        super().__init__(run.training.seed)
        assert isinstance(run.model, ClassifierSettings)
        self.rows, self.labels = list(rows), list(labels)
        self.sizes = np.array([num_tokens(row, run.model) for row in rows], np.int64)
        self.max_tokens = run.training.batch_tokens

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: Sequence[int]) -> LabeledBatch:
        """The examples with these indices."""
        chosen, labels = [self.rows[n] for n in rows], [self.labels[n] for n in rows]
        if isinstance(chosen[0], np.ndarray):
            return series_batch(chosen, labels)  # type: ignore[arg-type]  # all are as the first
        return text_batch(chosen, labels)  # type: ignore[arg-type]  # all are as the first

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Batches of similar sizes; examples of equal size are shuffled in each epoch."""
        return batches(self.sizes, np.zeros_like(self.sizes), self.max_tokens, seed, epoch)

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """The examples as tensors whose names begin with `prefix`."""
        dtype = np.float32 if isinstance(self.rows[0], np.ndarray) else np.int32
        flat = [np.asarray(row, dtype).ravel() for row in self.rows]
        return {
            f"{prefix}.values": torch.from_numpy(np.concatenate(flat)),
            f"{prefix}.sizes": torch.tensor([len(row) for row in flat]),
            f"{prefix}.labels": torch.tensor(self.labels),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], prefix: str, run: Run) -> LabeledBatches:
        """The examples that `tensors` stored."""
        assert isinstance(run.model, ClassifierSettings)
        channels = len(run.model.channels)
        flat = tensors[f"{prefix}.values"].split(tensors[f"{prefix}.sizes"].tolist())
        labels = tensors[f"{prefix}.labels"].tolist()
        if channels:
            return cls([row.view(channels, -1).numpy() for row in flat], labels, run)
        return cls([row.tolist() for row in flat], labels, run)


def num_tokens(row: Sequence[int] | Series, settings: ClassifierSettings) -> int:
    """Cost of an example: its tokens, or a channel's patches if there are more of them."""
    if not isinstance(row, np.ndarray):
        return len(row)
    channels, steps = int(row.shape[0]), int(row.shape[1])
    patches = -(-steps // settings.patch)
    return patches if settings.tokens == "time" else max(patches, channels)


def series_scale(rows: Sequence[Series]) -> tuple[Tensor, Tensor]:
    """(C,) each: mean and standard deviation of every channel over all steps of all series."""
    count = sum(row.shape[1] for row in rows)
    mean = sum(row.sum(1, dtype=np.float64) for row in rows) / count
    variance = sum(((row - mean[:, None]) ** 2).sum(1, dtype=np.float64) for row in rows) / count
    return torch.from_numpy(mean).float(), torch.from_numpy(np.sqrt(variance)).float()
