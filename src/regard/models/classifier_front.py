"""From what is given to tokens: words' vectors, moments of a series, or its channels.

B examples, T ids or moments, C channels, D features, N tokens, M patches of a channel.

A front works in two steps. `entered` makes numbers of what is given, such that zero says nothing
(a word's vector; a series less its mean, over its deviation): an explanation may set parts of it to
zero and see what changes. `tokens` makes of these what the encoder reads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Dropout, Mask, Position
from regard.attention.layers.pooling import Pooling
from regard.config import ClassifierSettings
from regard.models.classifier_batch import Labelled
from regard.models.embedding import token_embedding

FILTERS = 8  # over time, at the least


class Tokens(NamedTuple):
    """What the encoder reads.

    x        (B, N, D)   tokens' vectors
    lengths  (B,)        tokens of each example
    inside   (B, N, M)   where tokens are channels: how much of each patch is in the token
    """

    x: Tensor
    lengths: Tensor
    inside: Tensor | None = None


class Words(nn.Module):
    """√D · vector of each id, plus its place, with dropout."""

    def __init__(self, settings: ClassifierSettings, vocab: int, place: Position) -> None:
        super().__init__()
        self.vectors = token_embedding(vocab, settings.dim)
        self.place, self.dropout = place, Dropout(settings.dropout)

    def entered(self, batch: Labelled) -> Tensor:
        """(B, T, D) of ids (B, T)."""
        vectors: Tensor = self.vectors(batch.values) * math.sqrt(self.vectors.embedding_dim)
        return vectors

    def tokens(self, entered: Tensor, lengths: Tensor) -> Tokens:
        """Each id is a token."""
        return Tokens(self.dropout(self.place.add(entered)), lengths)


class Series(nn.Module):
    """What both readers of series share: each channel less its mean, over its deviation.

    The two are of the training series (`measure`), and are kept with the weights.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, settings: ClassifierSettings) -> None:
        super().__init__()
        self.patch = settings.patch
        self.kernel = settings.kernel or settings.patch
        count = len(settings.channels)
        self.register_buffer("mean", torch.zeros(count, 1))
        self.register_buffer("deviation", torch.ones(count, 1))

    def entered(self, batch: Labelled) -> Tensor:
        """(B, C, T) of numbers (B, C, T); padding is zero, whatever stood there."""
        normal = (batch.values.to(self.mean.dtype) - self.mean) / self.deviation
        place = torch.arange(normal.shape[-1], device=normal.device)
        return normal.masked_fill((place >= batch.lengths[:, None])[:, None], 0.0)

    def patches(self, lengths: Tensor) -> Tensor:
        """How many patches so many moments are."""
        return (lengths + self.patch - 1) // self.patch

    def padded(self, entered: Tensor) -> Tensor:
        """Zeros around the moments, so that each patch has its whole kernel."""
        moments = entered.shape[-1]
        before = (self.kernel - self.patch) // 2
        after = -moments % self.patch + self.kernel - self.patch - before
        return F.pad(entered, (before, after))


class Moments(Series):
    """Each patch of moments is a token: filters over time that all channels share, then a mixture.

    x_p = W [gelu(filters * channel_1)_p; gelu(filters * channel_2)_p; …] (after Lawhern 2018, §2.2)
    """

    def __init__(self, settings: ClassifierSettings, place: Position) -> None:
        super().__init__(settings)
        filters = max(FILTERS, settings.dim // 4)
        self.read = nn.Conv1d(1, filters, self.kernel, stride=self.patch)
        self.mix = nn.Linear(filters * len(settings.channels), settings.dim)
        self.place, self.dropout = place, Dropout(settings.dropout)

    def tokens(self, entered: Tensor, lengths: Tensor) -> Tokens:
        """Each patch of (B, C, T) is a token."""
        channels = entered.shape[1]
        found = F.gelu(self.read(self.padded(entered.flatten(0, 1)[:, None])))
        x = self.mix(found.unflatten(0, (-1, channels)).flatten(1, 2).transpose(1, 2))
        return Tokens(self.dropout(self.place.add(x)), self.patches(lengths))


class Channels(Series):
    """Each channel is a token: its patches read one by one, and pooled by attention over time."""

    def __init__(self, settings: ClassifierSettings, place: Position) -> None:
        super().__init__(settings)
        self.read = nn.Conv1d(1, settings.dim, self.kernel, stride=self.patch)
        self.inner = nn.Linear(settings.dim, settings.dim)
        self.pooling = Pooling(settings.dim, settings.num_pooling_heads)
        self.place, self.dropout = place, Dropout(settings.dropout)

    def tokens(self, entered: Tensor, lengths: Tensor) -> Tokens:
        """Each channel of (B, C, T) is a token."""
        channels = entered.shape[1]
        patches = F.gelu(self.read(self.padded(entered.flatten(0, 1)[:, None])).transpose(1, 2))
        mask = Mask.lengths(self.patches(lengths).repeat_interleave(channels))
        context, weights = self.pooling.weighed(F.gelu(self.inner(patches)), mask)
        x = context.unflatten(0, (-1, channels))
        inside = weights.mean(1).unflatten(0, (-1, channels))
        whole = torch.full_like(lengths, channels)
        return Tokens(self.dropout(self.place.add(x)), whole, inside)


@torch.no_grad()
def measure(front: Series, mean: Tensor, deviation: Tensor) -> None:
    """Keep the mean and the deviation (C,) of the training series; a flat channel is left flat."""
    front.mean.copy_(mean[:, None])
    front.deviation.copy_(torch.where(deviation > 0, deviation, 1.0)[:, None])


Front = Words | Moments | Channels


def front_of(settings: ClassifierSettings, vocab: int, place: Position) -> Front:
    """What the settings' input becomes tokens by."""
    if settings.input != "series":
        return Words(settings, vocab, place)
    kind = Moments if settings.tokens == "time" else Channels
    return kind(settings, place)
