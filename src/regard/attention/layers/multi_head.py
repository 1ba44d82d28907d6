"""Multi-head attention: several attention maps at once, each over its own projection.

Shapes: query (B, Q, dim), key (B, K, key_dim), value (B, K, value_dim), context (B, Q, out_dim),
weights (B, H, Q, K); G key/value heads, H a multiple of G; within a head queries and keys have
head_dim features and values value_head_dim.

*separate* projections have a matrix for each head, *joint* ones one large matrix that is split into
heads (the same layer numerically, and faster), *slice* has none and splits its input.
`MultiHead.load_state_dict` takes the state dict of an `nn.MultiheadAttention` as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended
from regard.attention.engines import arguments
from regard.attention.engines.choice import Engine
from regard.attention.inspection import observe, probe
from regard.attention.layers.cache import Cache, KeyValue
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


class Joint(nn.Linear):
    """One matrix (num_heads · head_dim, dim) for all heads."""

    def __init__(self, dim: int, num_heads: int, head_dim: int, bias: bool) -> None:
        super().__init__(dim, num_heads * head_dim, bias)

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class Separate(nn.Module):
    """A matrix (head_dim, dim) for each head."""

    def __init__(self, dim: int, num_heads: int, head_dim: int, bias: bool) -> None:
        super().__init__()
        self.heads = nn.ModuleList(xavier_linear(dim, head_dim, bias) for _ in range(num_heads))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)


def xavier_linear(dim: int, out_dim: int, bias: bool) -> nn.Linear:
    """A linear layer with Xavier's initialization and a bias of zero."""
    linear = nn.Linear(dim, out_dim, bias=bias)
    nn.init.xavier_uniform_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear


def make_projections(layer: MultiHead, bias: bool) -> list[nn.Module]:
    """The projections of queries, keys and values."""
    sizes = (
        ("dim", layer.num_heads, "head_dim"),
        ("key_dim", layer.num_kv_heads, "head_dim"),
        ("value_dim", layer.num_kv_heads, "value_head_dim"),
    )
    if layer.projections == "slice":
        for name, num_heads, piece in sizes:
            width, head_dim = getattr(layer, name), getattr(layer, piece)
            if width != num_heads * head_dim:
                raise ValueError(
                    f"projections='slice' cuts {name} into {num_heads} pieces of {piece} "
                    f"{head_dim}, got {name} {width}."
                )
        return [nn.Identity() for _ in sizes]
    makers: dict[str, type[Joint] | type[Separate]] = {"joint": Joint, "separate": Separate}
    if layer.projections not in makers:
        raise ValueError(
            f'projections must be "joint", "separate" or "slice", got {layer.projections!r}.'
        )
    make = makers[layer.projections]
    return [
        make(getattr(layer, name), num_heads, getattr(layer, piece), bias)
        for name, num_heads, piece in sizes
    ]


def check_mechanism(
    mechanism: Mechanism, layer: MultiHead, score: object, normalizer: object, engine: str
) -> None:
    """Check that a mechanism fits a layer: it has its own score, and most need equal heads."""
    name = type(mechanism).__name__
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be one such as Local(64), got {mechanism!r}.")
    if score is not None or normalizer is not None or engine != "auto":
        raise ValueError(f"{name} has its own score, normalizer and engine; pass none.")
    if mechanism.facts.cross:
        return
    if layer.num_kv_heads != layer.num_heads:
        raise ValueError(f"{name} needs as many key/value heads as heads; leave num_kv_heads out.")
    if layer.key_dim != layer.dim or layer.value_dim != layer.dim:
        raise ValueError(f"{name} attends within one sequence; leave key_dim and value_dim out.")


def head_dim_of(dim: int, num_heads: int, head_dim: int | None) -> int:
    """The width of a head: as given, else dim / num_heads."""
    if head_dim is not None:
        return arguments.positive("head_dim", head_dim)
    if dim % num_heads:
        raise ValueError(
            f"dim must be divisible by num_heads, got dim={dim}, num_heads={num_heads}; "
            "give head_dim to choose the width of a head freely."
        )
    return dim // num_heads


def out_dim_of(dim: int, joined: int, out_dim: int | None, out_proj: bool) -> int:
    """The width of the output: as given, else the query's; without a projection the heads'."""
    if out_dim is not None:
        arguments.positive("out_dim", out_dim)
    if not out_proj and out_dim not in (None, joined):
        raise ValueError(
            f"out_proj=False only concatenates the heads, so out_dim must be num_heads · "
            f"value_head_dim = {joined}, got {out_dim}; leave out_dim out."
        )
    return joined if not out_proj else dim if out_dim is None else out_dim


_PARTS = ("query_proj", "key_proj", "value_proj")
_TORCH_WEIGHTS = ("q_proj_weight", "k_proj_weight", "v_proj_weight")


def translate_torch_names(layer: MultiHead, state: dict[str, Any], prefix: str, *_: object) -> None:
    """Rename, in place, what an `nn.MultiheadAttention` saved under `prefix`."""
    ours = {name.removeprefix(prefix) for name in state if name.startswith(prefix)}
    if not ours & {"in_proj_weight", "q_proj_weight"}:
        return
    if "bias_k" in ours:
        raise ValueError(
            "the state dict comes from an nn.MultiheadAttention with add_bias_kv=True, "
            "which MultiHead does not have."
        )
    if layer.projections == "slice":
        raise ValueError("projections='slice' has no matrices to load from a state dict.")
    if "in_proj_weight" in ours:
        weights = state.pop(prefix + "in_proj_weight").chunk(3)
    else:
        weights = tuple(state.pop(prefix + name) for name in _TORCH_WEIGHTS)
    joint = {f"{part}.weight": w for part, w in zip(_PARTS, weights, strict=True)}
    if "in_proj_bias" in ours:
        biases = state.pop(prefix + "in_proj_bias").chunk(3)
        joint |= {f"{part}.bias": b for part, b in zip(_PARTS, biases, strict=True)}
    if layer.projections == "separate":
        joint = _split_state(joint, dict.fromkeys(_PARTS, layer.num_heads))
    state.update({prefix + name: x for name, x in joint.items()})


def with_projections(state: Mapping[str, Tensor], layer: MultiHead, to: str) -> dict[str, Tensor]:
    """The state dict of `layer` with joint or with separate projections."""
    if to == layer.projections:
        return dict(state)
    heads = dict(
        zip(_PARTS, (layer.num_heads, layer.num_kv_heads, layer.num_kv_heads), strict=True)
    )
    return _split_state(state, heads) if to == "separate" else _join_state(state, heads)


def _split_state(state: Mapping[str, Tensor], heads: Mapping[str, int]) -> dict[str, Tensor]:
    """`query_proj.weight` (H · D, dim) as `query_proj.heads.0.weight` (D, dim), …"""
    split: dict[str, Tensor] = {}
    for name, x in state.items():
        part, _, kind = name.partition(".")
        if part not in heads:
            split[name] = x
            continue
        for h, piece in enumerate(x.chunk(heads[part])):
            split[f"{part}.heads.{h}.{kind}"] = piece.clone()
    return split


def _join_state(state: Mapping[str, Tensor], heads: Mapping[str, int]) -> dict[str, Tensor]:
    joined = {name: x for name, x in state.items() if name.partition(".")[0] not in heads}
    for part, number in heads.items():
        for kind in ("weight", "bias"):
            pieces = [state.get(f"{part}.heads.{h}.{kind}") for h in range(number)]
            present = [piece for piece in pieces if piece is not None]
            if present:
                joined[f"{part}.{kind}"] = torch.cat(present)
    return joined
