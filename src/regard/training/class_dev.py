"""Looks at the development set of a classifier: loss, accuracy, and every label's figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from regard.config import Run
from regard.folder import Tokenizers
from regard.models.classifier.batch import LabeledBatch
from regard.training.class_examples import ClassExamples
from regard.training.dev import Look
from regard.training.shards import Crew


@dataclass(frozen=True)
class ClassLook(Look):
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

    def said(self) -> list[str]:
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

    def look(
        self, network: Any, run: Run, tokenizers: Tokenizers, device: torch.device, crew: Crew
    ) -> ClassLook:
        """Measure the network as it is."""

        @torch.inference_mode()
        def measure(batch: LabeledBatch) -> tuple[float, list[int], list[int]]:
            batch = batch.to(device)
            scores = network(batch).float()
            loss = float(F.cross_entropy(scores, batch.labels, reduction="sum"))
            return loss, batch.labels.tolist(), scores.argmax(-1).tolist()

        was = network.training
        network.eval()
        try:
            parts = crew.map(measure, self.examples.every())
        finally:
            network.train(was)
        loss = sum(part[0] for part in parts) / max(1, len(self.examples))
        pairs = [pair for _, true, given in parts for pair in zip(true, given, strict=True)]
        names = run.model.labels  # type: ignore[union-attr]  # a classifier's
        table = confusion(pairs, len(names))
        figures = label_figures(table, names)
        return ClassLook(
            loss, math.exp(min(loss, 50.0)), float(np.trace(table) / max(1, table.sum())),
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
