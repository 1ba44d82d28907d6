"""Writing by hand, with the model of a folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.config import HandwritingSettings, Run
from regard.errors import InputError
from regard.folder import SavedModel
from regard.models.batch import source_of
from regard.models.handwriting import HandwritingModel
from regard.models.handwriting_drawing import draw
from regard.text import normalise
from regard.text.char_tokenizer import CharTokenizer

AT_ONCE = 64
"""Lines that are drawn together."""
POINTS_EACH = 20
"""Points that a character may need: in handwriting it is 14 to 20 of them, with its spaces."""


@dataclass(frozen=True, eq=False)
class Line:
    """A written line of N points and S characters.

    strokes   (N, 3)  dx, dy (y up) and 1 where the pen is lifted, in the unit of what was learned
    weights   (N, S)  how much the window was on each character as each point was drawn
    finished  whether the line came to its end by itself
    """

    text: str
    strokes: NDArray[np.float64]
    weights: NDArray[np.float64]
    finished: bool

    @property
    def characters(self) -> NDArray[np.int64]:
        """(N,): the character that the window was on most as each point was drawn."""
        return np.asarray(self.weights.argmax(1), np.int64)


class Penman:
    """Writes lines by hand, with the model of a folder."""

    def __init__(self, saved: SavedModel) -> None:
        assert isinstance(saved.network, HandwritingModel)
        assert isinstance(saved.run.model, HandwritingSettings)
        assert isinstance(saved.tokenizers.source, CharTokenizer)
        self.run: Run = saved.run
        self.path = saved.path
        self.network = saved.network
        self.tokenizer = saved.tokenizers.source
        self.unit = saved.run.model.unit
        self.device = next(saved.network.parameters()).device

    @property
    def alphabet(self) -> str:
        """The characters it has learned to write."""
        return "".join(sorted(self.tokenizer.vocabulary.tokens))

    @property
    def longest(self) -> int:
        """The most characters of a line: for each there must be room for its points."""
        return max(1, self.network.max_length // POINTS_EACH)

    def write(self, text: str, *, bias: float = 0.8, seed: int = 0) -> Line:
        """Write a line; the higher the bias, the more carefully; another seed, another hand."""
        return self.write_all([text], bias=bias, seed=seed)[0]

    def write_all(self, texts: Sequence[str], *, bias: float = 0.8, seed: int = 0) -> list[Line]:
        """Write several lines, some of them at once."""
        if not (math.isfinite(bias) and bias >= 0):
            raise InputError(f"the bias must be 0 or more, but {bias} came.")
        normal = [self._checked(text) for text in texts]
        lines: list[Line] = []
        for start in range(0, len(normal), AT_ONCE):
            part = normal[start : start + AT_ONCE]
            source = source_of([self.tokenizer.encode(text) for text in part]).to(self.device)
            drawn = draw(self.network, source, bias=bias, seed=seed + start)
            for text, one in zip(part, drawn, strict=True):
                strokes = one.points.cpu().numpy().astype(np.float64)
                strokes[:, :2] *= self.unit
                weights = one.weights[:, : len(text)].cpu().numpy().astype(np.float64)
                lines.append(Line(text, strokes, weights, one.finished))
        return lines

    def _checked(self, text: str) -> str:
        normal = normalise(text)
        if not normal:
            raise InputError("there is no text to write; give a letter at least.")
        unknown = sorted(set(normal) - set(self.tokenizer.vocabulary.tokens))
        if unknown:
            raise InputError(
                f"{self.path}: this model has not learned to write {' '.join(unknown)}; "
                f"it knows {self.alphabet.strip()} and the space."
            )
        if len(normal) > self.longest:
            raise InputError(
                f"the text has {len(normal)} characters, but this model writes at most "
                f"{self.longest} on a line; write it in several."
            )
        return normal
