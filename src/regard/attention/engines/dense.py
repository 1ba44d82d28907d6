"""Every score at once, in plain tensor operations.

Shapes: scores and weights (…, Q, K), value (…, K, Dv), context (…, Q, Dv).
"""

from __future__ import annotations

from torch import Tensor

from regard.attention.engines.call import AttentionCall
from regard.attention.engines.precision import accumulated, as_given
from regard.dropout import dropout


def dense(call: AttentionCall) -> tuple[Tensor, Tensor]:
    """context = dropout(normalize(scores + bias, mask)) · value; returns (context, weights)."""
    scores = call.score.scores()
    if call.bias is not None:
        scores = scores + call.bias.tile(call.whole()).to(scores.dtype)
    keep = None if call.mask is None else call.mask.tile(call.whole())
    finite = call.score.finite and (call.bias is None or call.bias.finite)
    weights = call.normalizer(scores, keep, finite=finite)
    value = call.value
    with as_given(value.device):
        used = dropout(weights, call.dropout)
        context = used @ accumulated(value)
    return context if context.dtype == value.dtype else context.to(value.dtype), call.marked(
        weights
    )
