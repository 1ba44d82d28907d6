"""The interface of attention mechanisms: projected heads in, contexts out.

What a mechanism is and can be combined with are its `facts`, which a contract test proves for
every mechanism in `MECHANISMS`.

Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv), context (B, H, Q, Dv).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, NoReturn

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended, attend_part
from regard.attention.engines import arguments
from regard.attention.engines.call import AttentionCall
from regard.attention.inspection import observe
from regard.attention.inspection.observe import WeightSource
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask, as_mask, decompose_mask
from regard.attention.masks.nonfinite import known_finite, remove_nonfinite
from regard.attention.normalizers.normalizer import Softmax
from regard.attention.scores.score import ScaledDot
from regard.config.mechanisms import MechanismFacts

SCALED_DOT, SOFTMAX = ScaledDot(), Softmax()
SHORT = 128  # keys up to which a sparse pattern is computed as one tile


@dataclass(frozen=True, eq=False)
class AttentionInput:
    """The arguments of one call, its mask decomposed.

    lengths  (B,) keys of each sentence; None: all
    causal   whether query i sees keys up to i + K − Q only
    mask     the mask as given
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Mask | None
    lengths: Tensor | None
    causal: bool
    bias: Bias | None = None
    dropout: float = 0.0

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value."""
        return self.query, self.key, self.value

    @property
    def num_keys(self) -> int:
        """K."""
        return self.key.shape[-2]

    @property
    def offset(self) -> int:
        """The position of the first query: queries are the last of the keys."""
        return self.key.shape[-2] - self.query.shape[-2]

    def padding(self) -> Tensor | None:
        """(B, 1, K, 1): True where a key is beyond its sentence's length; None if none is."""
        if self.lengths is None:
            return None
        position = torch.arange(self.num_keys, device=self.key.device)
        return (position >= self.lengths.to(position.device)[:, None])[:, None, :, None]

    def without_padding(self) -> AttentionInput:
        """The same with zeros for the keys and values of padding."""
        padding = self.padding()
        if padding is None:
            return self
        key, value = (x.masked_fill(padding, 0.0) for x in (self.key, self.value))
        return replace(self, key=key, value=value)

    def softmax_call(self, mask: Mask | None, over: str = "keys") -> AttentionCall:
        """Scaled dot-product attention under `mask`, for observers."""
        prepared = SCALED_DOT.prepare(self.query, self.key)
        return AttentionCall(prepared, self.value, self.bias, mask, SOFTMAX, 0.0, over=over)


class NewTokens(NamedTuple):
    """New tokens as projected heads: query and key (B, H, t, D), value (B, H, t, Dv)."""

    query: Tensor
    key: Tensor
    value: Tensor


