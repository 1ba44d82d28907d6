"""The façade of handwriting: lines of pen strokes for texts, by the model of a folder.

A line is sampled one point after another, until the window has passed the text.

Shapes: B lines, T points, S characters including the end of the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import InputError
from regard.folder import LoadedModel
from regard.models.batch import Source, source_of
from regard.tasks.handwriting.network import Density, HandwritingModel
from regard.text import normalize
from regard.text.vocabulary import CharTokenizer

POINTS_PER_CHAR, EXTRA_POINTS = 45, 60
"""A line has at most POINTS_PER_CHAR · S + EXTRA_POINTS points."""
RESERVED_POINTS = 20
"""Points to reserve per character: handwriting has 14 to 20, spaces included."""
BATCH_LINES = 64
MIN_WINDOW = 1e-4
"""A window whose weights sum to less than this is beyond the text."""


class DrawnLine(NamedTuple):
    """A sampled line.

    points    (T, 3)  dx, dy (in the model's unit) and 1 where the pen is lifted
    weights   (T, S)  window weights of each point
    finished  whether the model ended the line before the length limit
    """

    points: Tensor
    weights: Tensor
    finished: bool


@torch.inference_mode()
def draw(
    network: HandwritingModel, source: Source, *, bias: float = 0.8, seed: int = 0
) -> list[DrawnLine]:
    """Sample the lines of `source`; a higher bias gives neater lines (0: the learned density)."""
    generator = torch.Generator(source.tokens.device).manual_seed(seed)
    state = network.start(source)
    points = state.context.new_tensor([0.0, 0.0, 1.0]).expand(len(source.lengths), 3)
    limit = min(network.max_length, POINTS_PER_CHAR * int(source.lengths.max()) + EXTRA_POINTS)
    drawn, windows = [], []
    ended = torch.zeros(len(points), dtype=torch.bool, device=points.device)
    lengths = torch.full_like(source.lengths, limit)
    for number in range(limit):
        output, state, weights = network.step(state, points)
        passed = _passed(weights, points, source.lengths) & ~ended & (number > 0)
        lengths[passed], ended = number, ended | passed
        density = Density.from_output(output, bias)
        points = density.sample(generator)
        drawn.append(points)
        windows.append(weights)
        over = (points[:, 2] > 0.5) & (density.end > 0) & ~ended
        lengths[over], ended = number + 1, ended | over
        if bool(ended.all()):
            break
    points_BT3, weights_BTS = torch.stack(drawn, 1), torch.stack(windows, 1)
    rows = torch.arange(len(points_BT3))
    points_BT3[rows, lengths.clamp(max=points_BT3.shape[1]) - 1, 2] = 1  # lift the pen at the end
    sizes = zip(lengths.tolist(), source.lengths.tolist(), strict=True)
    return [
        DrawnLine(points_BT3[n, :length], weights_BTS[n, :length, :chars], bool(ended[n]))
        for n, (length, chars) in enumerate(sizes)
    ]


def _passed(weights: Tensor, points: Tensor, lengths: Tensor) -> Tensor:
    """(B,): True where the pen is up and the window on the end of the text, or beyond it.

    Graves (2013, §5.3) ends lines by this rule alone.
    """
    on_end = (weights.argmax(-1) == lengths - 1) & (points[:, 2] > 0.5)
    return on_end | (weights.sum(-1) < MIN_WINDOW)


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


class HandwritingWriter(LoadedModel):
    """Writes lines by hand, with the model of a folder."""

    network: HandwritingModel
    tokenizer: CharTokenizer

    @property
    def alphabet(self) -> str:
        """The characters that the model can write."""
        return "".join(sorted(self.tokenizer.vocabulary.tokens))

    @property
    def max_chars(self) -> int:
        """The longest line in characters."""
        return max(1, self.network.max_length // RESERVED_POINTS)

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
                strokes[:, :2] *= self.network.settings.unit
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
