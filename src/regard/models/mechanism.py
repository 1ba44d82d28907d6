"""From settings to the mechanism of a layer's self-attention."""

from __future__ import annotations

from regard.attention.mechanisms import (
    AdaptiveSpan,
    Blockwise,
    LinearAttention,
    Linformer,
    Local,
    Mechanism,
    Performer,
    Reformer,
    Ring,
    Sparse,
)
from regard.config import LanguageModelSettings, TransformerSettings
from regard.config.mechanisms import (
    AdaptiveSpanSettings,
    BlockwiseSettings,
    LinearSettings,
    LinformerSettings,
    LocalSettings,
    PerformerSettings,
    ReformerSettings,
    RingSettings,
    SparseSettings,
)


def self_attention(
    model: TransformerSettings | LanguageModelSettings, *, causal: bool
) -> Mechanism | None:
    """The mechanism that the settings of a model name; None for full attention, the default."""
    head_dim = model.dim // model.num_heads
    match model.mechanism(causal=causal):
        case LocalSettings(window, global_tokens, dilation):
            return Local(window, global_tokens, dilation)
        case SparseSettings() as sparse:
            return Sparse(sparse.pattern, sparse.stride_of(model.max_length), sparse.summary)
        case BlockwiseSettings():
            return Blockwise()
        case LinformerSettings(projected):
            return Linformer(model.max_length, projected)
        case ReformerSettings(chunk, num_buckets, num_rounds):
            return Reformer(head_dim, chunk, num_buckets, num_rounds)
        case LinearSettings():
            return LinearAttention()
        case PerformerSettings(num_features):
            return Performer(head_dim, num_features or None)
        case AdaptiveSpanSettings(max_span, ramp):
            return AdaptiveSpan(model.num_heads, max_span, ramp)
        case RingSettings():
            return Ring()
    return None
