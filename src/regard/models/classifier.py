"""The classifier: tokens, an encoder, pooling, and a linear layer over the labels.

B examples, N tokens, D features, H heads of the pooling, L labels.

Between the pooled vector and the labels' scores nothing but a linear layer stands, and pooling is
linear in its values. So a label's score is exactly a sum over tokens, and `classify` tells its
terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap, Dropout, Mask, Position, record
from regard.attention.layers.pooling import Pooled, Pooling
from regard.config import ClassifierSettings, MaskedLanguageModelSettings, RnnSettings
from regard.config.attention import Attending
from regard.models.classifier_batch import Labelled
from regard.models.classifier_front import Front, Series, Tokens, front_of, measure
from regard.models.embedding import output_layer
from regard.models.layer import FeedForward, Layer, attention_positions, final_norm, input_positions
from regard.models.rnn.encoder import RnnEncoder


class Maps(NamedTuple):
    """What decided, token by token.

    weights  (B, H, N)  attention of the pooling, per head; a row sums to one
    parts    (B, N, L)  what each token brought to each label's score
    inside   (B, N, M)  where tokens are channels: the attention over their patches, else None
    lengths  (B,)       tokens of each example
    """

    weights: Tensor
    parts: Tensor
    inside: Tensor | None
    lengths: Tensor


class Decision(NamedTuple):
    """The labels' scores (B, L), and what they are made of."""

    logits: Tensor
    maps: Maps


class Attentive(nn.Module):
    """Layers of self-attention over all tokens."""

    def __init__(self, settings: ClassifierSettings) -> None:
        super().__init__()
        plain = stack_settings(settings)
        place = attention_positions(plain, causal=False)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # of these
            Layer(plain, place, cross=False) for _ in range(plain.num_layers)
        )
        self.norm = final_norm(plain)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        mask = Mask.lengths(lengths)
        for layer in self.layers:
            x, _ = layer(x, mask)
        return self.norm(x)  # type: ignore[no-any-return]  # modules answer Any


class Recurrent(nn.Module):
    """A recurrent network over the tokens, each state joined by the token it is of.

    The sum keeps a token's own vector in its state, as a Transformer's residuals do.
    """

    def __init__(self, settings: ClassifierSettings) -> None:
        super().__init__()
        self.encoder = RnnEncoder(
            RnnSettings(
                cell=settings.cell,
                embedding=settings.dim,
                dim=settings.dim,
                num_encoder_layers=settings.num_layers,
                bidirectional=settings.bidirectional,
                dropout=settings.dropout,
                max_length=settings.max_length,
            )
        )

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        states: Tensor = self.encoder(x.transpose(0, 1), lengths).states
        return x + states


class Own(nn.Module):
    """norm(x + W₂ f(W₁ x)) of each token by itself: what is pooled if not the encoder's states."""

    def __init__(self, settings: ClassifierSettings) -> None:
        super().__init__()
        self.feed_forward = FeedForward(stack_settings(settings))
        self.norm = nn.LayerNorm(settings.dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x + self.feed_forward(x))  # type: ignore[no-any-return]  # modules answer Any


class Fixed(nn.Module):
    """Pooling without a choice: the mean of all tokens, or the last of them."""

    def __init__(self, last: bool) -> None:
        super().__init__()
        self.last = last

    def forward(self, x: Tensor, mask: Mask, value: Tensor | None = None) -> Tensor:
        """(B, D) of tokens x (B, N, D), or of `value` in their place."""
        return self.looked(x, mask, value).context

    def looked(self, x: Tensor, mask: Mask, value: Tensor | None = None) -> Pooled:
        """As attention pooling answers."""
        x = x if value is None else value
        kept = mask.tensor(1, x.shape[1], batch=(len(x),), device=x.device)[:, 0]
        if self.last:
            kept = kept & (kept.cumsum(1) == kept.sum(1, keepdim=True))
        weights_BN = kept.to(x.dtype) / kept.sum(1, keepdim=True).clamp(min=1)
        parts = weights_BN[..., None] * x.masked_fill(~kept[..., None], 0.0)
        return Pooled(parts.sum(1), weights_BN[:, None], parts, x.new_zeros(x.shape[-1]))


