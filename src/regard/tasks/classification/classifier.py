"""The façade of a classifier: labels of texts and series, each with an explanation.

C channels, T time steps, P patches (the time steps of a token), N tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.alignment import TokenizedWords, tokenized_words
from regard.attention import AttentionMap
from regard.config import ClassifierSettings
from regard.errors import InputError
from regard.folder import LoadedModel
from regard.models.classifier.batch import LabeledBatch, Series, series_batch, text_batch
from regard.models.classifier.explain import METHODS, Method, explain
from regard.models.classifier.network import ClassifierModel, Decision
from regard.text import normalize

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


BATCH_SIZE = 64


class Classifier(LoadedModel):
    """Labels texts or series, with the model of a folder."""

    network: ClassifierModel

    @property
    def settings(self) -> ClassifierSettings:
        """The model's settings."""
        return cast("ClassifierSettings", self.run.model)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self.settings.labels

    @overload
    def classify(self, data: str | Series, *, why: Method = "gradient") -> Classification: ...
    @overload
    def classify(
        self, data: list[str] | tuple[str, ...] | list[Series], *, why: Method = "gradient"
    ) -> list[Classification]: ...
    def classify(
        self,
        data: str | Series | list[str] | tuple[str, ...] | list[Series],
        *,
        why: Method = "gradient",
    ) -> Classification | list[Classification]:
        """Classify a text or a series (C, T), or several.

        `why` is the method of the explanation: gradient or occlusion explain by the input,
        contribution and attention by the encoder's states.
        """
        if why not in METHODS:
            raise InputError(f"why must be {', '.join(METHODS)}, got {why!r}.")
        if isinstance(data, str):
            return self._classify_texts([data], why)[0]
        if isinstance(data, np.ndarray) and data.ndim == 2:
            return self._classify_series([data], why)[0]
        several: list[Any] = list(data)
        if all(isinstance(item, str) for item in several):
            return self._classify_texts(several, why)
        return self._classify_series(several, why)

    def attention(self, data: str | Series) -> tuple[AttentionMap, ...]:
        """Every layer's and head's map over one text or series; the last is the pooling's."""
        batch = (
            text_batch([self.ids(data)])
            if isinstance(data, str)
            else series_batch([self._checked(data)])
        )
        return tuple(self.network.maps(batch.to(self.device)))

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, cut to the model's length."""
        ids = self.tokenizer.encode(text)
        if not ids:
            raise InputError("the text is empty; give some words.")
        return ids[: self.network.max_length]

    def _classify_texts(self, texts: Sequence[str], why: Method) -> list[Classification]:
        if self.settings.input == "series":
            self.tokenizer.encode("")  # raises: this model reads series
        results: list[Classification] = []
        for start in range(0, len(texts), BATCH_SIZE):
            part = texts[start : start + BATCH_SIZE]
            batch = text_batch([self.ids(text) for text in part]).to(self.device)
            decision, probabilities, scores = self._decide(batch, why)
            for row, text in enumerate(part):
                split = tokenized_words(normalize(text), self.tokenizer, self.run.source_language)
                num_tokens = int(decision.maps.lengths[row])
                words = word_attributions(split, scores[row, :num_tokens])
                shares = ranked(self.labels, probabilities[row])
                results.append(Classification(next(iter(shares)), shares, why, words))
        return results

    def _classify_series(self, rows: Sequence[Series], why: Method) -> list[Classification]:
        series = [self._checked(row) for row in rows]
        results: list[Classification] = []
        for start in range(0, len(series), BATCH_SIZE):
            part = series[start : start + BATCH_SIZE]
            decision, probabilities, scores = self._decide(series_batch(part).to(self.device), why)
            weights = decision.maps.patch_weights
            patch_weights = None if weights is None else weights.detach().cpu().numpy()
            for row, values in enumerate(part):
                attributions = series_attributions(
                    self.settings,
                    scores[row],
                    None if patch_weights is None else patch_weights[row],
                    values.shape[1],
                )
                shares = ranked(self.labels, probabilities[row])
                results.append(Classification(next(iter(shares)), shares, why, (), *attributions))
        return results

    def _decide(self, batch: LabeledBatch, why: Method) -> tuple[Decision, FloatArray, FloatArray]:
        """The decision, probabilities (B, L), and the scores of the explanation."""
        with torch.no_grad():
            decision = self.network.classify(batch)
        scores = explain(self.network, batch, decision, decision.logits.argmax(-1), why)
        return decision, _array(torch.softmax(decision.logits.double(), -1)), _array(scores)

    def _checked(self, row: Series) -> Series:
        if self.settings.input != "series":
            raise InputError("this model reads text, not numeric series; give it text.")
        values = np.asarray(row)
        count = len(self.settings.channels)
        if values.dtype.kind not in "iufb" or values.ndim != 2 or len(values) != count:
            raise InputError(
                f"a series must be numbers of shape ({count} channels, moments), got "
                f"{values.dtype} of shape {values.shape}."
            )
        if not values.shape[1] or not np.isfinite(values).all():
            raise InputError("the series is empty or has gaps (NaN, infinity); fill them.")
        tokens = -(-values.shape[1] // self.settings.patch)
        if self.settings.tokens == "time" and tokens > self.network.max_length:
            raise InputError(
                f"the series makes {tokens} tokens, but the model holds "
                f"{self.network.max_length}; give a shorter one."
            )
        return values.astype(np.float32)


def _array(x: Tensor) -> FloatArray:
    return np.asarray(x.detach().cpu().double().numpy())
