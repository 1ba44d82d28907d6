"""Result of a classifier: label, probabilities, and the words, channels or times that decided.

C channels, T time steps, P patches (the time steps of a token), N tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.alignment import TokenizedWords
from regard.config import ClassifierSettings
from regard.models.classifier.explain import Method

FloatArray = NDArray[np.float64]


class Attribution(NamedTuple):
    """A word, channel or range of time steps, and its share of the explanation.

    weight  share of the sum of absolute values; negative: against the label
    start   first character of the text, or first time step
    end     one past the last
    """

    name: str
    weight: float
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Classification:
    """The best label, the probabilities of all (best first), and an explanation.

    why       method of the explanation (see `regard.models.classifier.explain`)
    words     of a text
    channels  of a series, if the method distinguishes channels
    moments   of a series: ranges of time steps, if the method distinguishes them
    grid      (C, P) of a series, if the method distinguishes both: shares of channels × moments
    """

    label: str
    probabilities: Mapping[str, float]
    why: Method
    words: tuple[Attribution, ...] = ()
    channels: tuple[Attribution, ...] = ()
    moments: tuple[Attribution, ...] = ()
    grid: FloatArray | None = None

    @property
    def probability(self) -> float:
        """Probability of the label."""
        return self.probabilities[self.label]

    @property
    def peak(self) -> tuple[Attribution | None, Attribution | None]:
        """The word or time steps, and the channel, of the largest weight."""
        if self.grid is not None:
            channel, moment = np.unravel_index(int(self.grid.argmax()), self.grid.shape)
            return self.moments[int(moment)], self.channels[int(channel)]

        def top(parts: Sequence[Attribution]) -> Attribution | None:
            return max(parts, key=lambda part: part.weight, default=None)

        return top(self.words or self.moments), top(self.channels)


def ranked(labels: Sequence[str], probabilities: FloatArray) -> dict[str, float]:
    """Probabilities (L,) by label, the largest first."""
    order = np.argsort(-probabilities, kind="stable")
    return {labels[n]: float(probabilities[n]) for n in order}


def word_attributions(split: TokenizedWords, scores: FloatArray) -> tuple[Attribution, ...]:
    """The words of a text, from the scores (N,) of its tokens."""
    weights = _normalized(np.asarray(scores @ split.shares[: len(scores)]))
    return tuple(
        Attribution(word.text, float(weight), word.start, word.end)
        for word, weight in zip(split.words, weights, strict=True)
    )


def series_attributions(
    settings: ClassifierSettings,
    scores: FloatArray,
    patch_weights: NDArray[np.float32] | None,
    num_steps: int,
) -> tuple[tuple[Attribution, ...], tuple[Attribution, ...], FloatArray | None]:
    """Channels, time ranges and grid, from scores (C, T) of the input or (N,) of the tokens."""
    patch = settings.patch
    num_patches = -(-num_steps // patch)
    grid: FloatArray | None = None
    if scores.ndim == 2:
        window = settings.kernel or patch
        grid = in_patches(smoothed(scores[:, :num_steps], window), patch)
    elif settings.tokens == "channels" and patch_weights is not None:
        grid = scores[:, None] * patch_weights[:, :num_patches]
    by_channel = by_moment = np.zeros(0)
    if grid is not None:
        grid = _normalized(grid)
        by_channel, by_moment = grid.sum(1), grid.sum(0)
    elif settings.tokens == "channels":
        by_channel = _normalized(scores)
    else:
        by_moment = _normalized(scores[:num_patches])
    channels = tuple(
        Attribution(name, float(weight), 0, num_steps)
        for name, weight in zip(settings.channels, by_channel, strict=False)
    )
    moments = []
    for n, weight in enumerate(by_moment):
        start, end = n * patch, min((n + 1) * patch, num_steps)
        name = str(start) if end == start + 1 else f"{start}–{end - 1}"
        moments.append(Attribution(name, float(weight), start, end))
    return channels, tuple(moments), grid


def smoothed(grid: FloatArray, window: int) -> FloatArray:
    """Running mean of each row (C, T) over `window` steps, the receptive field of a token."""
    if window <= 1:
        return grid
    around = ((window - 1) // 2, window - 1 - (window - 1) // 2)
    wide = np.pad(grid, ((0, 0), around))
    return np.asarray(np.lib.stride_tricks.sliding_window_view(wide, window, axis=1).mean(-1))


def in_patches(grid: FloatArray, patch: int) -> FloatArray:
    """(C, P): sums over patches of time steps (C, T).

    >>> in_patches(np.array([[1.0, 2.0, 3.0]]), 2).tolist()
    [[3.0, 3.0]]
    """
    whole = np.pad(grid, ((0, 0), (0, -grid.shape[1] % patch)))
    return np.asarray(whole.reshape(len(grid), -1, patch).sum(-1))


def _normalized(scores: FloatArray) -> FloatArray:
    """Scores divided by the sum of their absolute values."""
    total = np.abs(scores).sum()
    return np.asarray(scores / total if total > 0 else scores)