class ClassifierModel(nn.Module):
    """Scores of labels, for texts or series."""

    def __init__(self, settings: ClassifierSettings, vocab: int) -> None:
        super().__init__()
        self.max_length = settings.max_length
        recurrent = settings.encoder == "rnn"
        place = Position() if recurrent else input_positions(stack_settings(settings))
        self.front: Front = front_of(settings, vocab, place)
        self.encoder = Recurrent(settings) if recurrent else Attentive(settings)
        self.pooling: Pooling | Fixed = (
            Pooling(settings.dim, settings.num_pooling_heads, dropout=settings.attention_dropout)
            if settings.pooling == "attention"
            else Fixed(settings.pooling == "last")
        )
        self.own = Own(settings) if settings.pooled == "tokens" else None
        self.dropout = Dropout(settings.dropout)
        self.output = output_layer(settings.dim, max(1, len(settings.labels)), None)

    def forward(self, batch: Labelled) -> Tensor:
        """Scores (B, L)."""
        return self.output(self.features(batch))  # type: ignore[no-any-return]  # modules answer Any

    def features(self, batch: Any) -> Tensor:
        """(B, D): what the final layer sees of a `Labelled` batch."""
        context = self.context(self.front.entered(batch), batch.lengths)
        return self.dropout(context)  # type: ignore[no-any-return]  # modules answer Any

    def context(self, entered: Tensor, lengths: Tensor) -> Tensor:
        """(B, D): what a front made of the examples, read and pooled."""
        tokens, states, values = self._read(entered, lengths)
        return self.pooling(states, Mask.lengths(tokens.lengths), values)  # type: ignore[no-any-return]  # modules answer Any

    def leads(self, entered: Tensor, lengths: Tensor) -> Tensor:
        """(B, L): how far each label's score is above the mean of all."""
        return centred(self.output(self.context(entered, lengths)))

    def classify(self, batch: Labelled) -> Decision:
        """Scores (B, L), and which tokens they come from."""
        tokens, states, values = self._read(self.front.entered(batch), batch.lengths)
        pooled = self.pooling.looked(states, Mask.lengths(tokens.lengths), values)
        logits = self.output(pooled.context)
        parts = pooled.parts @ self.output.weight.T
        return Decision(logits, Maps(pooled.weights, parts, tokens.inside, tokens.lengths))

    @torch.no_grad()
    def maps(self, batch: Any) -> list[AttentionMap]:
        """Every head's attention while a `Labelled` batch is read: the encoder's, the pooling's."""
        with record(self) as recording:
            self.features(batch)
        return recording.maps

    def measure(self, mean: Tensor, deviation: Tensor) -> None:
        """Keep the channels' mean and deviation (C,) of the training series."""
        assert isinstance(self.front, Series)
        measure(self.front, mean, deviation)

    def _read(self, entered: Tensor, lengths: Tensor) -> tuple[Tokens, Tensor, Tensor | None]:
        """The tokens, the encoder's states (B, N, D), and what is pooled if not those."""
        tokens = self.front.tokens(entered, lengths)
        values = None if self.own is None else self.own(tokens.x)
        return tokens, self.encoder(tokens.x, tokens.lengths), values


def centred(logits: Tensor) -> Tensor:
    """Scores (…, L) less their mean: what of them decides."""
    return logits - logits.mean(-1, keepdim=True)


def stack_settings(settings: ClassifierSettings) -> MaskedLanguageModelSettings:
    """The same layers as those of a masked model: every token sees all others."""
    return MaskedLanguageModelSettings(
        dim=settings.dim, num_heads=settings.num_heads if settings.encoder == "transformer" else 1,
        num_layers=settings.num_layers, ff=settings.ff, activation=settings.activation,
        norm=settings.norm,
        positions=settings.positions if settings.encoder == "transformer" else "none",
        dropout=settings.dropout,
        attention_dropout=settings.attention_dropout,
        activation_dropout=settings.activation_dropout, max_length=settings.max_length,
        **{field.name: getattr(settings, field.name) for field in fields(Attending)},
    )  # fmt: skip
