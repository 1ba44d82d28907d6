"""Adaptive span: each head learns its reach, and nothing beyond the widest is computed."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended
from regard.attention.engines import arguments
from regard.attention.layers.cache import Cache
from regard.attention.masks.bias import Bias, DistanceBias, SumBias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import AttentionInput, NewTokens
from regard.attention.mechanisms.window_cache import WindowCache, WindowMechanism, attend_back
from regard.config.mechanisms import AdaptiveSpanSettings


class SpanBias(DistanceBias):
    """log m(x), m(x) = min(1, max(0, (ramp + z − x) / ramp)): the soft edge of a head's span z."""

    def __init__(self, num_heads: int, max_span: int, ramp: int, first: float) -> None:
        super().__init__()
        self.num_heads, self.max_span, self.ramp = num_heads, max_span, ramp
        first = min(max(first / max_span, 0.01), 0.99)
        self.share = nn.Parameter(torch.full((num_heads,), math.log(first / (1 - first))))

    @property
    def span(self) -> Tensor:
        """z of each head, (H,), in tokens: max_span times a sigmoid, whose gradient never is 0."""
        return self.max_span * torch.sigmoid(self.share)

    def forward(self, distance: Tensor) -> Tensor:
        span = self.span[:, None, None]
        factor = ((self.ramp + span - distance.abs()) / self.ramp).clamp(max=1.0)
        inside = factor > 0
        return torch.where(inside, factor.masked_fill(~inside, 1.0).log(), -math.inf)


class AdaptiveSpan(WindowMechanism):
    """weight_j ∝ m(|i − j|) exp(s_j), with a learned span of each head (Sukhbaatar 2019).

    Tokens beyond the widest head's span and ramp cost nothing. `span` (H,) is to be kept small by
    a penalty in the loss.
    """

    facts = AdaptiveSpanSettings.facts

    def __init__(
        self, num_heads: int, max_span: int = 256, ramp: int = 16, first: float | None = None
    ) -> None:
        super().__init__()
        arguments.positive("max_span", max_span)
        self.reaching = SpanBias(
            arguments.positive("num_heads", num_heads),
            max_span,
            arguments.positive("ramp", ramp),
            max_span / 2 if first is None else first,
        )

    @property
    def span(self) -> Tensor:
        """The span of each head, (H,), in tokens."""
        return self.reaching.span

    @property
    def reach(self) -> int:
        """The largest distance with a weight, in any head."""
        return math.ceil(float(self.span.detach().max())) + self.reaching.ramp

    def context(self, call: AttentionInput) -> Tensor:
        return self.context_of_pattern(call)

    def pattern(self, call: AttentionInput) -> Mask:
        near: Mask = Mask.window(self.reach, self.reach, call.offset)
        return near if call.mask is None else near & call.mask

    def added_bias(self, call: AttentionInput) -> Bias:
        own = self.reaching.at(call.offset)
        return own if call.bias is None else SumBias(own, call.bias)

    def _decode(
        self, tokens: NewTokens, cache: Cache, bias: Bias | None, weights: bool
    ) -> Attended:
        assert isinstance(cache, WindowCache)
        own: Bias = self.reaching.at(cache.last.length)
        extended = cache.extended(tokens.key, tokens.value, 0)
        total = own if bias is None else SumBias(own, bias)
        reach = self.reach
        attended = attend_back(tokens.query, extended, lambda x: x <= reach, total, weights)
        return Attended(attended.context, attended.weights, extended.trimmed(reach))

    def extra_repr(self) -> str:
        return f"max_span={self.reaching.max_span}, ramp={self.reaching.ramp}"
