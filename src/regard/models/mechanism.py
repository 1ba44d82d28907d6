"""From settings to the mechanism of a layer's self-attention."""

from __future__ import annotations

from regard.attention.mechanisms import (
    AdaptiveSpan,
    Blockwise,
    Linear,
    Linformer,
    Local,
    Mechanism,
    Performer,
    Reformer,
    Ring,
    Sparse,
)
from regard.config import LanguageModelSettings, TransformerSettings
from regard.config.attention import stride_of


def self_attention(
    settings: TransformerSettings | LanguageModelSettings, *, causal: bool
) -> Mechanism | None:
    """The mechanism that `settings` name; None for full attention, a layer's own."""
    name: str = settings.attention
    if (
        causal
        and isinstance(settings, TransformerSettings)
        and settings.decoder_attention != "same"
    ):
        name = settings.decoder_attention
    width = settings.dim // settings.num_heads
    match name:
        case "local":
            return Local(settings.window, settings.global_tokens, settings.dilation)
        case "sparse":
            return Sparse(settings.pattern, stride_of(settings), settings.summary)
        case "blockwise":
            return Blockwise()
        case "linformer":
            return Linformer(settings.max_length, settings.projected)
        case "reformer":
            return Reformer(width, settings.chunk, settings.buckets, settings.rounds)
        case "linear":
            return Linear()
        case "performer":
            return Performer(width, settings.features or None)
        case "adaptive-span":
            return AdaptiveSpan(settings.num_heads, settings.span, settings.ramp)
        case "ring":
            return Ring()
    return None
