"""Labeled texts or series as batches for training, stored to resume from, and for validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from regard.config import ClassifierSettings, Run
from regard.corpus.batches import batches
from regard.models.classifier.batch import LabeledBatch, Series, series_batch, text_batch
from regard.models.classifier.network import ClassifierModel
from regard.training.task import EpochBatches
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool


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


@dataclass(frozen=True)
class ClassifierValidation(ValidationResult):
    """Figures of the development set; accuracy is the share of examples classified correctly.

    macro_f1   mean of the labels' F1
    labels     precision, recall, F1 and count of each label (see `label_figures`)
    confusion  rows are true labels, columns predicted ones, in the order of the model's labels
    """

    macro_f1: float = 0.0
    labels: dict[str, dict[str, float]] = field(default_factory=dict)
    confusion: list[list[int]] = field(default_factory=list)

    @property
    def goodness(self) -> tuple[float, float]:
        """Accuracy, then the loss."""
        return self.accuracy, -self.loss

    @property
    def compared_by(self) -> str:
        return "accuracy, and of equals by the loss"

    def summary(self) -> list[str]:
        return [
            f"dev loss {self.loss:.3f}",
            f"accuracy {self.accuracy:.1%}",
            f"F1 {self.macro_f1:.3f}",
        ]


@dataclass(frozen=True)
class LabeledDevelopmentSet:
    """The development set of a classifier, with the names of its labels."""

    examples: LabeledBatches
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.examples)

    def validate(
        self, network: ClassifierModel, device: torch.device, pool: WorkerPool
    ) -> ClassifierValidation:
        """Measure the network, which is in evaluation mode."""

        @torch.inference_mode()
        def measure(batch: LabeledBatch) -> tuple[float, list[int], list[int]]:
            batch = batch.to(device)
            logits = network(batch).float()
            loss = float(F.cross_entropy(logits, batch.labels, reduction="sum"))
            return loss, batch.labels.tolist(), logits.argmax(-1).tolist()

        parts = pool.map(measure, self.examples.every())
        loss = sum(part[0] for part in parts) / max(1, len(self.examples))
        pairs = [pair for _, true, predicted in parts for pair in zip(true, predicted, strict=True)]
        table = confusion(pairs, len(self.labels))
        figures = label_figures(table, self.labels)
        return ClassifierValidation(
            loss,
            perplexity(loss),
            float(np.trace(table) / max(1, table.sum())),
            macro_f1=sum(label["f1"] for label in figures.values()) / len(figures),
            labels=figures,
            confusion=table.tolist(),
        )


def confusion(pairs: Sequence[tuple[int, int]], num_labels: int) -> NDArray[np.int64]:
    """(L, L): how often each label (row) was predicted as each label (column).

    >>> confusion([(0, 0), (0, 1), (1, 1)], 2).tolist()
    [[1, 1], [0, 1]]
    """
    table = np.zeros((num_labels, num_labels), np.int64)
    for true, predicted in pairs:
        table[true, predicted] += 1
    return table


def label_figures(table: NDArray[np.int64], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """For each label: precision, recall, F1 = 2PR/(P+R) (zero where undefined), and its count.

    >>> label_figures(np.array([[1, 1], [0, 2]]), ["a", "b"])["a"]
    {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666, 'count': 2}
    """
    figures = {}
    for index, name in enumerate(names):
        correct = int(table[index, index])
        predicted, true = int(table[:, index].sum()), int(table[index].sum())
        figures[name] = {
            "precision": correct / predicted if predicted else 0.0,
            "recall": correct / true if true else 0.0,
            "f1": 2 * correct / (predicted + true) if predicted + true else 0.0,
            "count": true,
        }
    return figures
