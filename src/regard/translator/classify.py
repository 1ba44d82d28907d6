"""Labels for texts and series, by a classifier, with which words, channels or moments decided.

C channels, P patches (moments joined to one token), N tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.alignment import Pieces, pieces
from regard.attention import AttentionMap
from regard.config import ClassifierSettings, Run
from regard.errors import InputError
from regard.folder import SavedModel
from regard.models import classifier_why
from regard.models.classifier.batch import LabeledBatch, Series, series_batch, text_batch
from regard.models.classifier.explain import WHYS, Why
from regard.models.classifier.network import ClassifierModel, Decision
from regard.text import normalise

Numbers = NDArray[np.float64]
BATCH = 64


class Weighed(NamedTuple):
    """A word, channel or stretch of moments, and its share of what decided.

    weight  of all that spoke for or against the label; negative: against it
    start   where it begins: character of the text, or moment of the series
    end     where it ends
    """

    name: str
    weight: float
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Classified:
    """A label, how probable each label is (the likeliest first), and what decided.

    why       by which measure (see `regard.models.classifier.explain`)
    words     of a text: its words, each with its share
    channels  of a series, where the measure tells channels apart
    moments   of a series, where the measure tells moments apart
    grid      (C, P) of a series, where the measure tells both: shares of channels × moments
    """

    label: str
    probabilities: Mapping[str, float]
    why: Why
    words: tuple[Weighed, ...] = ()
    channels: tuple[Weighed, ...] = ()
    moments: tuple[Weighed, ...] = ()
    grid: Numbers | None = None

    @property
    def probability(self) -> float:
        """Of the label."""
        return self.probabilities[self.label]

    @property
    def peak(self) -> tuple[Weighed | None, Weighed | None]:
        """Where the map is highest: the word or stretch of moments, and the channel, if told."""
        if self.grid is not None:
            channel, moment = np.unravel_index(int(self.grid.argmax()), self.grid.shape)
            return self.moments[int(moment)], self.channels[int(channel)]

        def top(found: Sequence[Weighed]) -> Weighed | None:
            return max(found, key=lambda one: one.weight, default=None)

        return top(self.words or self.moments), top(self.channels)


class Classifier:
    """Labels texts or series, with the model of a folder."""

    def __init__(self, saved: SavedModel) -> None:
        assert isinstance(saved.network, ClassifierModel)
        assert isinstance(saved.run.model, ClassifierSettings)
        self.run: Run = saved.run
        self.path = saved.path
        self.network = saved.network
        self.settings = saved.run.model
        self.tokenizer = saved.tokenizers.source
        self.device = next(saved.network.parameters()).device

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels there are."""
        return self.settings.labels

    @overload
    def classify(self, given: str, *, why: Why = "gradient") -> Classified: ...
    @overload
    def classify(self, given: Series, *, why: Why = "gradient") -> Classified: ...
    @overload
    def classify(
        self, given: list[str] | tuple[str, ...] | list[Series], *, why: Why = "gradient"
    ) -> list[Classified]: ...
    def classify(
        self,
        given: str | Series | list[str] | tuple[str, ...] | list[Series],
        *,
        why: Why = "gradient",
    ) -> Classified | list[Classified]:
        """The label of a text or of a series (C, T), or those of several.

        `why` is how what decided is measured: gradient or occlusion speak of what was given,
        contribution and attention of the encoder's states.
        """
        if why not in WHYS:
            raise InputError(f"why must be {', '.join(WHYS)}, but {why!r} came.")
        if isinstance(given, str):
            return self._texts([given], why)[0]
        if isinstance(given, np.ndarray) and given.ndim == 2:
            return self._series([given], why)[0]
        several: list[Any] = list(given)
        if all(isinstance(one, str) for one in several):
            return self._texts(several, why)
        return self._series(several, why)

    def attention(self, given: str | Series) -> tuple[AttentionMap, ...]:
        """Every layer's and head's map over one text or series; the last is the pooling's."""
        batch = (
            text_batch([self._ids(given)])
            if isinstance(given, str)
            else series_batch([self._checked(given)])
        )
        return tuple(self.network.maps(batch.to(self.device)))

    def _texts(self, texts: Sequence[str], why: Why) -> list[Classified]:
        if self.settings.input == "series":
            self.tokenizer.encode("")  # says that this model reads series
        found: list[Classified] = []
        for start in range(0, len(texts), BATCH):
            part = texts[start : start + BATCH]
            batch = text_batch([self._ids(text) for text in part]).to(self.device)
            decision, shares, map_BN = self._decided(batch, why)
            for row, text in enumerate(part):
                split = pieces(normalise(text), self.tokenizer, self.run.source_language)
                words = _words(split, map_BN[row, : int(decision.maps.lengths[row])])
                found.append(Classified(*_labelled(self.labels, shares[row]), why, words))
        return found

    def _series(self, rows: Sequence[Series], why: Why) -> list[Classified]:
        series = [self._checked(row) for row in rows]
        found: list[Classified] = []
        for start in range(0, len(series), BATCH):
            part = series[start : start + BATCH]
            decision, shares, found_map = self._decided(
                series_batch(part).to(self.device), why
            )  # fmt: skip
            for row, one in enumerate(part):
                inside = decision.maps.inside
                channels, moments, grid = self._told(
                    found_map[row], None if inside is None else inside[row].numpy(), one.shape[1]
                )
                label, probabilities = _labelled(self.labels, shares[row])
                found.append(Classified(label, probabilities, why, (), channels, moments, grid))
        return found

    def _decided(self, batch: LabeledBatch, why: Why) -> tuple[Decision, Numbers, Numbers]:
        """The decision, probabilities (B, L), and the map as `why` makes it."""
        with torch.no_grad():
            decision = self.network.classify(batch)
        labels = decision.logits.argmax(-1)
        match why:
            case "gradient":
                seen = classifier_why.gradient(self.network, batch, labels)
            case "occlusion":
                seen = classifier_why.occlusion(self.network, batch, labels)
            case "contribution":
                seen = classifier_why.contribution(decision, labels)
            case _:
                seen = classifier_why.attention(decision)
        shares = torch.softmax(decision.logits.double(), -1)
        maps = decision.maps
        inside = None if maps.inside is None else maps.inside.detach().cpu()
        kept = maps._replace(inside=inside, lengths=maps.lengths.cpu())
        return decision._replace(maps=kept), _array(shares), _array(seen)

    def _told(
        self, seen: Numbers, inside: NDArray[np.float32] | None, moments: int
    ) -> tuple[tuple[Weighed, ...], tuple[Weighed, ...], Numbers | None]:
        """Channels, stretches of moments and grid, as far as the map of one series tells them."""
        patch = self.settings.patch
        count = -(-moments // patch)
        names = self.settings.channels
        grid: Numbers | None = None
        if seen.ndim == 2:  # of every number that was given
            window = self.settings.kernel or patch
            grid = in_patches(smoothed(seen[:, :moments], window), patch)
        elif self.settings.tokens == "channels" and inside is not None:
            grid = seen[:, None] * inside[:, :count]
        if grid is not None:
            grid = _normal(grid)
            by_channel, by_moment = grid.sum(1), grid.sum(0)
        elif self.settings.tokens == "channels":
            by_channel, by_moment = _normal(seen), np.zeros(0)
        else:
            by_channel, by_moment = np.zeros(0), _normal(seen[:count])
        channels = tuple(
            Weighed(name, float(weight), 0, moments)
            for name, weight in zip(names, by_channel, strict=False)
        )
        stretches = tuple(
            Weighed(_stretch(n, patch, moments), float(w), n * patch, min((n + 1) * patch, moments))
            for n, w in enumerate(by_moment)
        )
        return channels, stretches, grid

    def _ids(self, text: str) -> list[int]:
        ids = self.tokenizer.encode(text)
        if not ids:
            raise InputError("the text is empty; give some words.")
        return ids[: self.network.max_length]

    def _checked(self, row: Series) -> Series:
        if self.settings.input != "series":
            raise InputError("this model reads text, not numeric series; give it text.")
        found = np.asarray(row)
        count = len(self.settings.channels)
        if found.dtype.kind not in "iufb" or found.ndim != 2 or len(found) != count:
            raise InputError(
                f"a series must be numbers of shape ({count} channels, moments), but "
                f"{found.dtype} of shape {found.shape} came."
            )
        if not found.shape[1] or not np.isfinite(found).all():
            raise InputError("the series is empty or has gaps (NaN, infinity); fill them.")
        tokens = -(-found.shape[1] // self.settings.patch)
        if self.settings.tokens == "time" and tokens > self.network.max_length:
            raise InputError(
                f"the series makes {tokens} tokens, but the model holds "
                f"{self.network.max_length}; give a shorter one."
            )
        return found.astype(np.float32)


def smoothed(grid: Numbers, window: int) -> Numbers:
    """The running mean of each row (C, T) over `window` moments: what one token sees of it."""
    if window <= 1:
        return grid
    around = ((window - 1) // 2, window - 1 - (window - 1) // 2)
    wide = np.pad(grid, ((0, 0), around))
    return np.asarray(np.lib.stride_tricks.sliding_window_view(wide, window, axis=1).mean(-1))


def in_patches(grid: Numbers, patch: int) -> Numbers:
    """(C, P): sums over patches of moments (C, T).

    >>> in_patches(np.array([[1.0, 2.0, 3.0]]), 2).tolist()
    [[3.0, 3.0]]
    """
    whole = np.pad(grid, ((0, 0), (0, -grid.shape[1] % patch)))
    return np.asarray(whole.reshape(len(grid), -1, patch).sum(-1))


def _labelled(names: Sequence[str], shares: Numbers) -> tuple[str, dict[str, float]]:
    order = np.argsort(-shares, kind="stable")
    probabilities = {names[n]: float(shares[n]) for n in order}
    return names[order[0]], probabilities


def _words(split: Pieces, seen: Numbers) -> tuple[Weighed, ...]:
    """The text's words, with their tokens' shares."""
    shares = split.shares[: len(seen)]
    weights = _normal(np.asarray(seen @ shares))
    return tuple(
        Weighed(word.text, float(weight), word.start, word.end)
        for word, weight in zip(split.words, weights, strict=True)
    )


def _normal(seen: Numbers) -> Numbers:
    """Shares of all that spoke, for or against: absolute values sum to one."""
    total = np.abs(seen).sum()
    return np.asarray(seen / total if total > 0 else seen)


def _stretch(number: int, patch: int, moments: int) -> str:
    start, end = number * patch, min((number + 1) * patch, moments)
    return str(start) if end == start + 1 else f"{start}–{end - 1}"


def _array(x: Tensor) -> Numbers:
    return np.asarray(x.detach().cpu().double().numpy())
