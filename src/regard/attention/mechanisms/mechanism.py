"""What every mechanism of self-attention says of itself and how it is called.

A mechanism takes projected heads and gives their contexts, at its own cost. What it is stands in
its `declared`: whether its answer is that of full attention, which masks it takes, what kind of
map can be looked at. A contract test proves it for every mechanism in `MECHANISMS`.

Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv), context (B, H, Q, Dv).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended
from regard.attention.engines import arguments
from regard.attention.inspection import observe
from regard.attention.inspection.observe import WeightSource
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask, as_mask, told_apart
from regard.attention.masks.nonfinite import quarantine, sum_up


@dataclass(frozen=True)
class Declared:
    """What a mechanism is.

    answer       "exact": that of full attention; "pattern": the softmax over fewer keys, those of
                 its `pattern`; "approximate": near to full attention, or another kernel's
    masks        of "lengths", "causal" and "any": what it takes besides no mask
    map          what a query's weights are given to: all keys ("keys"), fewer that were made of
                 them ("projected"), or nothing that could be shown ("none")
    sums_to_one  whether a query's weights sum to one
    cost         how time grows with the length n, as its paper says
    growth       the exponent of that cost, for causal or full reading whichever is dearer
    bias         whether scores can be biased (alibi and relative positions)
    dropout      whether weights can be dropped
    steps        whether it can go on word by word with a cache
    """

    answer: Literal["exact", "pattern", "approximate"]
    masks: frozenset[str]
    map: Literal["keys", "projected", "none"]
    sums_to_one: bool
    cost: str
    growth: float
    bias: bool = False
    dropout: bool = False
    steps: bool = True


@dataclass(frozen=True, eq=False)
class Asked:
    """One call, its mask told apart.

    lengths  (B,) keys of each sentence, or None: all
    causal   whether query i sees keys up to i + K − Q only
    mask     the mask as it was given
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
    def offset(self) -> int:
        """The place of the first query among the keys: queries are the last of the keys."""
        return self.key.shape[-2] - self.query.shape[-2]


class Words(NamedTuple):
    """New words as projected heads: query (B, H, t, D), key (B, H, t, D), value (B, H, t, Dv)."""

    query: Tensor
    key: Tensor
    value: Tensor


