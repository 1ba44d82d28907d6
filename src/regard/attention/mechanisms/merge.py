"""Attention over parts of the keys, put together as if it had been over all of them.

With l_r the logsumexp of part r's scores and o_r its context, the whole is Σ_r softmax_r(l_r) o_r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.attention.attend import Attended


def merged(parts: Sequence[Attended]) -> Tensor:
    """The context (…, Q, Dv) over all parts' keys, which must not overlap."""
    total_RQ = torch.stack([part.logsumexp for part in parts])
    top = total_RQ.detach().amax(0)
    share_RQ = (total_RQ - top.masked_fill(top == -math.inf, 0.0)).exp()
    mass = share_RQ.sum(0)
    share_RQ = share_RQ / mass.masked_fill(mass == 0, 1.0)
    context = parts[0].context * share_RQ[0][..., None].to(parts[0].context.dtype)
    for part, share in zip(parts[1:], share_RQ[1:], strict=True):
        context = context + part.context * share[..., None].to(context.dtype)
    return context
