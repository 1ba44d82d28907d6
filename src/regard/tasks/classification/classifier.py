"""The façade of a classifier: labels of texts and series, each with an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, overload

import numpy as np
import torch
from torch import Tensor

from regard.alignment import tokenized_words
from regard.attention import AttentionMap
from regard.config import ClassifierSettings
from regard.errors import InputError
from regard.folder import LoadedModel
from regard.models.classifier.batch import LabeledBatch, Series, series_batch, text_batch
from regard.models.classifier.explain import METHODS, Method, explain
from regard.models.classifier.network import ClassifierModel, Decision
from regard.tasks.classification.classification import (
    Classification,
    FloatArray,
    ranked,
    series_attributions,
    word_attributions,
)
from regard.text import normalize

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
            decision, probabilities, scores = self._decide(
                series_batch(part).to(self.device), why
            )  # fmt: skip
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
