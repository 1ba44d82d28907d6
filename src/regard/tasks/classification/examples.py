"""Labelled texts or series as a run holds them: batched, and stored so that the run can go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.config import ClassifierSettings, Run
from regard.corpus.batches import batches
from regard.models.classifier_batch import Labelled, Series, series_batch, texts_batch
from regard.training.checkpoint import matching
from regard.training.data_cursor import EpochBatches
from regard.training.run_files import CORPUS, read_corpus, write_corpus


class ClassExamples(EpochBatches[Labelled]):
    """Texts as ids or series as numbers, with the numbers of their labels.

    A batch holds at most `max_tokens` padded tokens.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[int]] | Sequence[Series],
        labels: Sequence[int],
        sizes: Sequence[int],
        max_tokens: int,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self.rows, self.labels = list(rows), list(labels)
        self.sizes = np.asarray(sizes, np.int64)
        self.max_tokens = max_tokens

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: Sequence[int]) -> Labelled:
        """The examples at `rows`."""
        chosen, labels = [self.rows[n] for n in rows], [self.labels[n] for n in rows]
        if isinstance(chosen[0], np.ndarray):
            return series_batch(chosen, labels)  # type: ignore[arg-type]  # all are as the first
        return texts_batch(chosen, labels)  # type: ignore[arg-type]  # all are as the first

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Batches of similar sizes; of equal sizes, mixed anew in each epoch."""
        return batches(self.sizes, np.zeros_like(self.sizes), self.max_tokens, seed, epoch)


def examples_of(
    rows: Sequence[Sequence[int]] | Sequence[Series], labels: Sequence[int], run: Run
) -> ClassExamples:
    """Examples with the sizes and the batches that the run's settings give them."""
    assert isinstance(run.model, ClassifierSettings)
    sizes = [tokens_of(row, run.model) for row in rows]
    return ClassExamples(rows, labels, sizes, run.training.batch_tokens, run.training.seed)


def tokens_of(row: Sequence[int] | Series, settings: ClassifierSettings) -> int:
    """How much of a batch an example takes: its tokens, or a channel's patches if more."""
    if not isinstance(row, np.ndarray):
        return len(row)
    channels, moments = int(row.shape[0]), int(row.shape[1])
    patches = -(-moments // settings.patch)
    return patches if settings.tokens == "time" else max(patches, channels)


def series_scale(rows: Sequence[Series]) -> tuple[Tensor, Tensor]:
    """(C,) each: mean and deviation of every channel over all moments of all series."""
    count = sum(row.shape[1] for row in rows)
    mean = sum(row.sum(1, dtype=np.float64) for row in rows) / count
    spread = sum(((row - mean[:, None]) ** 2).sum(1, dtype=np.float64) for row in rows) / count
    return torch.from_numpy(mean).float(), torch.from_numpy(np.sqrt(spread)).float()


def store_examples(folder: Path, train: ClassExamples, dev: ClassExamples) -> None:
    """Write `checkpoints/corpus.safetensors`."""
    tensors: dict[str, Tensor] = {}
    for name, part in (("train", train), ("dev", dev)):
        series = isinstance(part.rows[0], np.ndarray)
        kind = np.float32 if series else np.int32
        flat = [np.asarray(row, kind).ravel() for row in part.rows]
        tensors[f"{name}.values"] = torch.from_numpy(np.concatenate(flat))
        tensors[f"{name}.sizes"] = torch.tensor([len(row) for row in flat])
        tensors[f"{name}.labels"] = torch.tensor(part.labels)
    write_corpus(folder, tensors)


def stored_examples(folder: Path, run: Run) -> tuple[ClassExamples, ClassExamples]:
    """What `store_examples` wrote: to learn from, and to look at."""
    tensors, _ = read_corpus(folder)
    assert isinstance(run.model, ClassifierSettings)
    channels = len(run.model.channels)

    def part(name: str) -> ClassExamples:
        flat = tensors[f"{name}.values"].split(tensors[f"{name}.sizes"].tolist())
        labels = tensors[f"{name}.labels"].tolist()
        if channels:
            return examples_of([row.view(channels, -1).numpy() for row in flat], labels, run)
        return examples_of([row.tolist() for row in flat], labels, run)

    with matching(folder / "checkpoints" / CORPUS):
        return part("train"), part("dev")
