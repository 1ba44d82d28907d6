"""The classifier (`--model.kind classifier`): a label for a text or a numeric series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.config.attention import SelfAttentionSettings
from regard.config.check import at_least, divides, fraction
from regard.config.mechanisms import check_attention
from regard.errors import InputError

Positions = Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "none"]


@dataclass(frozen=True)
class ClassifierSettings(SelfAttentionSettings):
    """Encoder, attention pooling and a linear layer over the labels.

    What stands below `labels` is found in the data when a run begins, and kept with the model.
    """

    kind: Literal["classifier"] = "classifier"
    """Classifier of texts or of numeric series."""
    encoder: Literal["transformer", "rnn"] = "transformer"
    """What reads the tokens: layers of self-attention, or a recurrent network."""
    tokens: Literal["time", "channels"] = "time"
    """Of a series: each moment is a token (all channels its features), or each channel is."""
    patch: int = 1
    """Of a series: how many moments are joined to one token (or step of a channel's reader)."""
    kernel: int = 0
    """Of a series: how many moments a token sees; 0 is its patch alone."""
    dim: int = 256
    """Width of tokens' vectors and of every sub-layer's output."""
    num_layers: int = 2
    """Layers of the encoder."""
    num_heads: int = 4
    """Heads of the Transformer's attention; must divide dim."""
    ff: int = 1024
    """Inner width of the Transformer's feed-forward sub-layers."""
    activation: str = "gelu"
    """Activation of the feed-forward sub-layers: any function of torch.nn.functional by name."""
    norm: Literal["pre", "post"] = "pre"
    """Layer norm before each of the Transformer's sub-layers, or after its residual sum."""
    positions: Positions = "sinusoidal"
    """How order enters the Transformer; none: a history of events whose order does not matter."""
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """Cell of the recurrent encoder."""
    bidirectional: bool = True
    """Whether the recurrent encoder reads both ways."""
    pooling: Literal["attention", "mean", "last"] = "attention"
    """How tokens become one vector: a learned query's attention, their mean, or the last one."""
    pooled: Literal["states", "tokens"] = "states"
    """What is pooled: the encoder's states, which hold something of every token; or the tokens as
    they were before it, weighed by the states: then what a token brought is its own."""
    num_pooling_heads: int = 1
    """Heads of attention pooling; must divide dim."""
    dropout: float = 0.1
    """Dropout of embeddings and of every sub-layer's output."""
    attention_dropout: float = 0.0
    """Dropout of attention weights."""
    activation_dropout: float = 0.0
    """Dropout inside the feed-forward sub-layers."""
    max_length: int = 1024
    """Most tokens of an example; a longer text is cut, a longer series is an error."""
    input: Literal["auto", "text", "series"] = "auto"
    """What is read; auto: what the files hold."""
    labels: tuple[str, ...] = ()
    """Names of the labels, in the order of the model's output; found in the data."""
    channels: tuple[str, ...] = ()
    """Names of a series' channels; found in the data."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(
            self, 1, "patch", "dim", "num_layers", "num_heads", "ff", "num_pooling_heads",
            "max_length",
        )  # fmt: skip
        at_least(self, 0, "kernel")
        fraction(self, "dropout", "attention_dropout", "activation_dropout")
        divides(self, "num_pooling_heads", self.num_pooling_heads, "dim")
        if 0 < self.kernel < self.patch:
            raise InputError(
                f"model.kernel must be 0 or at least model.patch ({self.patch}), or moments would "
                f"never be seen, got {self.kernel}."
            )
        if self.encoder == "rnn":
            self._check_rnn()
        else:
            divides(self, "num_heads", self.num_heads, "dim")
            check_attention(self.attention, self, causal=False)
            if self.attention.name == "ring":
                raise InputError("model.attention ring is for models that write; choose another.")
            if self.positions == "rotary" and self.dim // self.num_heads % 2:
                many = 2 * self.num_heads
                divides(self, "rotary positions turn pairs, so 2 times num_heads", many, "dim")
        for name in ("labels", "channels"):
            given = getattr(self, name)
            if len(set(given)) < len(given):
                raise InputError(f"model.{name} names one of them twice: {', '.join(given)}.")

    def _check_rnn(self) -> None:
        if (self.attention.name, self.normalizer) != ("full", "softmax"):
            raise InputError(
                f"model.attention {self.attention.name} and model.normalizer {self.normalizer} are "
                "the Transformer's, and a recurrent encoder has neither; set model.encoder to "
                "transformer."
            )
        if self.bidirectional and self.dim % 2:
            divides(self, "two directions", 2, "dim")
        if self.positions == "none":
            raise InputError(
                "model.positions none means that order does not matter, but a recurrent encoder "
                "always sees it; set model.encoder to transformer."
            )
