"""Local attention: each word sees its neighbours, and some words see and are seen by all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention import arguments
from regard.attention.attend import Attended, Engine, attend
from regard.attention.bias import Bias
from regard.attention.cache import Cache, KeyValue
from regard.attention.call import Call
from regard.attention.mask import Mask
from regard.attention.mechanisms.full import SCORE, softmax_call
from regard.attention.mechanisms.mechanism import Asked, Declared, Mechanism, Words
from regard.attention.mechanisms.merge import merged
from regard.attention.mechanisms.recent import Recent, look_back
from regard.attention.tile import Tile

SHORT = 128  # keys up to which one tile holds all that there is


class Local(Mechanism):
    """softmax over the keys at most `window` words away (Beltagy 2020, Longformer).

    The first `global_tokens` words look at all, and all look at them. Exact over what is seen, and
    nothing else is computed.
    """

    declared = Declared(
        answer="pattern", masks=frozenset({"lengths", "causal"}), map="keys", sums_to_one=True,
        cost="n·window", growth=1.0, bias=True, dropout=True,
    )  # fmt: skip

    def __init__(self, window: int = 64, global_tokens: int = 0) -> None:
        super().__init__()
        self.window = arguments.positive("window", window)
        if global_tokens < 0:
            raise ValueError(f"global_tokens must be at least 0, but {global_tokens} came.")
        self.global_tokens = global_tokens

    def context(self, asked: Asked) -> Tensor:
        if asked.key.shape[-2] <= SHORT:
            return _attended(asked, self.pattern(asked), "auto").context
        if self.global_tokens:
            return self._with_globals(asked)
        return _attended(asked, self.pattern(asked), "blockwise").context

    def seen(self, asked: Asked) -> Call:
        return softmax_call(asked, self.pattern(asked))

    def pattern(self, asked: Asked) -> Mask:
        near: Mask = Mask.window(self.window, self.window, asked.offset)
        if self.global_tokens:
            near = near | _Globals(self.global_tokens, asked.offset)
        return near if asked.mask is None else near & asked.mask

    def _with_globals(self, asked: Asked) -> Tensor:
        """Near keys and global keys apart, merged; then the rows of the global words."""
        if asked.bias is not None:
            raise ValueError("Local with global tokens cannot bias its scores; set them to 0.")
        first, offset = min(self.global_tokens, asked.key.shape[-2]), asked.offset
        sight = 0 if asked.causal else self.window
        lengths = asked.lengths
        near: Mask = Mask.window(self.window, sight, offset - first)
        far: Mask | None = Mask.causal(offset) if asked.causal else None
        if lengths is not None:
            near = near & Mask.lengths((lengths - first).clamp(min=0))
            shown = Mask.lengths(lengths)
            far = shown if far is None else far & shown
        parts = []
        for keys, mask in ((slice(first, None), near), (slice(0, first), far)):
            key, value = asked.key[..., keys, :], asked.value[..., keys, :]
            part = attend(
                asked.query, key, value, score=SCORE, mask=mask, dropout=asked.dropout,
                engine="blockwise",
            )  # fmt: skip
            parts.append(part)
        context = merged(parts)
        rows = max(0, first - offset)
        if not rows:
            return context
        everything = attend(
            asked.query[..., :rows, :], asked.key, asked.value, score=SCORE, dropout=asked.dropout,
            mask=_rows_of(asked, rows),
        )  # fmt: skip
        return torch.cat([everything.context, context[..., rows:, :]], -2)

    def empty(self, key: Tensor, value: Tensor) -> Cache:
        return Recent(KeyValue(key, value), KeyValue(key, value), 0)

    def held(self, cache: Cache) -> int:
        assert isinstance(cache, Recent)
        return cache.first.length + cache.last.length

    def step(self, words: Words, cache: Cache, bias: Bias | None, weights: bool) -> Attended:
        assert isinstance(cache, Recent)
        if bias is not None and self.global_tokens:
            raise ValueError("Local with global tokens cannot bias its scores; set them to 0.")
        grown = cache.extended(words.key, words.value, self.global_tokens)
        attended = look_back(words.query, grown, self.window, bias, weights)
        return Attended(attended.context, attended.weights, grown.trimmed(self.window))

    def extra_repr(self) -> str:
        return f"window={self.window}, global_tokens={self.global_tokens}"


def _attended(asked: Asked, mask: Mask, engine: Engine) -> Attended:
    return attend(
        asked.query, asked.key, asked.value, score=SCORE, bias=asked.bias, mask=mask,
        dropout=asked.dropout, engine=engine,
    )  # fmt: skip


def _rows_of(asked: Asked, rows: int) -> Mask | None:
    """The call's mask for its first rows alone."""
    mask: Mask | None = None if asked.lengths is None else Mask.lengths(asked.lengths)
    if not asked.causal:
        return mask
    causal = Mask.causal(asked.offset)
    return causal if mask is None else causal & mask


@dataclass(frozen=True, eq=False)
class _Globals(Mask):
    """The first `number` words see and are seen by all; queries start at place `offset`."""

    number: int
    offset: int

    def tile(self, tile: Tile) -> Tensor:
        return (tile.key_index < self.number) | (tile.query_index + self.offset < self.number)
