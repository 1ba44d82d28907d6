"""Full attention, the default: every query attends to every key, of its own or another sequence."""

from __future__ import annotations

from torch import Tensor

from regard.attention.attend import Attended, attend
from regard.attention.engines import arguments
from regard.attention.engines.call import AttentionCall
from regard.attention.engines.choice import Engine, check_engine
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask, as_mask, is_triangle
from regard.attention.mechanisms.mechanism import (
    SOFTMAX,
    AttentionInput,
    Mechanism,
    NewTokens,
    check_cache,
)
from regard.attention.normalizers.normalizer import Normalizer
from regard.attention.scores.score import ScaledDot, Score
from regard.config.mechanisms import BlockwiseSettings, FullSettings


class Full(Mechanism):
    """softmax(QKᵀ/√d) V over all keys (Vaswani 2017), or with another score or normalizer.

    Key and value may be of another sequence, and may have fewer heads that divide the query's.

    score       similarity of a query and a key; ScaledDot() by default
    normalizer  from scores to weights; Softmax() by default
    engine      "auto", "dense", "fused" or "blockwise"
    """

    facts = FullSettings.facts

    def __init__(
        self,
        score: Score | None = None,
        normalizer: Normalizer | None = None,
        engine: Engine = "auto",
    ) -> None:
        super().__init__()
        if score is not None and not isinstance(score, Score):
            raise TypeError(f"score must be a Score such as ScaledDot(), got {score!r}.")
        if normalizer is not None and not callable(normalizer):
            raise TypeError(f"normalizer must be one such as Softmax(), got {normalizer!r}.")
        check_engine(engine)
        self.score = ScaledDot() if score is None else score
        self.normalizer = normalizer
        self.engine: Engine = engine

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
        """`attend`, with the cached keys and values before the new ones."""
        keys = KeyValue(key, value)
        if cache is not None:
            keys = _extended(cache, keys, mask)
        attended = attend(
            query,
            keys.key,
            keys.value,
            score=self.score,
            bias=bias,
            mask=mask,
            normalizer=self.normalizer,
            dropout=dropout,
            engine=self.engine,
            weights=weights,
        )
        return attended.changed(attended.context, keys)

    def context(self, call: AttentionInput) -> Tensor:
        context: Tensor = self(
            *call.tensors, mask=call.mask, bias=call.bias, dropout=call.dropout
        ).context
        return context

    def weight_source(self, call: AttentionInput) -> AttentionCall:
        normalizer = SOFTMAX if self.normalizer is None else self.normalizer
        prepared = self.score.prepare(call.query, call.key)
        return AttentionCall(prepared, call.value, call.bias, call.mask, normalizer, 0.0)

    def _decode(
        self, tokens: NewTokens, cache: Cache, bias: Bias | None, weights: bool
    ) -> Attended:
        mask = Mask.causal(corner="bottom-right")
        attended: Attended = self(*tokens, mask=mask, bias=bias, cache=cache, weights=weights)
        return attended

    def extra_repr(self) -> str:
        normalizer = "" if self.normalizer is None else f"{self.normalizer!r}, "
        return f"{normalizer}engine={self.engine!r}"


class Blockwise(Full):
    """The same result tile by tile: memory grows with n, not n² (Rabe & Staats 2021)."""

    facts = BlockwiseSettings.facts

    def __init__(self) -> None:
        super().__init__(engine="blockwise")


def _extended(cache: Cache, new: KeyValue, mask: Mask | Tensor | None) -> KeyValue:
    """The cache with new keys and values at its end."""
    check_cache(cache, KeyValue)
    assert isinstance(cache, KeyValue)
    for name, old, add in (("key", cache.key, new.key), ("value", cache.value, new.value)):
        if old.shape[:-2] != add.shape[:-2] or old.shape[-1] != add.shape[-1]:
            raise ValueError(
                f"cache must hold {name}s like the new ones of shape {arguments.shape(add)}, "
                f"got {arguments.shape(old)}."
            )
    given = None if mask is None else as_mask(mask)
    if cache.length and is_triangle(given, new.length, new.length + cache.length):
        raise ValueError(
            f"mask must count from the end of the keys where {cache.length} are cached, "
            'got Mask.causal(); write Mask.causal(corner="bottom-right").'
        )
    return cache.extended(*new)
