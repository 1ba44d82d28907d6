"""Adaptive span: each head learns how far it looks, and nothing beyond the farthest is computed."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended, attend
from regard.attention.engines import arguments
from regard.attention.engines.call import AttentionCall
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.masks.bias import Bias, DistanceBias, SumBias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.full import SCORE, SOFTMAX
from regard.attention.mechanisms.local import SHORT
from regard.attention.mechanisms.mechanism import AttentionInput, Declared, Mechanism, NewTokens
from regard.attention.mechanisms.window_cache import WindowCache, look_back


class SpanBias(DistanceBias):
    """log m(x), m(x) = min(1, max(0, (ramp + z − x) / ramp)): the soft edge of a head's span z."""

    def __init__(self, num_heads: int, max_span: int, ramp: int, first: float) -> None:
        super().__init__()
        self.num_heads, self.max_span, self.ramp = num_heads, max_span, ramp
        first = min(max(first / max_span, 0.01), 0.99)
        self.share = nn.Parameter(torch.full((num_heads,), math.log(first / (1 - first))))

    @property
    def span(self) -> Tensor:
        """z of each head, (H,), in words: a sigmoid's share of max_span, which never sticks."""
        return self.max_span * torch.sigmoid(self.share)

    def forward(self, distance: Tensor) -> Tensor:
        span = self.span[:, None, None]
        shown = ((self.ramp + span - distance.abs()) / self.ramp).clamp(max=1.0)
        there = shown > 0
        return torch.where(there, shown.masked_fill(~there, 1.0).log(), -math.inf)


class AdaptiveSpan(Mechanism):
    """weight_j ∝ m(|i − j|) exp(s_j), with a learned span of each head (Sukhbaatar 2019).

    Words beyond the widest head's span and ramp cost nothing. `span` (H,) is to be kept small by
    a penalty in the loss.
    """

    declared = Declared(
        answer="approximate", masks=frozenset({"lengths", "causal"}), map="keys", sums_to_one=True,
        cost="n·span", growth=1.0, bias=True, dropout=True,
    )  # fmt: skip

    cache_type = WindowCache

    def __init__(
        self, num_heads: int, max_span: int = 256, ramp: int = 16, first: float | None = None
    ) -> None:
        super().__init__()
        arguments.positive("max_span", max_span)
        self.reaching = SpanBias(
            arguments.positive("num_heads", num_heads), max_span, arguments.positive("ramp", ramp),
            max_span / 2 if first is None else first,
        )  # fmt: skip

    @property
    def span(self) -> Tensor:
        """How far each head looks, (H,), in words."""
        return self.reaching.span

    @property
    def reach(self) -> int:
        """The farthest any head looks, its ramp included."""
        return math.ceil(float(self.span.detach().max())) + self.reaching.ramp

    def context(self, call: AttentionInput) -> Tensor:
        short = call.key.shape[-2] <= SHORT
        return attend(
            call.query, call.key, call.value, score=SCORE, bias=self._bias(call),
            mask=self._mask(call), dropout=call.dropout, engine="auto" if short else "blockwise",
        ).context  # fmt: skip

    def seen(self, call: AttentionInput) -> AttentionCall:
        prepared = SCORE.prepare(call.query, call.key)
        return AttentionCall(prepared, call.value, self._bias(call), self._mask(call), SOFTMAX, 0.0)

    def _mask(self, call: AttentionInput) -> Mask:
        near: Mask = Mask.window(self.reach, self.reach, call.offset)
        return near if call.mask is None else near & call.mask

    def _bias(self, call: AttentionInput) -> Bias:
        own = self.reaching.at(call.offset)
        return own if call.bias is None else SumBias(own, call.bias)

    def empty(self, key: Tensor, value: Tensor) -> Cache:
        return WindowCache(KeyValue(key, value), KeyValue(key, value), 0)

    def held(self, cache: Cache) -> int:
        assert isinstance(cache, WindowCache)
        return cache.last.length

    def step(self, words: NewTokens, cache: Cache, bias: Bias | None, weights: bool) -> Attended:
        assert isinstance(cache, WindowCache)
        own: Bias = self.reaching.at(cache.last.length)
        grown = cache.extended(words.key, words.value, 0)
        both = own if bias is None else SumBias(own, bias)
        reach = self.reach
        attended = look_back(words.query, grown, lambda x: x <= reach, both, weights)
        return Attended(attended.context, attended.weights, grown.trimmed(reach))

    def extra_repr(self) -> str:
        return f"max_span={self.reaching.max_span}, ramp={self.reaching.ramp}"
