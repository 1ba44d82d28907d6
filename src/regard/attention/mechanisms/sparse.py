"""Sparse attention in two steps of about √n keys each, strided or fixed (Child 2019).

    strided   near: the last l words;          far: every l-th word before (or after)
    fixed     near: the words of one's block;  far: the last c words of the other blocks

The two parts are computed apart, each without any score that is not seen, and merged.

Shapes: B sentences, H heads, N blocks of l words, D features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from regard.attention.attend import Attended, attend
from regard.attention.engines import arguments
from regard.attention.engines.blockwise import TILE_SCORES
from regard.attention.engines.call import AttentionCall
from regard.attention.engines.tile import Tile
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.columns import (
    column_counts,
    cut,
    from_columns,
    in_columns,
    moved,
    sentence_lengths,
)
from regard.attention.mechanisms.full import SCORE, softmax_call
from regard.attention.mechanisms.local import SHORT
from regard.attention.mechanisms.mechanism import AttentionInput, Declared, Mechanism, NewTokens
from regard.attention.mechanisms.merge import merged
from regard.attention.mechanisms.window_cache import over_some

Pattern = Literal["strided", "fixed"]


class Sparse(Mechanism):
    """softmax over near keys and a regular choice of far ones.

    pattern  "strided" or "fixed"
    stride   l, near √n for the promised cost; None takes √n of each call, which a model that goes
             on word by word must not
    summary  c: the last words of a block that others look at ("fixed")
    """

    declared = Declared(
        answer="pattern", masks=frozenset({"lengths", "causal"}), map="keys", sums_to_one=True,
        cost="n·√n", growth=1.5, dropout=True,
    )  # fmt: skip

    def __init__(
        self, pattern: Pattern = "strided", stride: int | None = None, summary: int = 1
    ) -> None:
        super().__init__()
        if pattern not in ("strided", "fixed"):
            raise ValueError(f'pattern must be "strided" or "fixed", got {pattern!r}.')
        self.kind: Pattern = pattern
        self.stride = None if stride is None else arguments.positive("stride", stride)
        self.summary = arguments.positive("summary", summary)
        if stride is not None and pattern == "fixed" and summary > stride:
            raise ValueError(f"summary must be at most stride {stride}, got {summary}.")

    def context(self, call: AttentionInput) -> Tensor:
        stride = self._stride(call.key.shape[-2])
        short = call.key.shape[-2] <= max(SHORT, stride)
        if short or call.offset:  # words that follow a cache cannot be cut into whole blocks
            return attend(
                call.query, call.key, call.value, score=SCORE, mask=self.pattern(call),
                dropout=call.dropout, engine="auto" if short else "blockwise",
            ).context  # fmt: skip
        if self.kind == "strided":
            return merged([_window(call, stride), _columns(call, stride)])
        return merged([_blocks(call, stride), _summaries(call, stride, self.summary)])

    def seen(self, call: AttentionInput) -> AttentionCall:
        return softmax_call(call, self.pattern(call))

    def pattern(self, call: AttentionInput) -> Mask:
        shown: Mask = self._pattern(call.key.shape[-2], call.offset)
        return shown if call.mask is None else shown & call.mask

    def step(self, words: NewTokens, cache: Cache, bias: Bias | None, weights: bool) -> Attended:
        assert isinstance(cache, KeyValue)
        if self.stride is None:
            raise ValueError("Sparse goes on word by word only with a stride; give it one.")
        query, key, value = words
        if not cache.length or query.shape[-2] > 1:
            return super().step(words, cache, bias, weights)
        held = cache.extended(key, value)
        place = torch.arange(held.length, device=key.device)
        here = torch.full((1, 1), held.length - 1, device=key.device)
        shown = self._pattern(held.length, held.length - 1).visible(here, place[None])[0]
        chosen = place[shown]
        near = KeyValue(*(x.index_select(-2, chosen) for x in held))
        attended = over_some(query, near, None, None, chosen, held.length, weights)
        return replace(attended, cache=held)

    def _stride(self, length: int) -> int:
        return self.stride or max(1, round(math.sqrt(length)))

    def _pattern(self, length: int, offset: int) -> _Pattern:
        return _Pattern(self.kind, self._stride(length), self.summary, offset)

    def extra_repr(self) -> str:
        return f"{self.kind}, stride={self.stride}"


@dataclass(frozen=True, eq=False)
class _Pattern(Mask):
    """Who sees whom, for queries that start at place `offset`."""

    kind: Pattern
    stride: int
    summary: int
    offset: int

    def tile(self, tile: Tile) -> Tensor:
        return self.visible(tile.query_index + self.offset, tile.key_index)

    def visible(self, query: Tensor, key: Tensor) -> Tensor:
        """(r, c): whether the words at places `query` (r, 1) see those at `key` (1, c)."""
        if self.kind == "strided":
            distance = (query - key).abs()
            return (distance < self.stride) | (distance % self.stride == 0)
        block = query // self.stride == key // self.stride
        return block | (key % self.stride >= self.stride - self.summary)


def _window(call: AttentionInput, stride: int) -> Attended:
    """The near part of "strided": words less than a stride away."""
    near: Mask = Mask.window(stride - 1, 0 if call.causal else stride - 1)
    near = near if call.lengths is None else near & Mask.lengths(call.lengths)
    return _part(call, call.query, call.key, call.value, near)


def _columns(call: AttentionInput, stride: int) -> Attended:
    """The far part of "strided": words a whole number of strides away, but not oneself.

    Words of equal remainder modulo l become a sentence of their own, (B · l, H, N, D).
    """
    counts = column_counts(sentence_lengths(call), stride)
    others: Mask = Mask.causal(-1)
    others = others if call.causal else others | Mask.window(0, None, 1)
    query, key, value = (in_columns(x, stride) for x in call.tensors)
    part = _each(call, query, key, value, counts, others)
    return from_columns(part, stride, call.key.shape[-2])


def _blocks(call: AttentionInput, stride: int) -> Attended:
    """The near part of "fixed": the words of one's own block, (B · N, H, l, D)."""
    length = call.key.shape[-2]
    blocks = -(-length // stride)
    starts = torch.arange(blocks, device=call.key.device) * stride
    counts = (sentence_lengths(call)[:, None] - starts).clamp(0, stride)
    query, key, value = (cut(x, stride).transpose(1, 2).flatten(0, 1) for x in call.tensors)
    part = _each(call, query, key, value, counts.flatten(), Mask.causal() if call.causal else None)

    def back(x: Tensor) -> Tensor:
        words = x.view(-1, blocks, *x.shape[1:]).transpose(1, 2).flatten(2, 3)
        return words[..., :length, :]

    return moved(part, back)


def _summaries(call: AttentionInput, stride: int, summary: int) -> Attended:
    """The far part of "fixed": the last words of the other blocks (of those before, if causal)."""
    length = call.key.shape[-2]
    place = torch.arange(length, device=call.key.device)
    chosen = place[place % stride >= stride - summary]
    lengths = sentence_lengths(call)
    counts = lengths // stride * summary + (lengths % stride - (stride - summary)).clamp(min=0)
    mask = _OtherBlocks(stride, summary, call.causal) & Mask.lengths(counts)
    key, value = (x.index_select(-2, chosen) for x in (call.key, call.value))
    return _part(call, call.query, key, value, mask)


@dataclass(frozen=True, eq=False)
class _OtherBlocks(Mask):
    """Each word sees the summaries of other blocks, `summary` of each."""

    stride: int
    summary: int
    before: bool

    def tile(self, tile: Tile) -> Tensor:
        mine, theirs = tile.query_index // self.stride, tile.key_index // self.summary
        return theirs < mine if self.before else theirs != mine

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        if not self.before:
            return range(num_keys)
        return range(min(num_keys, (rows.stop - 1) // self.stride * self.summary))


def _part(call: AttentionInput, query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> Attended:
    return attend(
        query, key, value, score=SCORE, mask=mask, dropout=call.dropout, engine="blockwise"
    )


def _each(
    call: AttentionInput,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    counts: Tensor,
    mask: Mask | None,
) -> Attended:
    """Many short sequences of `counts` keys each, some at a time, each whole in one tile."""
    num_heads, length = query.shape[1:3]
    some = max(1, TILE_SCORES // max(1, num_heads * length * length))
    found = []
    for start in range(0, len(query), some):
        few = slice(start, start + some)
        shown: Mask = Mask.lengths(counts[few])
        shown = shown if mask is None else shown & mask
        found.append(_part(call, query[few], key[few], value[few], shown))
    context = torch.cat([part.context for part in found])
    return Attended(context, _logsumexp=torch.cat([part.logsumexp for part in found]))
