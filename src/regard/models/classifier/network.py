"""The classifier: input layer, encoder, pooling, and a linear layer over the labels.

B examples, N tokens, D features, H pooling heads, L labels.

Pooling is linear in its values and followed only by the linear output layer, so a logit is exactly
a sum over tokens; `classify` returns its terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor, nn

from regard.attention import Dropout, Mask, Position
from regard.attention.inspection import probe
from regard.attention.layers.pooling import Pooled, Pooling
from regard.config import ClassifierSettings, MaskedLanguageModelSettings, RnnSettings
from regard.models.classifier.batch import LabeledBatch
from regard.models.classifier.inputs import EncoderInput, InputLayer, SeriesInput, input_layer
from regard.models.embedding import OutputModel, output_layer
from regard.models.parts import attention_positions, final_norm, input_positions
from regard.models.rnn.encoder import RnnEncoder
from regard.models.transformer import NORM, FeedForward, Layer, normed


class DecisionMaps(NamedTuple):
    """What a decision is made of, token by token.

    weights        (B, H, N)  pooling attention; a row sums to one
    contributions  (B, N, L)  each token's term of each logit
    patch_weights  (B, N, M)  if tokens are channels: attention over the patches of each, else None
    lengths        (B,)       tokens of each example
    """

    weights: Tensor
    contributions: Tensor
    patch_weights: Tensor | None
    lengths: Tensor


class Decision(NamedTuple):
    """Logits (B, L), and what they are made of."""

    logits: Tensor
    maps: DecisionMaps


class SelfAttentionEncoder(nn.Module):
    """Layers of self-attention over all tokens."""

    def __init__(self, settings: ClassifierSettings) -> None:
        super().__init__()
        stack = stack_settings(settings)
        place = attention_positions(stack, causal=False)
        self.layers: Iterable[Layer] = nn.ModuleList(  # type: ignore[assignment]  # ModuleList[Layer]
            Layer(stack, place, cross=False) for _ in range(stack.num_layers)
        )
        self.norm = final_norm(stack)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        mask = Mask.lengths(lengths)
        for layer in self.layers:
            x, _ = layer(x, mask)
        return normed(self.norm, x, "encoder")


class RecurrentEncoder(nn.Module):
    """A recurrent network over the tokens, with a residual connection around it."""

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
        probe.emit("residual", "x_t + h_t", x + states)
        return x + states


class TokenValues(nn.Module):
    """norm(x + W₂ f(W₁ x)) of each token: pooled values that do not depend on other tokens."""

    def __init__(self, settings: ClassifierSettings) -> None:
        super().__init__()
        self.feed_forward = FeedForward(stack_settings(settings))
        self.norm = nn.LayerNorm(settings.dim)

    def forward(self, x: Tensor) -> Tensor:
        probe.scope("encoder", "feed-forward")
        values: Tensor = self.norm(x + self.feed_forward(x))
        probe.emit("norm", NORM, values)
        return values


class FixedPooling(nn.Module):
    """Pooling without attention: the mean of all tokens, or the last of them."""

    def __init__(self, last: bool) -> None:
        super().__init__()
        self.last = last

    def forward(self, x: Tensor, mask: Mask, value: Tensor | None = None) -> Tensor:
        """(B, D) of tokens x (B, N, D), or of `value` in their stead."""
        pooled = self.looked(x, mask, value)
        probe.scope("pooling", "cross-attention")
        probe.emit(
            "weights", "1 at the last token" if self.last else "1 / N", pooled.weights, "key"
        )
        probe.emit("context", "c = Σ_j a_j v_j", pooled.context[:, None])
        return pooled.context

    def looked(self, x: Tensor, mask: Mask, value: Tensor | None = None) -> Pooled:
        """The same with weights and contributions, as `Pooling` gives them."""
        x = x if value is None else value
        keep = mask.tensor(1, x.shape[1], batch=(len(x),), device=x.device)[:, 0]
        if self.last:
            keep = keep & (keep.cumsum(1) == keep.sum(1, keepdim=True))
        weights_BN = keep.to(x.dtype) / keep.sum(1, keepdim=True).clamp(min=1)
        parts = weights_BN[..., None] * x.masked_fill(~keep[..., None], 0.0)
        return Pooled(parts.sum(1), weights_BN[:, None], parts, x.new_zeros(x.shape[-1]))


class ClassifierModel(OutputModel):
    """Logits (B, L) of labels, for texts or series."""

    side = "pooling"

    def __init__(self, settings: ClassifierSettings, vocab: int) -> None:
        super().__init__()
        self.max_length = settings.max_length
        recurrent = settings.encoder == "rnn"
        place = Position() if recurrent else input_positions(stack_settings(settings))
        self.front: InputLayer = input_layer(settings, vocab, place)
        self.encoder = RecurrentEncoder(settings) if recurrent else SelfAttentionEncoder(settings)
        self.pooling: Pooling | FixedPooling = (
            Pooling(settings.dim, settings.num_pooling_heads, dropout=settings.attention_dropout)
            if settings.pooling == "attention"
            else FixedPooling(settings.pooling == "last")
        )
        self.own = TokenValues(settings) if settings.pooled == "tokens" else None
        self.dropout = Dropout(settings.dropout)
        self.output = output_layer(settings.dim, max(1, len(settings.labels)), None)

    def features(self, batch: Any) -> Tensor:
        """(B, D): input of the output layer for a `LabeledBatch`."""
        context = self.context(self.front.embed(batch), batch.lengths)
        return self.dropout(context)  # type: ignore[no-any-return]  # modules answer Any

    def context(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """(B, D): the pooled states of embedded examples."""
        tokens, states, values = self._encode(embedded, lengths)
        return self.pooling(states, Mask.lengths(tokens.lengths), values)  # type: ignore[no-any-return]  # modules answer Any

    def margins(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """(B, L): logits less their mean over the labels."""
        return centered(self.output(self.context(embedded, lengths)))

    def classify(self, batch: LabeledBatch) -> Decision:
        """Logits (B, L), and the tokens they come from."""
        tokens, states, values = self._encode(self.front.embed(batch), batch.lengths)
        pooled = self.pooling.looked(states, Mask.lengths(tokens.lengths), values)
        logits = self.output(pooled.context)
        contributions = pooled.parts @ self.output.weight.T
        maps = DecisionMaps(pooled.weights, contributions, tokens.patch_weights, tokens.lengths)
        return Decision(logits, maps)

    def set_scale(self, mean: Tensor, deviation: Tensor) -> None:
        """Set the channels' mean and deviation (C,) of the training series."""
        assert isinstance(self.front, SeriesInput)
        self.front.set_scale(mean, deviation)

    def _encode(
        self, embedded: Tensor, lengths: Tensor
    ) -> tuple[EncoderInput, Tensor, Tensor | None]:
        """The tokens, the encoder's states (B, N, D), and the values to pool if not the states."""
        tokens = self.front.tokens(embedded, lengths)
        values = None if self.own is None else self.own(tokens.x)
        return tokens, self.encoder(tokens.x, tokens.lengths), values


def centered(logits: Tensor) -> Tensor:
    """Logits (…, L) less their mean."""
    return logits - logits.mean(-1, keepdim=True)


def stack_settings(settings: ClassifierSettings) -> MaskedLanguageModelSettings:
    """Settings of the same layers in a masked language model, where every token sees all others."""
    transformer = settings.encoder == "transformer"
    return MaskedLanguageModelSettings(
        dim=settings.dim,
        num_heads=settings.num_heads if transformer else 1,
        num_layers=settings.num_layers,
        ff=settings.ff,
        activation=settings.activation,
        norm=settings.norm,
        positions=settings.positions if transformer else "none",
        dropout=settings.dropout,
        attention_dropout=settings.attention_dropout,
        activation_dropout=settings.activation_dropout,
        max_length=settings.max_length,
        attention=settings.attention,
        normalizer=settings.normalizer,
    )
