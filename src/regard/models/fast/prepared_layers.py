"""The parts of a Transformer prepared for inference.

Queries, keys and values are one product. Matrices are stored transposed, because few rows times
(in, out) are up to 1.5 times as fast as times (out, in)ᵀ.

R rows (tokens), Q queries, N keys, H heads, D features of a head.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Position, Rotary
from regard.attention.layers.position import rotate
from regard.attention.masks.bias import DistanceBias
from regard.models.embedding import Embedding
from regard.models.transformer import Layer, Residual


class PreparedLinear:
    """x W + b, of W (in, out); several layers with the same input become one."""

    def __init__(self, *layers: nn.Module) -> None:
        with torch.no_grad():
            self.weight = torch.cat([layer.get_parameter("weight") for layer in layers]).t()
            self.weight = self.weight.contiguous()
            self.bias = torch.cat([layer.get_parameter("bias") for layer in layers])

    def __call__(self, x: Tensor) -> Tensor:
        """Return (R, out) of x (R, in)."""
        return torch.addmm(self.bias, x, self.weight)


class PreparedNorm:
    """Layer normalization, or nothing."""

    def __init__(self, norm: nn.Module | None) -> None:
        self.parts: tuple[tuple[int, ...], Tensor, Tensor, float] | None = None
        if isinstance(norm, nn.LayerNorm):
            weight, bias = norm.weight.detach().clone(), norm.bias.detach().clone()
            self.parts = norm.normalized_shape, weight, bias, norm.eps

    def __call__(self, x: Tensor) -> Tensor:
        return x if self.parts is None else torch.layer_norm(x, *self.parts)


class PreparedResidual:
    """The norms of a sub-layer: before it, or after its residual sum."""

    def __init__(self, around: Residual) -> None:
        self.pre = PreparedNorm(around.norm if around.pre_norm else None)
        self.norm = PreparedNorm(None if around.pre_norm else around.norm)

    def post(self, x: Tensor, output: Tensor) -> Tensor:
        """Return the residual sum; x is overwritten."""
        return self.norm(x.add_(output))


class PreparedEmbedding:
    """√D · vector + position of each token, with a table of positions."""

    def __init__(self, embedding: Embedding) -> None:
        self.vectors, self.place = embedding.vectors.weight.detach(), embedding.place
        self.scale = self.vectors.shape[1] ** 0.5
        self.table = self.vectors.new_empty(0, self.vectors.shape[1])

    def __call__(self, tokens: Tensor, offset: int, length: int) -> Tensor:
        """Embed tokens (…, length) at positions from `offset` on."""
        end = offset + length
        if end > len(self.table):
            most = getattr(self.place, "max_length", 2 * end)
            zeros = self.vectors.new_zeros(1, min(most, 2 * end), self.vectors.shape[1])
            self.table = self.place.add(zeros)[0].detach()
        vectors = self.vectors.index_select(0, tokens.reshape(-1)).view(*tokens.shape, -1)
        return torch.add(self.table[offset:end], vectors, alpha=self.scale)


class PreparedPositions:
    """Positions that act within attention: rotated heads, or a bias of the scores."""

    def __init__(self, positions: Position) -> None:
        self.rotary = positions if isinstance(positions, Rotary) else None
        self.distance = positions if isinstance(positions, DistanceBias) else None
        self.table = torch.empty(0), torch.empty(0)

    def rotate(self, heads: Tensor, offset: int, length: int) -> Tensor:
        """Rotate heads (…, length, H, D) of the positions from `offset` on."""
        if self.rotary is None:
            return heads
        if len(self.table[0]) < offset + length:
            self.table = self.rotary.table(2 * (offset + length))
        cos, sin = (part[offset : offset + length, None] for part in self.table)
        return rotate(heads, cos, sin, interleaved=self.rotary.interleaved)

    def bias(self, offset: int, num_queries: int, num_keys: int) -> Tensor | None:
        """(H, Q, N) of queries from position `offset` on; None if nothing is added."""
        if self.distance is None:
            return None
        queries = torch.arange(offset, offset + num_queries)
        bias: Tensor = self.distance(torch.arange(num_keys) - queries[:, None])
        return bias.float()


class PreparedLayer:
    """The weights of one layer, without the projection of the memory."""

    def __init__(self, layer: Layer) -> None:
        own, across, inner = layer.attention, layer.cross, layer.feed_forward
        self.own = PreparedResidual(layer.around_attention)
        self.qkv = PreparedLinear(own.query_proj, own.key_proj, own.value_proj)
        self.own_out = PreparedLinear(own.out_proj)
        if across is not None and layer.around_cross is not None:
            self.across = PreparedResidual(layer.around_cross)
            self.query = PreparedLinear(across.query_proj)
            self.across_out = PreparedLinear(across.out_proj)
        self.around_feed_forward = PreparedResidual(layer.around_feed_forward)
        self.inner, self.outer = PreparedLinear(inner.inner), PreparedLinear(inner.outer)
        relu = inner.activation is F.relu
        self.activation: Callable[[Tensor], Tensor] = torch.relu_ if relu else inner.activation

    def feed_forward(self, x: Tensor) -> Tensor:
        """Return x (R, ·) after the feed-forward sub-layer; x is overwritten."""
        around = self.around_feed_forward
        return around.post(x, self.outer(self.activation(self.inner(around.pre(x)))))
