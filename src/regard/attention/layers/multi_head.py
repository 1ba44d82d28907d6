"""Multi-head attention: several attention maps at once, each over its own projection.

Shapes: query (B, Q, dim), key (B, K, key_dim), value (B, K, value_dim), context (B, Q, out_dim),
weights (B, H, Q, K); G key/value heads, H a multiple of G; within a head queries and keys have
head_dim features and values value_head_dim.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended
from regard.attention.engines import arguments
from regard.attention.engines.choice import Engine
from regard.attention.inspection import observe, probe
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.layers.multi_head_parts import (
    check_mechanism,
    head_dim_of,
    make_projections,
    out_dim_of,
    xavier_linear,
)
from regard.attention.layers.multi_head_state import translate_torch_names, with_projections
from regard.attention.layers.position import Position
from regard.attention.masks.bias import Bias, DistanceBias, SumBias, as_bias
from regard.attention.masks.mask import Mask, as_mask
from regard.attention.mechanisms.full import Full
from regard.attention.mechanisms.mechanism import Mechanism, check_cache
from regard.attention.normalizers.normalizer import Normalizer
from regard.attention.scores.score import Score

Projections = Literal["joint", "separate", "slice"]


class MultiHead(nn.Module):
    """[head_1; …; head_h] W_o, each head attending by itself (Vaswani 2017, §3.2.2).

    dim             width of queries, and of the output unless out_dim is given
    num_heads       number of heads; must divide dim unless head_dim is given
    score           similarity of queries and keys within a head; ScaledDot() by default
    num_kv_heads    key/value heads; fewer than `num_heads` is grouped, 1 is multi-query attention
    key_dim         width of keys, `dim` by default
    value_dim       width of values, `key_dim` by default
    head_dim        width of a head's queries and keys, dim / num_heads by default
    value_head_dim  width of a head's values, head_dim by default
    out_dim         width of the output, `dim` by default
    out_proj        False concatenates the heads without W_o: the output has width
                    num_heads · value_head_dim
    projections     "joint", "separate" (the same layer, a matrix per head) or "slice" (no matrices)
    positions       a Position that rotates or biases the heads, or is added to queries and keys
    dropout         of the weights, while training
    normalizer      from scores to weights; Softmax() by default
    engine          "auto", "dense", "fused" or "blockwise"
    mechanism       how heads attend: `Full(score, normalizer, engine)` of the arguments above by
                    default; or `Local(64)`, `LinearAttention()`, … within one sequence

    >>> import torch
    >>> layer = MultiHead(32, num_heads=4, value_head_dim=16, out_dim=10)
    >>> layer(torch.randn(2, 5, 32)).context.shape
    torch.Size([2, 5, 10])
    >>> joined = MultiHead(32, num_heads=4, value_head_dim=16, out_proj=False)
    >>> joined(torch.randn(2, 5, 32)).context.shape
    torch.Size([2, 5, 64])
    """

    mechanism: Mechanism

    def __init__(
        self,
        dim: int,
        num_heads: int,
        *,
        score: Score | None = None,
        num_kv_heads: int | None = None,
        key_dim: int | None = None,
        value_dim: int | None = None,
        head_dim: int | None = None,
        value_head_dim: int | None = None,
        out_dim: int | None = None,
        out_proj: bool = True,
        projections: Projections = "joint",
        positions: Position | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        normalizer: Normalizer | None = None,
        engine: Engine = "auto",
        mechanism: Mechanism | None = None,
    ) -> None:
        super().__init__()
        self.dim = arguments.positive("dim", dim)
        self.num_heads = arguments.positive("num_heads", num_heads)
        self.num_kv_heads = _given("num_kv_heads", num_kv_heads, num_heads)
        self.key_dim = _given("key_dim", key_dim, dim)
        self.value_dim = _given("value_dim", value_dim, self.key_dim)
        self.head_dim = head_dim_of(dim, num_heads, head_dim)
        sliced = self.value_dim // self.num_kv_heads
        self.value_head_dim = _given(
            "value_head_dim", value_head_dim, sliced if projections == "slice" else self.head_dim
        )
        if num_heads % self.num_kv_heads:
            raise ValueError(
                "num_heads must be divisible by num_kv_heads, "
                f"got num_heads={num_heads}, num_kv_heads={self.num_kv_heads}."
            )
        if positions is not None and not isinstance(positions, Position):
            raise TypeError(f"positions must be a Position such as Rotary(8), got {positions!r}.")
        self.projections = projections
        self.dropout = arguments.probability("dropout", dropout)
        self.positions = Position() if positions is None else positions
        self.has_bias = bias
        if mechanism is None:
            full = Full(score, normalizer, engine)
            self.score = full.score  # registered here, so that its parameters are the layer's own
            object.__setattr__(self, "mechanism", full)
        else:
            check_mechanism(mechanism, self, score, normalizer, engine)
            self.mechanism = mechanism
        self.query_proj, self.key_proj, self.value_proj = make_projections(self, bias)
        if self.mechanism.shares_query:
            self.key_proj = self.query_proj
        joined = num_heads * self.value_head_dim
        self.out_dim = out_dim_of(dim, joined, out_dim, out_proj)
        self.out_proj = xavier_linear(joined, self.out_dim, bias) if out_proj else nn.Identity()
        self.register_load_state_dict_pre_hook(translate_torch_names)  # type: ignore[no-untyped-call]  # untyped in torch

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Mask | Tensor | None = None,
        bias: Tensor | Bias | DistanceBias | None = None,
        cache: Cache | None = None,
        memory: KeyValue | None = None,
        offset: int | None = None,
        weights: bool = False,
    ) -> Attended:
        """Attend from `query` to `key` (the query by default) and `value` (the key by default).

        `cache` holds the keys and values of the positions before these; the new ones are appended
        and returned as `Attended.cache`. A causal mask is then
        `Mask.causal(corner="bottom-right")`. `memory` (from `self.memory`) replaces key and value
        by projected ones: the encoder's output in a decoder. `offset` is the absolute position of
        the first query, by default the length of the cache; a decoder that attends to its memory
        step by step passes it.
        """
        self._check_input("query", query, self.dim)
        mechanism = self.mechanism
        cached = 0 if cache is None else cache.length
        offset = cached if offset is None else offset
        mask = None if mask is None else as_mask(mask)
        cross = memory is not None or (key is not None and key is not query)
        cross_able = mechanism.facts.cross
        if not cross_able:  # the order of projections is that in which gradients of x are summed
            if cross or value is not None:
                raise ValueError(f"{type(mechanism).__name__} attends within one sequence only.")
            heads_BHQD = self._query_heads(query, offset)
        if memory is not None:
            if key is not None or value is not None or cache is not None:
                raise ValueError("memory replaces key, value and cache; pass it alone.")
            keys = memory
        elif mechanism.shares_query:
            keys = KeyValue(heads_BHQD, split(self.value_proj(query), self.num_kv_heads))
        else:
            own = not cross and cache is None
            keys = self.memory(query if key is None else key, value, offset if own else cached)
        if cross_able:
            heads_BHQD = self._query_heads(query, offset)
        # the position of the first query among the keys of this call
        bias_offset = offset if cross else 0
        if cache is not None:
            check_cache(cache, mechanism.cache_type)
            bias_offset = offset if cross else mechanism.cached_length(cache)
        needed = probe.needs_weights()
        observed = not torch.compiler.is_compiling() and observe.OBSERVERS.get()
        with self._info(cross, cache, mask, offset) if observed else nullcontext():
            attended: Attended = mechanism(
                heads_BHQD,
                keys.key,
                keys.value,
                mask=mask,
                bias=self._bias(bias, bias_offset),
                dropout=self.dropout if self.training else 0.0,
                cache=cache,
                weights=weights or needed,
            )
        if needed:
            assert attended.weights is not None
            probe.emit("weights", "softmax(s)", attended.weights, axis="key")
        joined = attended.context.transpose(-3, -2).flatten(-2)
        context = self.out_proj(joined)
        probe.emit("heads joined", "[c¹; …; cʰ]", joined)
        probe.emit("output projection", "W_o [c¹; …; cʰ] + b_o", context)
        return attended.changed(context, None if memory is not None else attended.cache)

    def memory(self, key: Tensor, value: Tensor | None = None, offset: int = 0) -> KeyValue:
        """Keys and values projected once, to be attended to many times."""
        self._check_input("key", key, self.key_dim)
        if value is not None:
            self._check_input("value", value, self.value_dim)
        elif self.key_dim != self.value_dim:
            self._check_input("value", key, self.value_dim)
        positions = self.positions
        heads = split(self.key_proj(positions.add(key, offset)), self.num_kv_heads)
        values = self.value_proj(key if value is None else value)
        return KeyValue(positions.rotate(heads, offset), split(values, self.num_kv_heads))

    def empty_cache(self, batch: int) -> Cache:
        """The cache of no positions."""
        weight = self._weight()
        like = torch.empty(0) if weight is None else weight
        key = like.new_zeros(batch, self.num_kv_heads, 0, self.head_dim)
        value = like.new_zeros(batch, self.num_kv_heads, 0, self.value_head_dim)
        return self.mechanism.empty(key, value)

    def with_projections(self, projections: Literal["joint", "separate"]) -> MultiHead:
        """The same layer, numerically, with one large matrix or with one per head."""
        full = self.mechanism
        if not isinstance(full, Full) or "mechanism" in self._modules:
            raise ValueError("a layer with a mechanism of its own keeps its projections.")
        if "slice" in (projections, self.projections):
            raise ValueError("only joint and separate projections convert into each other.")
        other = MultiHead(
            self.dim,
            self.num_heads,
            score=full.score,
            num_kv_heads=self.num_kv_heads,
            key_dim=self.key_dim,
            value_dim=self.value_dim,
            head_dim=self.head_dim,
            value_head_dim=self.value_head_dim,
            out_dim=self.out_dim,
            out_proj=isinstance(self.out_proj, nn.Linear),
            projections=projections,
            positions=self.positions,
            dropout=self.dropout,
            bias=self.has_bias,
            normalizer=full.normalizer,
            engine=full.engine,
        )
        other = other.to(self._weight())
        other.load_state_dict(with_projections(self.state_dict(), self, projections))
        for part in ("query_proj", "key_proj", "value_proj", "out_proj"):
            learned = any(p.requires_grad for p in getattr(self, part).parameters())
            getattr(other, part).requires_grad_(learned)
        return other.train(self.training)

    def _query_heads(self, query: Tensor, offset: int) -> Tensor:
        """The query as heads (B, H, Q, head_dim), with positions from `offset`."""
        positions = self.positions
        heads = split(self.query_proj(positions.add(query, offset)), self.num_heads)
        return positions.rotate(heads, offset)

    def _bias(self, bias: Tensor | Bias | DistanceBias | None, offset: int) -> Bias | None:
        placed = self.positions.bias(offset)
        bias = bias.at(offset) if isinstance(bias, DistanceBias) else bias
        given = None if bias is None else as_bias(bias)
        return SumBias(placed, given) if placed and given else placed or given

    def _info(
        self, cross: bool, cache: Cache | None, mask: Mask | None, offset: int
    ) -> AbstractContextManager[None]:
        """Describe a call to its observers."""
        causal = cache is not None or (mask is not None and mask.is_causal)
        kind = "cross" if cross else "causal" if causal else "self"
        key = "q" if self.mechanism.shares_query else f"W_k {'m' if cross else 'x'} + b_k"
        rotates = type(self.positions).rotate is not Position.rotate
        turn = "R_p ({})" if rotates else "{}"
        equations = {
            "query": "q = " + turn.format("W_q x + b_q"),
            "keys": "k = " + turn.format(key),
            "values": f"v = W_v {'m' if cross else 'x'} + b_v",
        }
        return observe.describe_calls(observe.CallInfo(kind, offset, equations=equations))

    def _weight(self) -> Tensor | None:
        """A parameter of the layer's dtype and device; None if it has no parameters."""
        out = self.out_proj
        return out.weight if isinstance(out, nn.Linear) else next(self.parameters(), None)

    def _check_input(self, name: str, x: Tensor, width: int) -> None:
        weight = self._weight()
        weight = x if weight is None else weight
        fits = isinstance(x, Tensor) and x.dtype == weight.dtype
        if fits and x.ndim > 2 and x.shape[-1] == width:
            return
        arguments.same_dtype(name, x, weight)
        if x.ndim < 3:
            raise ValueError(
                f"{name} must have shape (B, T, {width}), got {arguments.shape(x)}; "
                f"a single sentence is `{name}[None]`."
            )
        arguments.width(name, x, width)

    def extra_repr(self) -> str:
        shown = f"dim={self.dim}, num_heads={self.num_heads}, projections={self.projections!r}"
        return shown if self.out_dim == self.dim else f"{shown}, out_dim={self.out_dim}"


def _given(name: str, value: int | None, default: int) -> int:
    return default if value is None else arguments.positive(name, value)


def split(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, H · D) split into heads (B, H, T, D)."""
    return x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).transpose(-3, -2)
