"""Handwritten lines as batches for training, stored to resume from, and for validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config import Run
from regard.corpus.batches import batches
from regard.folder import Tokenizers
from regard.models.batch import source_of
from regard.tasks.handwriting.network import HandwritingModel, StrokeBatch
from regard.tasks.handwriting.recognizer import character_error, recognize
from regard.tasks.handwriting.settings import HandwritingSettings
from regard.tasks.handwriting.writer import draw
from regard.training.task import EpochBatches
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool


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


MAX_DRAWN = 24
"""Lines that are drawn and recognized in a validation."""


@dataclass(frozen=True)
class StrokeValidation(ValidationResult):
    """Loss per point; `recognised` is the share of characters recognized, None if not measured."""

    recognised: float | None = None

    def summary(self) -> list[str]:
        parts = [f"dev loss {self.loss:.3f} a point"]
        return parts if self.recognised is None else [*parts, f"recognised {self.recognised:.1%}"]


class StrokeDevelopmentSet:
    """Lines for the loss, and texts (of the built-in alphabet) to draw and recognize."""

    def __init__(
        self, lines: StrokeBatches, texts: Sequence[str], run: Run, tokenizers: Tokenizers
    ) -> None:
        assert isinstance(run.model, HandwritingSettings)
        self.lines, self.tokenizer = lines, tokenizers.source
        self.texts = tuple(texts[: min(MAX_DRAWN, run.training.validate_sentences)])
        self.scale = np.array([run.model.unit, run.model.unit, 1.0])

    def __len__(self) -> int:
        return len(self.lines)

    def validate(
        self, network: HandwritingModel, device: torch.device, pool: WorkerPool
    ) -> StrokeValidation:
        """Measure the network, which is in evaluation mode."""

        @torch.inference_mode()
        def measure(batch: StrokeBatch) -> tuple[float, int]:
            return float(network.loss(batch.to(device))), batch.answers

        losses, counts = zip(*pool.map(measure, self.lines.every()), strict=True)
        loss = sum(losses) / max(1, sum(counts))
        recognized = self._recognized(network, device) if self.texts else None
        return StrokeValidation(loss, perplexity(loss), recognized or 0.0, recognised=recognized)

    def _recognized(self, network: HandwritingModel, device: torch.device) -> float:
        source = source_of([self.tokenizer.encode(text) for text in self.texts])
        hypotheses = [  # an unfinished line counts as empty
            recognize(line.points.cpu().numpy() * self.scale) if line.finished else ""
            for line in draw(network, source.to(device))
        ]
        return max(0.0, 1 - character_error(self.texts, hypotheses))
