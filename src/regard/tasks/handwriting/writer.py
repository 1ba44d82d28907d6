"""The façade of handwriting: lines of pen strokes for texts, by the model of a folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.folder import SavedModel
from regard.models.batch import source_of
from regard.tasks.handwriting.drawing import draw
from regard.tasks.handwriting.network import HandwritingModel
from regard.tasks.handwriting.settings import HandwritingSettings
from regard.text import normalize
from regard.text.vocabulary import CharTokenizer

BATCH_LINES = 64
POINTS_PER_CHAR = 20
"""Points to reserve per character: handwriting has 14 to 20, spaces included."""


@dataclass(frozen=True, eq=False)
class HandwrittenLine:
    """A line of N points and S characters.

    strokes   (N, 3)  dx, dy (y up) and 1 where the pen is lifted, in the unit of the training data
    weights   (N, S)  window weights of each point
    finished  whether the model ended the line before the length limit
    """

    text: str
    strokes: NDArray[np.float64]
    weights: NDArray[np.float64]
    finished: bool

    @property
    def characters(self) -> NDArray[np.int64]:
        """(N,): index of the character with the largest weight at each point."""
        return np.asarray(self.weights.argmax(1), np.int64)


class HandwritingWriter:
    """Writes lines by hand, with the model of a folder."""

    def __init__(self, saved: SavedModel) -> None:
        assert isinstance(saved.network, HandwritingModel)
        assert isinstance(saved.run.model, HandwritingSettings)
        assert isinstance(saved.tokenizers.source, CharTokenizer)
        self.run, self.path = saved.run, saved.path
        self.network = saved.network
        self.tokenizer = saved.tokenizers.source
        self.unit = saved.run.model.unit
        self.device = next(saved.network.parameters()).device

    @property
    def alphabet(self) -> str:
        """The characters that the model can write."""
        return "".join(sorted(self.tokenizer.vocabulary.tokens))

    @property
    def max_chars(self) -> int:
        """The longest line in characters."""
        return max(1, self.network.max_length // POINTS_PER_CHAR)

    def write(self, text: str, *, bias: float = 0.8, seed: int = 0) -> HandwrittenLine:
        """Write a line; a higher bias gives neater strokes, another seed another style."""
        return self.write_all([text], bias=bias, seed=seed)[0]

    def write_all(
        self, texts: Sequence[str], *, bias: float = 0.8, seed: int = 0
    ) -> list[HandwrittenLine]:
        """Write several lines, in batches."""
        if not (math.isfinite(bias) and bias >= 0):
            raise InputError(f"bias must be 0 or more, got {bias}.")
        normalized = [self._checked(text) for text in texts]
        lines: list[HandwrittenLine] = []
        for start in range(0, len(normalized), BATCH_LINES):
            batch = normalized[start : start + BATCH_LINES]
            source = source_of([self.tokenizer.encode(text) for text in batch]).to(self.device)
            drawn = draw(self.network, source, bias=bias, seed=seed + start)
            for text, line in zip(batch, drawn, strict=True):
                strokes = line.points.cpu().numpy().astype(np.float64)
                strokes[:, :2] *= self.unit
                weights = line.weights[:, : len(text)].cpu().numpy().astype(np.float64)
                lines.append(HandwrittenLine(text, strokes, weights, line.finished))
        return lines

    def _checked(self, text: str) -> str:
        normalized = normalize(text)
        if not normalized:
            raise InputError("there is no text to write; give at least one letter.")
        unknown = sorted(set(normalized) - set(self.tokenizer.vocabulary.tokens))
        if unknown:
            raise InputError(
                f"{self.path}: this model has not learned to write {' '.join(unknown)}; "
                f"it knows {self.alphabet.strip()} and the space."
            )
        if len(normalized) > self.max_chars:
            raise InputError(
                f"a line must have at most {self.max_chars} characters, got {len(normalized)}; "
                "write it in several."
            )
        return normalized
