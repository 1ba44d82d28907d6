"""From settings to the mechanism of a layer's self-attention."""

from __future__ import annotations

from regard.attention import mechanisms
from regard.config import LanguageModelSettings, TransformerSettings
from regard.config import mechanisms as settings


def self_attention(
    model: TransformerSettings | LanguageModelSettings, *, causal: bool
) -> mechanisms.Mechanism | None:
    """The mechanism that the settings of a model name; None for full attention, the default."""
    head_dim = model.dim // model.num_heads
    match model.mechanism(causal=causal):
        case settings.LocalSettings(window, global_tokens, dilation):
            return mechanisms.Local(window, global_tokens, dilation)
        case settings.SparseSettings() as sparse:
            return mechanisms.Sparse(
                sparse.pattern, sparse.stride_of(model.max_length), sparse.summary
            )
        case settings.BlockwiseSettings():
            return mechanisms.Blockwise()
        case settings.LinformerSettings(projected):
            return mechanisms.Linformer(model.max_length, projected)
        case settings.ReformerSettings(chunk, num_buckets, num_rounds):
            return mechanisms.Reformer(head_dim, chunk, num_buckets, num_rounds)
        case settings.LinearSettings():
            return mechanisms.LinearAttention()
        case settings.PerformerSettings(num_features):
            return mechanisms.Performer(head_dim, num_features or None)
        case settings.AdaptiveSpanSettings(max_span, ramp):
            return mechanisms.AdaptiveSpan(model.num_heads, max_span, ramp)
        case settings.RingSettings():
            return mechanisms.Ring()
    return None
