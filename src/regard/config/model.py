"""Settings of the models: Transformer, recurrent network, language models, classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from regard.config.mechanisms import MechanismSettings, SelfAttentionSettings, check_attention
from regard.config.schema import (
    Fraction,
    MultipleOf,
    NonNegativeInt,
    Options,
    PositiveInt,
    Word,
    check_multiple,
)
from regard.errors import InputError

CORPUS = Word("corpus", 0)
"""The longest training sentence, once it is known."""
CorpusLength = Annotated[NonNegativeInt, CORPUS]
Positions = Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "none"]
Norm = Literal["pre", "post"]
SourceAttention = Literal[
    "none", "bahdanau", "luong", "location", "coverage", "graves", "monotonic"
]


@dataclass(frozen=True)
class TransformerSettings(SelfAttentionSettings):
    """Transformer encoder–decoder (Vaswani 2017)."""

    kind: Literal["transformer"] = "transformer"
    """Transformer encoder–decoder."""
    dim: Annotated[PositiveInt, MultipleOf("num_heads")] = 512
    """Width of the token embeddings and of every sub-layer's output."""
    num_heads: PositiveInt = 8
    """Heads of every attention; must divide dim."""
    num_encoder_layers: PositiveInt = 6
    """Layers of the encoder."""
    num_decoder_layers: PositiveInt = 6
    """Layers of the decoder."""
    decoder_attention: MechanismSettings | Literal["same"] = "same"
    """Self-attention of the decoder; same: that of the encoder."""
    ff: PositiveInt = 2048
    """Inner width of the feed-forward sub-layers."""
    activation: str = "relu"
    """Activation of the feed-forward sub-layers: any function of torch.nn.functional by name."""
    norm: Norm = "pre"
    """Layer norm before each sub-layer, or after its residual sum as in the paper."""
    positions: Positions = "sinusoidal"
    """Position encoding."""
    tied: Literal["all", "output", "none"] = "all"
    """Embeddings shared: source, target and output; target and output; or none."""
    dropout: Fraction = 0.1
    """Dropout of embeddings and of every sub-layer's output."""
    attention_dropout: Fraction = 0.0
    """Dropout of attention weights."""
    activation_dropout: Fraction = 0.0
    """Dropout inside the feed-forward sub-layers."""
    max_length: CorpusLength = 1024
    """Longest sentence in tokens; corpus (or 0): the longest training sentence."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rotary(self)
        check_attention(self.attention, self, causal=self.decoder_attention == "same")
        if self.decoder_attention != "same":
            check_attention(
                self.decoder_attention, self, causal=True, flag="model.decoder_attention"
            )


@dataclass(frozen=True)
class RnnSettings(Options):
    """Recurrent encoder–decoder, with attention or without (Bahdanau 2015, Luong 2015)."""

    kind: Literal["rnn"] = "rnn"
    """Recurrent encoder–decoder."""
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """Recurrent cell: vanilla (tanh), GRU or LSTM."""
    embedding: PositiveInt = 256
    """Width of the token embeddings."""
    dim: PositiveInt = 512
    """Width of the decoder's state, and of the encoder's, both directions together."""
    num_encoder_layers: PositiveInt = 1
    """Layers of the encoder."""
    num_decoder_layers: PositiveInt = 1
    """Layers of the decoder."""
    bidirectional: bool = True
    """Whether the encoder is bidirectional."""
    attention: SourceAttention = "bahdanau"
    """Attention to the source: none (one context vector), before the step (bahdanau), after it
    (luong), or before it with a memory: of the last weights (location), of the sum of all weights
    (coverage), or monotonic (graves, monotonic)."""
    components: PositiveInt = 5
    """Gaussians of the graves window."""
    score: Literal["dot", "general", "concat"] = "general"
    """Score of luong attention."""
    context: Literal["initial", "every"] = "initial"
    """Without attention: the context is the decoder's first state, or joins every input too."""
    attention_dim: PositiveInt = 256
    """Inner width of the additive score (all but graves, and luong's dot and general)."""
    tied: Literal["all", "output", "none"] = "output"
    """Embeddings shared: source, target and output; target and output; or none."""
    dropout: Fraction = 0.2
    """Dropout of embeddings, between layers, and before the output."""
    max_length: CorpusLength = 1024
    """Longest sentence in tokens; corpus (or 0): the longest training sentence."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bidirectional:
            check_multiple(self, "dim", 2, "two directions")


@dataclass(frozen=True)
class LanguageModelSettings(SelfAttentionSettings):
    """Decoder-only model of the next token, with causal masking."""

    kind: Literal["lm"] = "lm"
    """Decoder-only next-token model."""
    dim: Annotated[PositiveInt, MultipleOf("num_heads")] = 512
    """Width of the token embeddings and of every sub-layer's output."""
    num_heads: PositiveInt = 8
    """Heads of every attention; must divide dim."""
    num_layers: PositiveInt = 6
    """Layers."""
    ff: PositiveInt = 2048
    """Inner width of the feed-forward sub-layers."""
    activation: str = "gelu"
    """Activation of the feed-forward sub-layers: any function of torch.nn.functional by name."""
    norm: Norm = "pre"
    """Layer norm before each sub-layer, or after its residual sum."""
    positions: Positions = "rotary"
    """Position encoding."""
    tied: Literal["all", "none"] = "all"
    """Whether input and output embeddings are one matrix."""
    dropout: Fraction = 0.1
    """Dropout of embeddings and of every sub-layer's output."""
    attention_dropout: Fraction = 0.0
    """Dropout of attention weights."""
    activation_dropout: Fraction = 0.0
    """Dropout inside the feed-forward sub-layers."""
    max_length: CorpusLength = 1024
    """Longest text in tokens; longer training text is cut into pieces of this length."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rotary(self)
        check_attention(self.attention, self, causal=self.kind == "lm")


@dataclass(frozen=True)
class MaskedLanguageModelSettings(LanguageModelSettings):
    """Encoder-only model of masked tokens (Devlin 2019)."""

    kind: Literal["mlm"] = "mlm"  # type: ignore[assignment]  # a narrower kind
    """Encoder-only masked-token model."""
    positions: Positions = "learned"
    """Position encoding."""
    max_length: CorpusLength = 512
    """Longest text in tokens; longer training text is cut into pieces of this length."""
    mask_rate: Fraction = 0.15
    """Share of tokens that are masked in training."""


@dataclass(frozen=True)
class ClassifierSettings(SelfAttentionSettings):
    """Encoder, attention pooling and a linear layer over the labels.

    `input`, `labels` and `channels` are completed from the data and saved with the model.
    """

    kind: Literal["classifier"] = "classifier"
    """Classifier of texts or of numeric series."""
    encoder: Literal["transformer", "rnn"] = "transformer"
    """Encoder of the tokens: layers of self-attention, or a recurrent network."""
    tokens: Literal["time", "channels"] = "time"
    """Of a series: a token per time step (channels are its features), or per channel."""
    patch: PositiveInt = 1
    """Of a series: number of time steps that a token (or a patch of a channel) covers."""
    kernel: NonNegativeInt = 0
    """Of a series: width of the filters in time steps; 0: the patch."""
    dim: Annotated[PositiveInt, MultipleOf("num_pooling_heads")] = 256
    """Width of token vectors and of every sub-layer's output."""
    num_layers: PositiveInt = 2
    """Layers of the encoder."""
    num_heads: PositiveInt = 4
    """Heads of the Transformer's attention; must divide dim."""
    ff: PositiveInt = 1024
    """Inner width of the Transformer's feed-forward sub-layers."""
    activation: str = "gelu"
    """Activation of the feed-forward sub-layers: any function of torch.nn.functional by name."""
    norm: Norm = "pre"
    """Layer norm before each of the Transformer's sub-layers, or after its residual sum."""
    positions: Positions = "sinusoidal"
    """Position encoding of the Transformer; none: the order of the tokens does not matter."""
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """Cell of the recurrent encoder."""
    bidirectional: bool = True
    """Whether the recurrent encoder is bidirectional."""
    pooling: Literal["attention", "mean", "last"] = "attention"
    """How tokens become one vector: a learned query's attention, their mean, or the last one."""
    pooled: Literal["states", "tokens"] = "states"
    """Values that are pooled: the encoder's states, which mix all tokens; or the tokens before the
    encoder, weighted by the states, so that each contribution is of one token."""
    num_pooling_heads: PositiveInt = 1
    """Heads of attention pooling; must divide dim."""
    dropout: Fraction = 0.1
    """Dropout of embeddings and of every sub-layer's output."""
    attention_dropout: Fraction = 0.0
    """Dropout of attention weights."""
    activation_dropout: Fraction = 0.0
    """Dropout inside the feed-forward sub-layers."""
    max_length: Annotated[PositiveInt, CORPUS] = 1024
    """Most tokens of an example; a longer text is cut, a longer series is an error."""
    input: Literal["auto", "text", "series"] = "auto"
    """Kind of input; auto: as in the files."""
    labels: tuple[str, ...] = ()
    """Names of the labels, in the order of the model's output; from the data."""
    channels: tuple[str, ...] = ()
    """Names of a series' channels; from the data."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < self.kernel < self.patch:
            raise InputError(
                f"model.kernel must be 0 or at least model.patch ({self.patch}), so that every "
                f"moment is covered, got {self.kernel}."
            )
        if self.encoder == "rnn":
            self._check_rnn()
        else:
            check_multiple(self, "dim", self.num_heads, "num_heads")
            check_attention(self.attention, self, causal=False)
            if self.attention.name == "ring":
                raise InputError("model.attention ring is for causal models; choose another.")
            _check_rotary(self)
        for name in ("labels", "channels"):
            names = getattr(self, name)
            if len(set(names)) < len(names):
                raise InputError(f"model.{name} must be different names, got {', '.join(names)}.")

    def _check_rnn(self) -> None:
        if (self.attention.name, self.normalizer) != ("full", "softmax"):
            raise InputError(
                f"model.attention {self.attention.name} and model.normalizer {self.normalizer} are "
                "the Transformer's, and a recurrent encoder has neither; set model.encoder to "
                "transformer."
            )
        if self.bidirectional:
            check_multiple(self, "dim", 2, "two directions")
        if self.positions == "none":
            raise InputError(
                "model.positions none ignores the order, but a recurrent encoder always sees it; "
                "set model.encoder to transformer."
            )


def _check_rotary(model: TransformerSettings | LanguageModelSettings | ClassifierSettings) -> None:
    if model.positions == "rotary":
        why = "rotary positions turn pairs, so 2 times num_heads"
        check_multiple(model, "dim", 2 * model.num_heads, why)