class Mechanism(nn.Module):
    """Base of all mechanisms. A subclass defines `facts`, `context` and its `pattern`."""

    facts: ClassVar[MechanismFacts]
    shares_query: ClassVar[bool] = False
    """Whether keys are the queries themselves (Reformer), so that a layer projects no keys."""
    limits_keys: ClassVar[bool] = False
    """Whether queries attend to some keys only, even without a mask."""
    cache_type: ClassVar[type] = KeyValue

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Mask | Tensor | None = None,
        bias: Bias | None = None,
        dropout: float = 0.0,
        cache: Cache | None = None,
        weights: bool = False,
    ) -> Attended:
        """Attend from query (B, H, Q, D) to key (B, H, K, D) and value (B, H, K, Dv).

        With fewer queries than keys, queries are the last of the keys. With a `cache`, queries,
        keys and values are of the tokens that follow it. A mask, bias or dropout that the
        mechanism cannot take is an error.
        """
        mask = None if mask is None else as_mask(mask)
        if cache is not None:
            self._check_decoding_mask(mask, query.shape[-2], cache.length)
            return self.decode_step(query, key, value, cache, bias=bias, weights=weights)
        call = self._input(query, key, value, mask, bias, dropout)
        call, nonfinite_rows = self._remove_nonfinite(call)
        if weights and self.facts.map == "none":
            self._refuse("has no map, so there are no weights", "leave weights out")
        with observe.suppress_observers():
            context = self.context(call)
        if nonfinite_rows is not None:
            context = context.masked_fill(nonfinite_rows, math.nan)
        if not weights and not observe.observers():
            return Attended(context)
        with observe.inside_regard():
            observed = observe.observe_call(
                context, self.weight_source(call), "causal" if call.causal else "self"
            )
            return Attended(observed.context, observed.weights() if weights else None)

    @abstractmethod
    def context(self, call: AttentionInput) -> Tensor:
        """The context (B, H, Q, Dv), at the promised cost."""

    def weight_source(self, call: AttentionInput) -> WeightSource:
        """The weights of the same call for observers, row by row on demand."""
        return replace(call, bias=self.added_bias(call)).softmax_call(self.pattern(call))

    def pattern(self, call: AttentionInput) -> Mask | None:
        """The mask that full attention needs to attend to the same keys."""
        return call.mask

    def added_bias(self, call: AttentionInput) -> Bias | None:
        """All that is added to the scores."""
        return call.bias

    def context_of_pattern(self, call: AttentionInput, short: int = SHORT) -> Tensor:
        """The context as full attention under the `pattern` computes it, by tiles if it is long."""
        return attend_part(
            *call.tensors,
            bias=self.added_bias(call),
            mask=self.pattern(call),
            dropout=call.dropout,
            engine="auto" if call.num_keys <= short else "blockwise",
        ).context

    def empty(self, key: Tensor, value: Tensor) -> Cache:
        """The cache of no tokens, for heads like these (B, H, 0, D) and (B, H, 0, Dv)."""
        return KeyValue(key, value)

    def cached_length(self, cache: Cache) -> int:
        """The number of keys in the cache; fewer than `cache.length` if it drops old ones."""
        return cache.length

    def decode_step(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        cache: Cache,
        *,
        bias: Bias | None = None,
        weights: bool = False,
    ) -> Attended:
        """Attend causally from tokens that follow those in the cache; returns the new cache."""
        if not self.facts.cache:
            self._refuse("cannot decode step by step: it mixes all tokens", "use attention full")
        self._check_bias(bias)
        check_cache(cache, self.cache_type)
        return self._decode(NewTokens(query, key, value), cache, bias, weights)

    def _decode(
        self, tokens: NewTokens, cache: Cache, bias: Bias | None, weights: bool
    ) -> Attended:
        """`decode_step` of checked arguments."""
        assert isinstance(cache, KeyValue)
        extended = cache.extended(tokens.key, tokens.value)
        mask = Mask.causal(corner="bottom-right")
        attended: Attended = self(tokens.query, *extended, mask=mask, bias=bias, weights=weights)
        return replace(attended, cache=extended)

    def _remove_nonfinite(self, call: AttentionInput) -> tuple[AttentionInput, Tensor | None]:
        """The call without non-finite numbers, and the rows (B, H, Q, 1) that attend to one."""
        masked = call.mask is not None or call.bias is not None or self.limits_keys
        if not masked or (not torch.compiler.is_compiling() and known_finite(*call.tensors)):
            return call, None
        mask, bias = self.pattern(call), self.added_bias(call)
        query, key, value, rows = remove_nonfinite(*call.tensors, mask, bias)
        return replace(call, query=query, key=key, value=value), rows

    def _input(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask | None,
        bias: Bias | None,
        dropout: float,
    ) -> AttentionInput:
        """The checked arguments of a call."""
        arguments.attention_shapes(query, key, value)
        if query.ndim != 4 or key.ndim != 4 or query.shape[:2] != key.shape[:2]:
            raise ValueError(
                f"{type(self).__name__} takes heads of shape (B, H, T, D), got query "
                f"{arguments.shape(query)} and key {arguments.shape(key)}."
            )
        self._check_bias(bias)
        if dropout and not self.facts.dropout:
            self._refuse("has no weights to drop", "set attention dropout to 0")
        lengths, causal, rest = decompose_mask(mask, query.shape[-2], key.shape[-2])
        if rest is not None and "any" not in self.facts.masks:
            kinds = "lengths and causal" if self.facts.causal else "lengths"
            self._refuse(f"takes {kinds} masks only", "use attention full")
        if causal and not self.facts.causal:
            self._refuse("takes lengths masks only, not a causal one", "use attention full")
        return AttentionInput(query, key, value, mask, lengths, causal, bias, dropout)

    def _check_bias(self, bias: Bias | None) -> None:
        if bias is not None and not self.facts.bias:
            self._refuse("cannot bias its scores", "use rotary, sinusoidal or learned positions")

    def _check_decoding_mask(self, mask: Mask | None, num_new: int, num_cached: int) -> None:
        lengths, _, rest = decompose_mask(mask, num_new, num_new + num_cached)
        if lengths is not None or rest is not None:
            self._refuse(
                "attends causally with a cache",
                'leave the mask out, or give Mask.causal(corner="bottom-right")',
            )

    def _refuse(self, problem: str, remedy: str) -> NoReturn:
        raise ValueError(f"{type(self).__name__} {problem}; {remedy}.")


def check_cache(cache: Cache, expected: type) -> None:
    """Check that a cache is of the type that a mechanism returns."""
    if not isinstance(cache, expected):
        raise TypeError(
            f"cache must be one that this layer returned or its empty_cache, a "
            f"{expected.__name__}, got {type(cache).__name__}."
        )


def no_weights(query: Tensor, reason: str) -> observe.NoWeights:
    """For observers of a call that has no map."""
    return observe.NoWeights(tuple(query.shape[:2]), query.shape[-2], reason)