class Mechanism(nn.Module):
    """Base of all mechanisms. A subclass gives `declared`, `context` and `seen`."""

    declared: ClassVar[Declared]
    shares_query: ClassVar[bool] = False
    """Whether keys are the queries themselves (Reformer), so that a layer projects no keys."""
    cache_type: ClassVar[type] = KeyValue
    """What it keeps from word to word."""

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Mask | Tensor | None = None,
        bias: Bias | None = None,
        dropout: float = 0.0,
        weights: bool = False,
    ) -> Attended:
        """Attend from query (B, H, Q, D) to key (B, H, K, D) and value (B, H, K, Dv).

        With fewer queries than keys, queries are the last of the keys. `weights` asks for the
        map. A mask, bias or dropout that is not declared is an error.
        """
        asked, tainted = self._clean(self._asked(query, key, value, mask, bias, dropout))
        shown = self.declared.map != "none"
        if weights and not shown:
            _refuse(self, "has no map, so its weights cannot be had", "leave weights out")
        with observe.suppress_observers():
            context = self.context(asked)
        if tainted is not None:
            context = context.masked_fill(tainted, math.nan)
        if not weights and not observe.observers():
            return Attended(context)
        with observe.inside_regard():
            observed = observe.observe_call(
                context, self.seen(asked), "causal" if asked.causal else "self"
            )
            return Attended(observed.context, observed.weights() if weights else None)

    @abstractmethod
    def context(self, asked: Asked) -> Tensor:
        """The context (B, H, Q, Dv), at the promised cost."""

    @abstractmethod
    def seen(self, asked: Asked) -> WeightSource:
        """The same call for those who look: weights on demand, row by row."""

    def pattern(self, asked: Asked) -> Mask:
        """For a "pattern": the mask that full attention would need to give the same answer."""
        raise NotImplementedError(f"{type(self).__name__} is no pattern of full attention.")

    def empty(self, key: Tensor, value: Tensor) -> Cache:
        """The cache before the first word, for heads like these (B, H, 0, D) and (B, H, 0, Dv)."""
        return KeyValue(key, value)

    def held(self, cache: Cache) -> int:
        """How many words before the new ones a cache still has keys of."""
        return cache.length

    def go_on(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        cache: Cache,
        *,
        bias: Bias | None = None,
        weights: bool = False,
    ) -> Attended:
        """Attend causally from words that follow those in the cache; the new cache comes back."""
        if not self.declared.steps:
            _refuse(self, "cannot go on word by word: it mixes all words", "use attention full")
        self._check_bias(bias)
        check_cache(cache, self.cache_type)
        return self.step(Words(query, key, value), cache, bias, weights)

    def step(self, words: Words, cache: Cache, bias: Bias | None, weights: bool) -> Attended:
        """The same, after what was asked for has been checked."""
        assert isinstance(cache, KeyValue)
        held = cache.extended(words.key, words.value)
        after = Mask.causal(corner="bottom-right")
        attended: Attended = self(words.query, *held, mask=after, bias=bias, weights=weights)
        return replace(attended, cache=held)

    def _check_bias(self, bias: Bias | None) -> None:
        if bias is not None and not self.declared.bias:
            _refuse(self, "cannot bias its scores", "use rotary, sinusoidal or learned positions")

    def _clean(self, asked: Asked) -> tuple[Asked, Tensor | None]:
        """The call without non-finite numbers, and the rows (B, H, Q, 1) that may see one."""
        query, key, value = asked.query, asked.key, asked.value
        if asked.mask is None or (not torch.compiler.is_compiling() and sum_up(query, key, value)):
            return asked, None  # nothing is hidden, or nothing needs to be kept hidden
        cover = self.pattern(asked) if self.declared.answer == "pattern" else asked.mask
        query, key, value, tainted = quarantine(query, key, value, cover, asked.bias)
        return replace(asked, query=query, key=key, value=value), tainted

    def _asked(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask | Tensor | None,
        bias: Bias | None,
        dropout: float,
    ) -> Asked:
        declared = self.declared
        arguments.attention_shapes(query, key, value)
        if query.ndim != 4 or key.ndim != 4 or query.shape[:2] != key.shape[:2]:
            raise ValueError(
                f"{type(self).__name__} takes heads of shape (B, H, T, D), but query "
                f"{arguments.shape(query)} and key {arguments.shape(key)} came."
            )
        self._check_bias(bias)
        if dropout and not declared.dropout:
            _refuse(self, "has no weights to drop", "set attention dropout to 0")
        given = None if mask is None else as_mask(mask)
        lengths, causal, rest = told_apart(given, query.shape[-2], key.shape[-2])
        for there, kind in (
            (lengths is not None, "lengths"), (causal, "causal"), (rest is not None, "any"),
        ):  # fmt: skip
            if there and not declared.masks & {kind, "any"}:
                kinds = " and ".join(sorted(declared.masks)) or "no"
                named = "this" if kind == "any" else f"a {kind}"
                _refuse(self, f"takes {kinds} masks, not {named} one", "use attention full")
        return Asked(query, key, value, given, lengths, causal, bias, dropout)


def check_cache(cache: Cache, expected: type) -> None:
    """Check that a cache is one of the layer or mechanism that is to go on with it."""
    if not isinstance(cache, expected):
        raise TypeError(
            f"cache must be one that this layer returned or its empty_cache, a "
            f"{expected.__name__}, got {type(cache).__name__}."
        )


def unseen_call(query: Tensor, why: str) -> observe.NoWeights:
    """For those who look where there is no map."""
    return observe.NoWeights(tuple(query.shape[:2]), query.shape[-2], why)


def _refuse(mechanism: Mechanism, what: str, instead: str) -> None:
    raise ValueError(f"{type(mechanism).__name__} {what}; {instead}.")


def hidden_keys(asked: Asked) -> Tensor | None:
    """(B, 1, K, 1): True where a key is beyond its sentence; None if none is."""
    if asked.lengths is None:
        return None
    place = torch.arange(asked.key.shape[-2], device=asked.key.device)
    return (place >= asked.lengths.to(place.device)[:, None])[:, None, :, None]
