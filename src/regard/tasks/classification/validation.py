"""Validation of a classifier: loss, accuracy, and the figures of every label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from regard.models.classifier.batch import LabeledBatch
from regard.models.classifier.network import ClassifierModel
from regard.tasks.classification.batches import LabeledBatches
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool


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
        """What `goodness` is, for the log."""
        return "accuracy, and of equals by the loss"

    def summary(self) -> list[str]:
        """The figures printed during training."""
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
            loss, perplexity(loss), float(np.trace(table) / max(1, table.sum())),
            macro_f1=sum(label["f1"] for label in figures.values()) / len(figures),
            labels=figures, confusion=table.tolist(),
        )  # fmt: skip


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
