"""The reference: every score at once, in plain tensor operations.

Shapes: scores and weights (…, Q, K), value (…, K, Dv), context (…, Q, Dv).
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from regard.attention.call import Call
from regard.attention.precision import accumulated, as_given


def dense(call: Call) -> tuple[Tensor, Tensor]:
    """context = dropout(normalise(scores + bias, mask)) · value; gives (context, weights)."""
    scores = call.scores(slice(0, call.num_queries), slice(0, call.num_keys))
    weights = call.normalizer(scores)
    with as_given(weights.device):
        context = F.dropout(weights, call.dropout) @ accumulated(call.value)
    return context.to(call.value.dtype), call.marked(weights)
