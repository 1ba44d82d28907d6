"""Multi-head attention: several maps at once, each over its own view of the words.

Shapes: query (B, Q, dim), key (B, K, key_dim), value (B, K, value_dim), context (B, Q, out_dim),
weights (B, H, Q, K); G key/value heads, H a multiple of G; within a head queries and keys have
head_dim features and values value_head_dim.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended, Engine, attend
from regard.attention.engines import arguments
from regard.attention.inspection import observe
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.layers.multi_head_checks import (
    check_mask_of_cache,
    check_mechanism,
    check_parts,
    head_dim_of,
    out_dim_of,
)
from regard.attention.layers.multi_head_state import translate_torch_names, with_projections
from regard.attention.layers.position import Position
from regard.attention.layers.projection import Joint, Projection, Separate, Slice, merged
from regard.attention.masks.bias import Bias, DistanceBias, SumBias, as_bias
from regard.attention.masks.mask import Mask, as_mask, is_triangle
from regard.attention.mechanisms.mechanism import Mechanism, check_cache
from regard.attention.normalizers.normalizer import Normalizer
from regard.attention.scores.score import ScaledDot, Score

Projections = Literal["joint", "separate", "slice"]


class MultiHead(nn.Module):
    """[head_1; …; head_h] W_o, each head attending by itself (Vaswani 2017, §3.2.2).

    dim             width of queries, and of the output unless out_dim is given
    heads           number of heads; must divide dim unless head_dim is given
    score           how keys answer queries within a head; ScaledDot() by default
    kv_heads        key/value heads; fewer than `heads` is grouped, 1 is multi-query attention
    key_dim         width of keys, `dim` by default
    value_dim       width of values, `key_dim` by default
    head_dim        width of a head's queries and keys, dim / heads by default
    value_head_dim  width of a head's values, head_dim by default
    out_dim         width of the output, `dim` by default
    out_proj        False joins the heads and nothing else: no W_o, and the output's width is
                    heads · value_head_dim
    projections     "joint", "separate" (same layer, a matrix per head) or "slice" (none; see there)
    positions       a Position that turns or biases the heads, or is added to queries and keys
    dropout         of the weights, while training
    mechanism       how heads attend instead, within one sequence: `Local(64)`, `Linear()`, …

    >>> import torch
    >>> layer = MultiHead(32, heads=4, value_head_dim=16, out_dim=10)
    >>> layer(torch.randn(2, 5, 32)).context.shape
    torch.Size([2, 5, 10])
    >>> joined = MultiHead(32, heads=4, value_head_dim=16, out_proj=False)
    >>> joined(torch.randn(2, 5, 32)).context.shape
    torch.Size([2, 5, 64])
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        score: Score | None = None,
        kv_heads: int | None = None,
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
        self.heads = arguments.positive("heads", heads)
        self.kv_heads = heads if kv_heads is None else arguments.positive("kv_heads", kv_heads)
        self.key_dim = dim if key_dim is None else arguments.positive("key_dim", key_dim)
        self.value_dim = (
            self.key_dim if value_dim is None else arguments.positive("value_dim", value_dim)
        )
        self.head_dim = head_dim_of(dim, heads, head_dim)
        self.value_head_dim = self.head_dim
        if value_head_dim is not None:
            self.value_head_dim = arguments.positive("value_head_dim", value_head_dim)
        elif projections == "slice":
            self.value_head_dim = self.value_dim // self.kv_heads
        if heads % self.kv_heads:
            raise ValueError(f"kv_heads must divide heads, but {self.kv_heads} and {heads} came.")
        check_parts(score, positions, normalizer, engine)
        self.projections = projections
        self.dropout = arguments.probability("dropout", dropout)
        self.score = ScaledDot() if score is None else score
        self.positions = Position() if positions is None else positions
        self.normalizer = normalizer
        self.engine = engine
        self.mechanism = mechanism
        self.has_bias = bias
        self.query_proj, self.key_proj, self.value_proj = self._projections(bias)
        if mechanism is not None:
            check_mechanism(self, score, normalizer, engine)
            if mechanism.shares_query:
                self.key_proj = self.query_proj
        joined = heads * self.value_head_dim
        self.out_dim = out_dim_of(dim, joined, out_dim, out_proj)
        self.out_proj = _out_projection(joined, self.out_dim, bias) if out_proj else nn.Identity()
        # torch gives this hook no types
        self.register_load_state_dict_pre_hook(translate_torch_names)  # type: ignore[no-untyped-call]  # torch's

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
        """Attend from `query` to `key` (itself if not given); the value is the key if not given.

        `cache` holds the keys and values of the positions before these; the new ones are appended
        and the whole handed back as `Attended.cache`. A causal mask is then
        `Mask.causal(corner="bottom-right")`. `memory` (from `self.memory`) stands for key and value
        that were projected before: the encoder's output in a decoder. `offset` is the absolute
        position of the first query, by default the length of the cache; a decoder that asks its
        memory step by step passes it.
        """
        self._check_input("query", query, self.dim)
        before = 0 if cache is None else cache.length
        offset = before if offset is None else offset
        mask = None if mask is None else as_mask(mask)
        kind = self._kind(query, key, mask, cache, memory)
        if self.mechanism is not None:
            if kind == "cross" or value is not None:
                raise ValueError(f"{type(self.mechanism).__name__} attends within one sequence.")
            return self._by_mechanism(
                self.mechanism, query, mask, bias, cache, offset, kind, weights
            )
        if cache is not None:
            check_cache(cache, KeyValue)
        assert cache is None or isinstance(cache, KeyValue)
        if memory is None:
            held = self._held(query if key is None else key, value, before)
            held = held if cache is None else self._extended(cache, held, mask)
        elif key is not None or value is not None or cache is not None:
            raise ValueError("memory stands for key, value and cache; pass it alone.")
        else:
            held = memory
        heads_BHQD = self.positions.turn(self.query_proj(self.positions.add(query, offset)), offset)
        with observe.describe_calls(observe.CallInfo(kind, offset)):
            attended = attend(
                heads_BHQD,
                held.key,
                held.value,
                score=self.score,
                bias=self._bias(bias, offset),
                mask=mask,
                normalizer=self.normalizer,
                dropout=self.dropout if self.training else 0.0,
                engine=self.engine,
                weights=weights,
            )
        context = self.out_proj(merged(attended.context))
        return replace(attended, context=context, cache=None if memory is not None else held)

    def _by_mechanism(
        self,
        mechanism: Mechanism,
        query: Tensor,
        mask: Mask | None,
        bias: Tensor | Bias | DistanceBias | None,
        cache: Cache | None,
        offset: int,
        kind: str,
        weights: bool,
    ) -> Attended:
        """Projected heads through the mechanism, and joined."""
        heads_BHQD = self.positions.turn(self.query_proj(self.positions.add(query, offset)), offset)
        if mechanism.shares_query:
            key, value = heads_BHQD, self.value_proj(query)
        else:
            key, value = self._held(query, None, offset)
        if cache is not None:
            check_cache(cache, mechanism.cache_type)
            check_mask_of_cache(mask, query.shape[1], cache.length)
        with observe.describe_calls(observe.CallInfo(kind, offset)):
            if cache is None:
                attended: Attended = mechanism(
                    heads_BHQD, key, value, mask=mask, bias=self._bias(bias, 0),
                    dropout=self.dropout if self.training else 0.0, weights=weights,
                )  # fmt: skip
            else:
                placed = self._bias(bias, mechanism.held(cache))
                attended = mechanism.go_on(
                    heads_BHQD, key, value, cache, bias=placed, weights=weights
                )
        return replace(attended, context=self.out_proj(merged(attended.context)))

    def memory(self, key: Tensor, value: Tensor | None = None) -> KeyValue:
        """Keys and values projected once, to be asked many times."""
        return self._held(key, value, 0)

    def empty_cache(self, batch: int) -> Cache:
        """A cache of no positions, to start with."""
        weight = self._weight()
        like = torch.empty(0) if weight is None else weight
        key = like.new_zeros(batch, self.kv_heads, 0, self.head_dim)
        value = like.new_zeros(batch, self.kv_heads, 0, self.value_head_dim)
        return KeyValue(key, value) if self.mechanism is None else self.mechanism.empty(key, value)

    def with_projections(self, projections: Literal["joint", "separate"]) -> MultiHead:
        """The same layer, numerically, with one large matrix or with one per head."""
        if self.mechanism is not None:
            raise ValueError("a layer with a mechanism of its own keeps its projections.")
        if "slice" in (projections, self.projections):
            raise ValueError("only joint and separate projections convert into each other.")
        other = MultiHead(
            self.dim, self.heads, score=self.score, kv_heads=self.kv_heads, key_dim=self.key_dim,
            value_dim=self.value_dim, head_dim=self.head_dim, value_head_dim=self.value_head_dim,
            out_dim=self.out_dim, out_proj=isinstance(self.out_proj, nn.Linear),
            projections=projections, positions=self.positions, dropout=self.dropout,
            bias=self.has_bias, normalizer=self.normalizer, engine=self.engine,
        )  # fmt: skip
        other = other.to(self._weight())
        other.load_state_dict(with_projections(self.state_dict(), self, projections))
        for part in ("query_proj", "key_proj", "value_proj", "out_proj"):
            learned = any(p.requires_grad for p in getattr(self, part).parameters())
            getattr(other, part).requires_grad_(learned)
        return other.train(self.training)

    def _held(self, key: Tensor, value: Tensor | None, offset: int) -> KeyValue:
        value = key if value is None else value
        self._check_input("key", key, self.key_dim)
        self._check_input("value", value, self.value_dim)
        heads_BGKD = self.positions.turn(self.key_proj(self.positions.add(key, offset)), offset)
        return KeyValue(heads_BGKD, self.value_proj(value))

    def _bias(self, bias: Tensor | Bias | DistanceBias | None, offset: int) -> Bias | None:
        placed = self.positions.bias(offset)
        bias = bias.at(offset) if isinstance(bias, DistanceBias) else bias
        given = None if bias is None else as_bias(bias)
        return SumBias(placed, given) if placed and given else placed or given

    def _kind(
        self,
        query: Tensor,
        key: Tensor | None,
        mask: Mask | None,
        cache: Cache | None,
        memory: KeyValue | None,
    ) -> str:
        if memory is not None or (key is not None and key is not query):
            return "cross"
        return "causal" if cache is not None or (mask is not None and mask.is_causal) else "self"

    def _weight(self) -> Tensor | None:
        """A parameter that says the layer's dtype and device; None where it has no parameters."""
        out = self.out_proj
        return out.weight if isinstance(out, nn.Linear) else next(self.parameters(), None)

    def _check_input(self, name: str, x: Tensor, width: int) -> None:
        weight = self._weight()
        arguments.same_dtype(name, x, x if weight is None else weight)
        if x.ndim < 3:
            raise ValueError(
                f"{name} must have shape (B, T, {width}), but {arguments.shape(x)} came; "
                f"a single sentence is `{name}[None]`."
            )
        arguments.width(name, x, width)

    def _extended(self, cache: KeyValue, new: KeyValue, mask: Mask | None) -> KeyValue:
        for name, old, add in (("key", cache.key, new.key), ("value", cache.value, new.value)):
            if old.shape[:-2] != add.shape[:-2] or old.shape[-1] != add.shape[-1]:
                raise ValueError(
                    f"cache must hold {name}s like the new ones of shape {arguments.shape(add)}, "
                    f"but {arguments.shape(old)} came."
                )
        length = cache.length
        if length and is_triangle(mask, new.length, new.length + length):
            raise ValueError(
                f"mask is Mask.causal() from the top left, but {length} cached positions stand "
                'before the queries; write Mask.causal(corner="bottom-right").'
            )
        return cache.extended(*new)

    def _projections(self, bias: bool) -> tuple[Projection, Projection, Projection]:
        shapes = (
            (self.dim, self.heads), (self.key_dim, self.kv_heads), (self.value_dim, self.kv_heads),
        )  # fmt: skip
        if self.projections == "slice":
            names = (("dim", "head_dim"), ("key_dim", "head_dim"), ("value_dim", "value_head_dim"))
            for (name, piece), (width, heads) in zip(names, shapes, strict=True):
                if width != heads * getattr(self, piece):
                    raise ValueError(
                        f"projections='slice' cuts {name} into {heads} pieces of {piece} "
                        f"{getattr(self, piece)}, but {name} {width} came."
                    )
            q, k, v = (Slice(heads) for _, heads in shapes)
            return q, k, v
        makers: dict[str, type[Joint] | type[Separate]] = {"joint": Joint, "separate": Separate}
        if self.projections not in makers:
            raise ValueError(
                'projections must be "joint", "separate" or "slice", '
                f"but {self.projections!r} came."
            )
        make = makers[self.projections]
        widths = (self.head_dim, self.head_dim, self.value_head_dim)
        query, key, value = (
            make(dim, heads, width, bias)
            for (dim, heads), width in zip(shapes, widths, strict=True)
        )
        return query, key, value

    def extra_repr(self) -> str:
        shown = f"dim={self.dim}, heads={self.heads}, projections={self.projections!r}"
        return shown if self.out_dim == self.dim else f"{shown}, out_dim={self.out_dim}"


def _out_projection(joined: int, out_dim: int, bias: bool) -> nn.Linear:
    linear = nn.Linear(joined, out_dim, bias=bias)
    nn.init.xavier_uniform_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear
