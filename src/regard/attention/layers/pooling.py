"""Attention pooling: many vectors become one, by a learned query that attends to all of them.

Shapes: B rows, N tokens, D features, H heads, P = D / H features of a head.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.inspection import probe
from regard.attention.layers.multi_head import MultiHead
from regard.attention.masks.mask import Mask
from regard.attention.normalizers.normalizer import Normalizer
from regard.attention.scores.score import Score


class Pooled(NamedTuple):
    """The result of pooling.

    context  (B, D)     the weighted sum
    weights  (B, H, N)  how much of each token is in it, per head
    parts    (B, N, D)  the share of each token: they sum to the context without `rest`
    rest     (D,)       the output's bias, which is no token's share
    """

    context: Tensor
    weights: Tensor
    parts: Tensor
    rest: Tensor


class Pooling(nn.Module):
    """One vector of many: Σ_n softmax_n(score(q, x_n)) x_n, the query q learned (Yang 2016, §2.2).

    A row without tokens gives the output's bias alone. Parts are exact, since the context is linear
    in the values.

    >>> pool = Pooling(8, num_heads=2)
    >>> pool(torch.randn(3, 5, 8), Mask.lengths([5, 2, 1])).shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int = 1,
        *,
        score: Score | None = None,
        normalizer: Normalizer | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(1, 1, dim))
        nn.init.normal_(self.query, std=1.0)
        self.attention = MultiHead(
            dim, num_heads, score=score, normalizer=normalizer, dropout=dropout
        )

    def forward(self, x: Tensor, mask: Mask | None = None, value: Tensor | None = None) -> Tensor:
        """(B, D) of tokens x (B, N, D); what is summed is `value` (B, N, D) if given, else x."""
        probe.scope("pooling", "cross-attention")
        query = self.query.expand(len(x), -1, -1)
        context: Tensor = self.attention(query, x, value, mask=mask).context[:, 0]
        return context

    def weighed(
        self, x: Tensor, mask: Mask | None = None, value: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same context (B, D), and the weights (B, H, N)."""
        query = self.query.expand(len(x), -1, -1)
        attended = self.attention(query, x, value, mask=mask, weights=True)
        return attended.context[:, 0], attended.weights[:, :, 0]

    def looked(self, x: Tensor, mask: Mask | None = None, value: Tensor | None = None) -> Pooled:
        """The same context, with the weights and each token's share of it."""
        context, weights_BHN = self.weighed(x, mask, value)
        values_BHNP = self.attention.memory(x, value).value
        out = self.attention.out_proj
        assert isinstance(out, nn.Linear)  # the layer was made with one
        out_DHP = out.weight.unflatten(1, values_BHNP.shape[1::2])
        # a weight of exactly zero takes nothing, even of a NaN
        values = values_BHNP.masked_fill(weights_BHN[..., None] == 0, 0.0)
        parts = torch.einsum("bhn,bhnp,dhp->bnd", weights_BHN, values, out_DHP)
        return Pooled(context, weights_BHN, parts, out.bias)
