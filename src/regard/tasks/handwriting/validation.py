"""Validation of handwriting: the loss per point, and the share of characters recognized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from regard.config import Run
from regard.folder import Tokenizers
from regard.models.batch import source_of
from regard.tasks.handwriting.batches import StrokeBatches
from regard.tasks.handwriting.drawing import draw
from regard.tasks.handwriting.network import HandwritingModel, StrokeBatch
from regard.tasks.handwriting.recognizer import character_error, recognize
from regard.tasks.handwriting.settings import HandwritingSettings
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool

MAX_DRAWN = 24
"""Lines that are drawn and recognized in a validation."""


@dataclass(frozen=True)
class StrokeValidation(ValidationResult):
    """Loss per point; `recognised` is the share of characters recognized, None if not measured."""

    recognised: float | None = None

    def summary(self) -> list[str]:
        """The figures printed during training."""
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
