"""Linear attention: a kernel of features in place of the softmax, so that n tokens cost n.

Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv), context (B, H, Q, Dv).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.attend import Attended
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.engines.tile import Tile
from regard.attention.inspection import observe
from regard.attention.layers.cache import Cache
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.kernel_scan import (
    Kernel,
    KernelState,
    based,
    divided,
    empty_state,
    scan,
)
from regard.attention.mechanisms.mechanism import (
    AttentionInput,
    Mechanism,
    NewTokens,
    no_weights,
)
from regard.config.mechanisms import LinearSettings

SHORT = 48  # tokens up to which all pairs cost less than the sums
ROWS_AT_ONCE = 1 << 22  # weights in memory when rows are computed for observers


@dataclass(frozen=True, eq=False)
class KernelCache:
    """The sums over the tokens read, of the same size however many they are.

    sums    (B, H, M, Dv)  S = Σ φ(k) vᵀ
    mass    (B, H, M)      z = Σ φ(k)
    level   (B, H, 1, 1)   the logarithm of the factor of both; None: zero
    length  the number of tokens read
    """

    sums: Tensor
    mass: Tensor
    level: Tensor | None
    length: int

    def select(self, rows: Tensor) -> KernelCache:
        sums, mass = self.sums.index_select(0, rows), self.mass.index_select(0, rows)
        level = None if self.level is None else self.level.index_select(0, rows)
        return replace(self, sums=sums, mass=mass, level=level)


@dataclass(frozen=True, eq=False)
class KernelWeights:
    """The map that a kernel implies, φ(q)·φ(k) / Σ, row by row for observers."""

    kernel: Kernel
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Mask | None

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(self.query.shape[:-2])

    @property
    def num_queries(self) -> int:
        return self.query.shape[-2]

    @property
    def num_keys(self) -> int:
        return self.key.shape[-2]

    def spread(self) -> KernelWeights:
        return self

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        query, key, _ = self._of_heads(heads)
        every = torch.arange(self.num_queries, device=query.device)
        chosen = every if rows is None else rows
        step = max(1, ROWS_AT_ONCE // max(1, math.prod(query.shape[:2]) * self.num_keys))
        pairs = [self._pairs(query, key, block) for block in chosen.split(step)]
        blocks = [divided(block, block.sum(dim=-1, keepdim=True)) for block in pairs]
        return torch.cat(blocks, dim=-2).to(self.value.dtype)

    def steps(self, rows: Tensor, heads: Tensor | None = None) -> Iterator[observe.NamedStep]:
        query, key, value = self._of_heads(heads)
        yield "query", "q", query.index_select(-2, rows)
        yield "keys", "k", key
        yield "values", "v", value
        yield "raw scores", "φ(q_i) · φ(k_j), 0 where masked", self._pairs(query, key, rows)

    def _of_heads(self, heads: Tensor | None) -> list[Tensor]:
        tensors = (accumulated(self.query), accumulated(self.key), self.value)
        return [x if heads is None else x.index_select(1, heads) for x in tensors]

    def _pairs(self, query: Tensor, key: Tensor, rows: Tensor) -> Tensor:
        """φ(q)·φ(k) of some rows, each up to a factor."""
        cols = slice(0, self.num_keys)
        tile = Tile(rows, cols, self.num_queries, self.num_keys, self.batch, query.device)
        hidden = None if self.mask is None else ~self.mask.tile(tile)
        with as_given(query.device):
            features, level = self.kernel.key_features(key)
            queries = self.kernel.query_features(query.index_select(-2, rows))
            return kernel_pairs(queries, features, level, hidden)


def kernel_pairs(
    queries: Tensor, features: Tensor, level: Tensor | None, hidden: Tensor | None
) -> Tensor:
    """φ(q)·φ(k) of every pair, (B, H, Q, K), a row up to a factor; zero where `hidden`."""
    pairs = queries @ features.transpose(-2, -1)
    if level is not None:
        level = level.transpose(-2, -1)
        level = level if hidden is None else level.masked_fill(hidden, -math.inf)
        pairs = pairs * (level - based(level.amax(dim=-1, keepdim=True))).exp()
    return pairs if hidden is None else pairs.masked_fill(hidden, 0.0)


class LinearAttention(Mechanism):
    """φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / φ(q_i)ᵀ Σ_j φ(k_j), φ(x) = elu(x) + 1 (Katharopoulos 2020).

    Its map is that of another kernel than the softmax's. For decoding it caches two sums and no
    keys: a step costs the same after any number of tokens, and has no map.
    """

    facts = LinearSettings.facts
    cache_type = KernelCache
    has_level = False

    def query_features(self, query: Tensor) -> Tensor:
        # elu + 1 written so that it does not round to zero below −17
        return query.clamp(max=0.0).exp() + F.relu(query)

    def key_features(self, key: Tensor) -> tuple[Tensor, Tensor | None]:
        return self.query_features(key), None

    def feature_dim(self, width: int) -> int:
        """M, for heads of this width."""
        return width

    def context(self, call: AttentionInput) -> Tensor:
        query, key, value = call.query, call.key, call.value
        if max(query.shape[-2], key.shape[-2]) <= SHORT:
            return self._by_pairs(call)
        blind = max(0, -call.offset) if call.causal else 0  # queries before the first key
        context, _ = scan(
            self,
            query[..., blind:, :],
            key,
            value,
            self._start(key, value),
            causal=call.causal,
            hidden=call.padding(),
        )
        if blind:
            nothing = context.new_zeros(*context.shape[:2], blind, context.shape[-1])
            context = torch.cat([nothing, context], dim=-2)
        return context

    def _by_pairs(self, call: AttentionInput) -> Tensor:
        """The same for few tokens: their pairs are fewer numbers than the sums would be."""
        query, key, value = (accumulated(x) for x in call.without_padding().tensors)
        hidden = call.padding()
        hidden = None if hidden is None else hidden.transpose(-2, -1)
        if call.causal:
            size = query.shape[-2], key.shape[-2]
            later = torch.ones(size, dtype=torch.bool, device=key.device).triu(1 + call.offset)
            hidden = later if hidden is None else hidden | later
        with as_given(value.device):
            features, level = self.key_features(key)
            pairs = kernel_pairs(self.query_features(query), features, level, hidden)
            context = divided(pairs @ value, pairs.sum(dim=-1, keepdim=True))
        return context.to(call.value.dtype)

    def weight_source(self, call: AttentionInput) -> KernelWeights:
        return KernelWeights(self, call.query, call.key, call.value, call.mask)

    def empty(self, key: Tensor, value: Tensor) -> KernelCache:
        return KernelCache(*self._start(key, value), length=0)

    def cached_length(self, cache: Cache) -> int:
        return 0

    def _decode(
        self, tokens: NewTokens, cache: Cache, bias: Bias | None, weights: bool
    ) -> Attended:
        assert isinstance(cache, KernelCache)
        if weights:
            self._refuse(
                "caches no keys, so there are no weights", "request them on the whole sentence"
            )
        query, key, value = tokens
        state = KernelState(cache.sums, cache.mass, cache.level)
        context, after = scan(self, query, key, value, state, causal=True)
        extended = KernelCache(*after, length=cache.length + key.shape[-2])
        if observe.observers():  # they can still switch heads off
            nothing = no_weights(query, "keys are not cached")
            context = observe.observe_call(context, nothing, "causal").context
        return Attended(context, cache=extended)

    def _start(self, key: Tensor, value: Tensor) -> KernelState:
        return empty_state(key, value, self.feature_dim(key.shape[-1]), self.has_level)
