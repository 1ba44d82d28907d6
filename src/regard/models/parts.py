"""From the settings of a model to the parts of its Transformer layers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import (
    Alibi,
    Learned,
    MultiHead,
    Position,
    RelativeBias,
    Rotary,
    Sinusoidal,
    mechanisms,
)
from regard.attention.normalizers.normalizer import NORMALIZERS
from regard.config import LanguageModelSettings, TransformerSettings
from regard.config import mechanisms as mechanism_settings
from regard.errors import InputError

Settings = TransformerSettings | LanguageModelSettings


def input_positions(settings: Settings) -> Position:
    """Return the positional encoding that is added to token embeddings, if it is of that kind."""
    if settings.positions == "sinusoidal":
        return Sinusoidal(settings.dim)
    if settings.positions == "learned":
        return Learned(settings.max_length, settings.dim)
    return Position()


def attention_positions(settings: Settings, *, causal: bool) -> Position:
    """Return the positional encoding that acts within self-attention, if it is of that kind."""
    if settings.positions == "rotary":
        return Rotary(settings.dim // settings.num_heads)
    if settings.positions == "alibi":
        return Alibi(settings.num_heads)
    if settings.positions == "relative":
        return RelativeBias(settings.num_heads, bidirectional=not causal)
    return Position()


def multi_head(
    settings: Settings,
    positions: Position | None = None,
    mechanism: mechanisms.Mechanism | None = None,
) -> MultiHead:
    """Return an attention of the settings' size; full attention without a mechanism."""
    softmax = settings.normalizer == "softmax"
    return MultiHead(
        settings.dim,
        settings.num_heads,
        positions=positions,
        dropout=settings.attention_dropout,
        mechanism=mechanism,
        normalizer=None if softmax else NORMALIZERS[settings.normalizer](),
    )


def self_attention(settings: Settings, *, causal: bool) -> mechanisms.Mechanism | None:
    """Return the mechanism that the settings name; None for full attention, the default."""
    head_dim = settings.dim // settings.num_heads
    match settings.mechanism(causal=causal):
        case mechanism_settings.LocalSettings(window, global_tokens, dilation):
            return mechanisms.Local(window, global_tokens, dilation)
        case mechanism_settings.SparseSettings() as sparse:
            return mechanisms.Sparse(
                sparse.pattern, sparse.stride_of(settings.max_length), sparse.summary
            )
        case mechanism_settings.BlockwiseSettings():
            return mechanisms.Blockwise()
        case mechanism_settings.LinformerSettings(projected):
            return mechanisms.Linformer(settings.max_length, projected)
        case mechanism_settings.ReformerSettings(chunk, num_buckets, num_rounds):
            return mechanisms.Reformer(head_dim, chunk, num_buckets, num_rounds)
        case mechanism_settings.LinearSettings():
            return mechanisms.LinearAttention()
        case mechanism_settings.PerformerSettings(num_features):
            return mechanisms.Performer(head_dim, num_features or None)
        case mechanism_settings.AdaptiveSpanSettings(max_span, ramp):
            return mechanisms.AdaptiveSpan(settings.num_heads, max_span, ramp)
        case mechanism_settings.RingSettings():
            return mechanisms.Ring()
    return None


def activation(name: str) -> Callable[[Tensor], Tensor]:
    """Return the function of `torch.nn.functional` of that name."""
    function: Callable[[Tensor], Tensor] | None = getattr(F, name, None)
    try:
        assert function is not None
        fits = function(torch.zeros(1, 2)).shape == (1, 2)
    except Exception:  # anything else that torch.nn.functional has under a name
        fits = False
    if function is None or not fits:
        raise InputError(
            f"model.activation must be a function of torch.nn.functional such as relu, gelu or "
            f"silu, got {name!r}."
        )
    return function


def final_norm(settings: Settings) -> nn.Module:
    """Return the norm after the last layer; post-norm layers need none."""
    return nn.LayerNorm(settings.dim) if settings.norm == "pre" else nn.Identity()
