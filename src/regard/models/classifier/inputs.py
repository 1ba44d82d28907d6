"""Input layers of the classifier: from token ids, or series by time step or by channel, to tokens.

B examples, T ids or time steps, C channels, D features, N tokens, M patches of a channel.

An input layer works in two stages. `embed` turns the batch into numbers whose zero is neutral (a
token's embedding; a standardized series): explanations set parts of it to zero. `tokens` turns
those into the vectors that the encoder reads.
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
from regard.models.classifier.batch import LabeledBatch
from regard.models.embedding import emit_embedding, token_embedding

MIN_FILTERS = 8


class EncoderInput(NamedTuple):
    """Tokens for the encoder.

    x              (B, N, D)  token vectors
    lengths        (B,)       tokens of each example
    patch_weights  (B, N, M)  if tokens are channels: attention over the patches of each, else None
    """

    x: Tensor
    lengths: Tensor
    patch_weights: Tensor | None = None


class TextInput(nn.Module):
    """√D · embedding of each id, plus its position, with dropout."""

    def __init__(self, settings: ClassifierSettings, vocab: int, place: Position) -> None:
        super().__init__()
        self.vectors = token_embedding(vocab, settings.dim)
        self.place, self.dropout = place, Dropout(settings.dropout)

    def embed(self, batch: LabeledBatch) -> Tensor:
        """(B, T, D) of ids (B, T)."""
        vectors: Tensor = self.vectors(batch.values)
        return vectors * math.sqrt(self.vectors.embedding_dim)

    def tokens(self, embedded: Tensor, lengths: Tensor) -> EncoderInput:
        """Each id is a token."""
        emit_embedding(embedded, self.place, "encoder")
        return EncoderInput(self.dropout(self.place.add(embedded)), lengths)


class SeriesInput(nn.Module):
    """Base of both series inputs: each channel standardized by its mean and standard deviation.

    The statistics are those of the training series (`set_scale`), buffers saved with the weights.
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

    @torch.no_grad()
    def set_scale(self, mean: Tensor, deviation: Tensor) -> None:
        """Set mean and deviation (C,) of the training series; a constant channel becomes zero."""
        self.mean.copy_(mean[:, None])
        self.deviation.copy_(torch.where(deviation > 0, deviation, 1.0)[:, None])

    def embed(self, batch: LabeledBatch) -> Tensor:
        """(B, C, T) of numbers (B, C, T); padding becomes zero."""
        scaled = (batch.values.to(self.mean.dtype) - self.mean) / self.deviation
        steps = torch.arange(scaled.shape[-1], device=scaled.device)
        return scaled.masked_fill((steps >= batch.lengths[:, None])[:, None], 0.0)

    def num_patches(self, lengths: Tensor) -> Tensor:
        """Number of patches of so many time steps."""
        return (lengths + self.patch - 1) // self.patch

    def pad(self, embedded: Tensor) -> Tensor:
        """Pad with zeros, so that each patch has its whole kernel."""
        before = (self.kernel - self.patch) // 2
        after = -embedded.shape[-1] % self.patch + self.kernel - self.patch - before
        return F.pad(embedded, (before, after))


class TimeInput(SeriesInput):
    """A token per patch of time steps: temporal filters shared by all channels, then a projection.

    x_p = W [gelu(filters * channel_1)_p; gelu(filters * channel_2)_p; …] (after Lawhern 2018, §2.2)
    """

    def __init__(self, settings: ClassifierSettings, place: Position) -> None:
        super().__init__(settings)
        num_filters = max(MIN_FILTERS, settings.dim // 4)
        self.read = nn.Conv1d(1, num_filters, self.kernel, stride=self.patch)
        self.mix = nn.Linear(num_filters * len(settings.channels), settings.dim)
        self.place, self.dropout = place, Dropout(settings.dropout)

    def tokens(self, embedded: Tensor, lengths: Tensor) -> EncoderInput:
        """Each patch of (B, C, T) is a token."""
        channels = embedded.shape[1]
        filtered = F.gelu(self.read(self.pad(embedded.flatten(0, 1)[:, None])))
        x = self.mix(filtered.unflatten(0, (-1, channels)).flatten(1, 2).transpose(1, 2))
        emit_embedding(x, self.place, "encoder", "W gelu(filters * x)")
        return EncoderInput(self.dropout(self.place.add(x)), self.num_patches(lengths))


class ChannelInput(SeriesInput):
    """A token per channel: its patches, pooled by attention over time."""

    def __init__(self, settings: ClassifierSettings, place: Position) -> None:
        super().__init__(settings)
        self.read = nn.Conv1d(1, settings.dim, self.kernel, stride=self.patch)
        self.inner = nn.Linear(settings.dim, settings.dim)
        self.pooling = Pooling(settings.dim, settings.num_pooling_heads)
        self.place, self.dropout = place, Dropout(settings.dropout)

    def tokens(self, embedded: Tensor, lengths: Tensor) -> EncoderInput:
        """Each channel of (B, C, T) is a token."""
        channels = embedded.shape[1]
        patches = F.gelu(self.read(self.pad(embedded.flatten(0, 1)[:, None])).transpose(1, 2))
        mask = Mask.lengths(self.num_patches(lengths).repeat_interleave(channels))
        context, weights = self.pooling.weighed(F.gelu(self.inner(patches)), mask)
        x = context.unflatten(0, (-1, channels))
        patch_weights = weights.mean(1).unflatten(0, (-1, channels))
        num_tokens = torch.full_like(lengths, channels)
        emit_embedding(x, self.place, "encoder", "the channel's patches, pooled")
        return EncoderInput(self.dropout(self.place.add(x)), num_tokens, patch_weights)


InputLayer = TextInput | TimeInput | ChannelInput


def input_layer(settings: ClassifierSettings, vocab: int, place: Position) -> InputLayer:
    """The input layer of the settings' input and tokens."""
    if settings.input != "series":
        return TextInput(settings, vocab, place)
    return (TimeInput if settings.tokens == "time" else ChannelInput)(settings, place)
