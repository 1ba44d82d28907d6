"""A corpus as token ids, in batches, on disk so that its run can be resumed, and for validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.corpus.batches import batches
from regard.corpus.mixture import occurrences
from regard.models.batch import Batch, batch_of
from regard.tasks.text.guided_rows import GuidedRows
from regard.tasks.text.id_rows import IdRows, Rows
from regard.tasks.text.loss import label_loss
from regard.text import PAD, UNK
from regard.training.task import EpochBatches
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool


class EncodedCorpus(EpochBatches[Batch]):
    """Encoded sentences in batches; `sources` is None for text without a source.

    `weights` say how often each is seen in an epoch, on average; without them, once. `guided` are
    heads with the links of every sentence. With `num_segmentations` K, the rows are the same
    sentences K times, in other tokens each time (see `subword_dropout`); an epoch draws one of them
    for each sentence.
    """

    def __init__(
        self,
        sources: Rows | None,
        targets: Rows,
        max_tokens: int,
        seed: int = 0,
        weights: Sequence[float] | None = None,
        guided: Sequence[GuidedRows] = (),
        num_segmentations: int = 1,
    ) -> None:
        super().__init__(seed)
        self.guided, self.num_segmentations = guided, num_segmentations
        equal = weights is None or all(weight == 1 for weight in weights)
        self.weights = None if equal else np.asarray(weights, np.float64)
        self.sources = None if sources is None else IdRows.of(sources)
        self.targets = IdRows.of(targets)
        self.max_tokens = max_tokens
        self.lengths_tgt = self.targets.lengths.astype(np.int64) + 1
        self.lengths_src = (
            np.zeros_like(self.lengths_tgt)
            if self.sources is None
            else self.sources.lengths.astype(np.int64) + 1
        )

    def __len__(self) -> int:
        return len(self.targets) // self.num_segmentations

    def cut(self, seed: int, epoch: int) -> list[list[int]]:
        """Return batches of about equal cost, of sentences of about equal length."""
        if self.weights is None and self.num_segmentations == 1:
            return batches(self.lengths_src, self.lengths_tgt, self.max_tokens, seed, epoch)
        counts = 1 if self.weights is None else occurrences(self.weights, seed, epoch)
        rows = np.repeat(np.arange(len(self)), counts)
        drawn = np.random.default_rng([seed, epoch, 0x5E])
        rows = rows + len(self) * drawn.integers(self.num_segmentations, size=len(rows))
        lengths = self.lengths_src[rows], self.lengths_tgt[rows]
        cut = batches(*lengths, self.max_tokens, seed, epoch)
        return [rows[numbers].tolist() for numbers in cut]

    def batch(self, rows: Sequence[int]) -> Batch:
        sources = None if self.sources is None else [self.sources[n].tolist() for n in rows]
        batch = batch_of(sources, [self.targets[n].tolist() for n in rows])
        if not self.guided:
            return batch
        return batch._replace(guided=tuple(guided.head(rows, batch) for guided in self.guided))


def corpus_tensors(name: str, corpus: EncodedCorpus) -> dict[str, Tensor]:
    """Return a corpus as tensors to be stored, under names that begin with `name`."""
    tensors = {}
    for side, rows in (("source", corpus.sources), ("target", corpus.targets)):
        if rows is not None:
            tensors[f"{name}.{side}"] = torch.from_numpy(rows.ids)
            tensors[f"{name}.{side}.lengths"] = torch.from_numpy(rows.lengths)
    for guided in corpus.guided:
        tensors |= guided.tensors(name)
    if corpus.weights is not None:
        tensors[f"{name}.weights"] = torch.from_numpy(corpus.weights)
    if corpus.num_segmentations > 1:
        tensors[f"{name}.segmentations"] = torch.tensor(corpus.num_segmentations)
    return tensors


def stored_ids(tensors: dict[str, Tensor], name: str) -> IdRows | None:
    """Return the rows of ids that `corpus_tensors` stored under a name, if there are any."""
    if name not in tensors:
        return None
    return IdRows(tensors[name].numpy(), tensors[f"{name}.lengths"].numpy())


@dataclass(frozen=True)
class TextDevelopmentSet:
    """Encoded sentences of the development set."""

    corpus: EncodedCorpus

    def validate(self, network: Any, device: torch.device, pool: WorkerPool) -> ValidationResult:
        """Measure the network, which is in evaluation mode."""
        loss, accuracy, _ = self.measure(network, device, pool)
        return ValidationResult(loss, perplexity(loss), accuracy)

    def measure(
        self, network: Any, device: torch.device, pool: WorkerPool
    ) -> tuple[float, float, float]:
        """Return the mean loss of a token, and the shares of tokens and sentences right.

        A sentence whose every token is the most probable one after the right tokens before it is
        what greedy search writes: the exact matches are found without a search.
        """

        @torch.inference_mode()
        def measure(batch: Batch) -> tuple[float, int, int, int, int]:
            batch = batch.to(device)
            features = network.features(batch)
            loss = float(label_loss(features, network.output, batch.labels))
            labelled = batch.labels != PAD
            predicted = network.output(features[labelled]).argmax(-1)
            right = predicted == batch.labels[labelled]
            wrong = labelled.clone()
            wrong[labelled] = ~right | (predicted == UNK)  # which no search writes
            exact = int((~wrong.any(1)).sum())
            return loss, int(right.sum()), len(right), exact, len(wrong)

        parts = pool.map(measure, self.corpus.every())
        loss, right, count, exact, rows = (sum(column) for column in zip(*parts, strict=True))
        return loss / max(1, count), right / max(1, count), exact / max(1, rows)
