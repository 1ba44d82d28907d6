"""Looks at the development set of a classifier: loss, accuracy, and every label's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from regard.models.classifier_batch import Labelled
from regard.tasks.classification.examples import ClassExamples
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool


@dataclass(frozen=True)
class ClassificationResult(ValidationResult):
    """What a look found; accuracy is the share of examples labelled right.

    macro_f1   the mean of the labels' F1
    labels     for each label its precision, recall, F1 and count (see `label_figures`)
    confusion  rows are true labels, columns given ones, in the order of the model's labels
    """

    macro_f1: float = 0.0
    labels: dict[str, dict[str, float]] = field(default_factory=dict)
    confusion: list[list[int]] = field(default_factory=list)

    @property
    def goodness(self) -> tuple[float, float]:
        """Accuracy; of equals, the smaller loss."""
        return self.accuracy, -self.loss

    @property
    def compared_by(self) -> str:
        """What `goodness` goes by, in words."""
        return "accuracy, and of equals by the loss"

    def summary(self) -> list[str]:
        """The figures that are told while training."""
        return [
            f"dev loss {self.loss:.3f}",
            f"accuracy {self.accuracy:.1%}",
            f"F1 {self.macro_f1:.3f}",
        ]


@dataclass(frozen=True)
class ClassDev:
    """The development set of a classifier."""

    examples: ClassExamples
    names: tuple[str, ...]

    def validate(
        self, network: Any, device: torch.device, pool: WorkerPool
    ) -> ClassificationResult:
        """Measure the network, which is in evaluation mode."""

        @torch.inference_mode()
        def measure(batch: Labelled) -> tuple[float, list[int], list[int]]:
            batch = batch.to(device)
            scores = network(batch).float()
            loss = float(F.cross_entropy(scores, batch.labels, reduction="sum"))
            return loss, batch.labels.tolist(), scores.argmax(-1).tolist()

        parts = pool.map(measure, self.examples.every())
        loss = sum(part[0] for part in parts) / max(1, len(self.examples))
        pairs = [pair for _, true, given in parts for pair in zip(true, given, strict=True)]
        table = confusion(pairs, len(self.names))
        figures = label_figures(table, self.names)
        return ClassificationResult(
            loss, perplexity(loss), float(np.trace(table) / max(1, table.sum())),
            macro_f1=sum(one["f1"] for one in figures.values()) / len(figures),
            labels=figures, confusion=table.tolist(),
        )  # fmt: skip


def confusion(pairs: Sequence[tuple[int, int]], labels: int) -> NDArray[np.int64]:
    """(L, L): how often each label (row) was given each label (column).

    >>> confusion([(0, 0), (0, 1), (1, 1)], 2).tolist()
    [[1, 1], [0, 1]]
    """
    table = np.zeros((labels, labels), np.int64)
    for true, given in pairs:
        table[true, given] += 1
    return table


def label_figures(table: NDArray[np.int64], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """For each label: precision, recall, F1 = 2PR/(P+R) (zero where undefined), and its count.

    >>> label_figures(np.array([[1, 1], [0, 2]]), ["a", "b"])["a"]
    {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666, 'count': 2}
    """
    figures = {}
    for number, name in enumerate(names):
        right, given, true = (
            int(table[number, number]), int(table[:, number].sum()), int(table[number].sum()),
        )  # fmt: skip
        figures[name] = {
            "precision": right / given if given else 0.0,
            "recall": right / true if true else 0.0,
            "f1": 2 * right / (given + true) if given + true else 0.0,
            "count": true,
        }
    return figures
