"""Validation of models of text: loss, and the shares of tokens and sentences predicted right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from regard.models.batch import Batch
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.tasks.text.loss import label_loss
from regard.text import PAD, UNK
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool


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
