"""Sparse attention in two parts of about √n keys each, strided or fixed (Child 2019).

    strided   near: the last l tokens;           far: every l-th token before (or after)
    fixed     near: the tokens of one's block;   far: the last c tokens of the other blocks

The two parts are computed apart, each without any score that is masked, and merged.

Shapes: B sentences, H heads, N blocks of l tokens, D features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from regard.attention.attend import Attended
from regard.attention.engines import arguments
from regard.attention.engines.blockwise import TILE_SCORES
from regard.attention.engines.tile import Tile
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import SHORT, AttentionInput, Mechanism, NewTokens
from regard.attention.mechanisms.parts import (
    column_counts,
    from_columns,
    in_blocks,
    in_columns,
    merge,
    reordered,
    sentence_lengths,
    tiled,
)
from regard.attention.mechanisms.window_cache import attend_to_some
from regard.config.mechanisms import SparseSettings

Pattern = Literal["strided", "fixed"]


class Sparse(Mechanism):
    """softmax over near keys and a regular choice of far ones.

    pattern  "strided" or "fixed"
    stride   l, near √n for the promised cost; None takes √n of each call, which does not work for
             decoding step by step
    summary  c: the last tokens of a block that other blocks attend to ("fixed")
    """

    facts = SparseSettings.facts
    limits_keys = True

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
        stride = self._stride(call.num_keys)
        short = max(SHORT, stride)
        if call.num_keys <= short or call.offset:  # after a cache there are no whole blocks
            return self.context_of_pattern(call, short)
        if self.kind == "strided":
            return merge([_window(call, stride), _columns(call, stride)])
        return merge([_blocks(call, stride), _summaries(call, stride, self.summary)])

    def pattern(self, call: AttentionInput) -> Mask:
        own: Mask = self._pattern(call.num_keys, call.offset)
        return own if call.mask is None else own & call.mask

    def _decode(
        self, tokens: NewTokens, cache: Cache, bias: Bias | None, weights: bool
    ) -> Attended:
        assert isinstance(cache, KeyValue)
        if self.stride is None:
            self._refuse("needs a stride to decode step by step", "give it one")
        query, key, value = tokens
        if not cache.length or query.shape[-2] > 1:
            return super()._decode(tokens, cache, bias, weights)
        extended = cache.extended(key, value)
        positions = torch.arange(extended.length, device=key.device)
        last = torch.full((1, 1), extended.length - 1, device=key.device)
        pattern = self._pattern(extended.length, extended.length - 1)
        chosen = positions[pattern.visible(last, positions[None])[0]]
        keys = KeyValue(*(x.index_select(-2, chosen) for x in extended))
        attended = attend_to_some(query, keys, None, None, chosen, extended.length, weights)
        return replace(attended, cache=extended)

    def _stride(self, length: int) -> int:
        return self.stride or max(1, round(math.sqrt(length)))

    def _pattern(self, length: int, offset: int) -> _Pattern:
        return _Pattern(self.kind, self._stride(length), self.summary, offset)

    def extra_repr(self) -> str:
        return f"{self.kind}, stride={self.stride}"


@dataclass(frozen=True, eq=False)
class _Pattern(Mask):
    """The keys that queries from position `offset` on attend to."""

    kind: Pattern
    stride: int
    summary: int
    offset: int

    def tile(self, tile: Tile) -> Tensor:
        return self.visible(tile.query_index + self.offset, tile.key_index)

    def visible(self, query: Tensor, key: Tensor) -> Tensor:
        """(r, c): True where the position `query` (r, 1) attends to `key` (1, c)."""
        if self.kind == "strided":
            distance = (query - key).abs()
            return (distance < self.stride) | (distance % self.stride == 0)
        block = query // self.stride == key // self.stride
        return block | (key % self.stride >= self.stride - self.summary)


def _window(call: AttentionInput, stride: int) -> Attended:
    """The near part of "strided": tokens less than a stride away."""
    near: Mask = Mask.window(stride - 1, 0 if call.causal else stride - 1)
    near = near if call.lengths is None else near & Mask.lengths(call.lengths)
    return tiled(call, *call.tensors, near)


def _columns(call: AttentionInput, stride: int) -> Attended:
    """The far part of "strided": tokens a whole number of strides away, without the token itself.

    Tokens of equal remainder modulo l become a sequence of their own, (B · l, H, N, D).
    """
    counts = column_counts(sentence_lengths(call), stride)
    others: Mask = Mask.causal(-1)
    others = others if call.causal else others | Mask.window(0, None, 1)
    query, key, value = (in_columns(x, stride) for x in call.tensors)
    part = _each(call, query, key, value, counts, others)
    return from_columns(part, stride, call.num_keys)


def _blocks(call: AttentionInput, stride: int) -> Attended:
    """The near part of "fixed": the tokens of one's own block, (B · N, H, l, D)."""
    length = call.num_keys
    blocks = -(-length // stride)
    starts = torch.arange(blocks, device=call.key.device) * stride
    counts = (sentence_lengths(call)[:, None] - starts).clamp(0, stride)
    query, key, value = (in_blocks(x, stride).transpose(1, 2).flatten(0, 1) for x in call.tensors)
    part = _each(call, query, key, value, counts.flatten(), Mask.causal() if call.causal else None)

    def back(x: Tensor) -> Tensor:
        tokens = x.view(-1, blocks, *x.shape[1:]).transpose(1, 2).flatten(2, 3)
        return tokens[..., :length, :]

    return reordered(part, back)


def _summaries(call: AttentionInput, stride: int, summary: int) -> Attended:
    """The far part of "fixed": the last tokens of the other blocks (of earlier ones, if causal)."""
    position = torch.arange(call.num_keys, device=call.key.device)
    chosen = position[position % stride >= stride - summary]
    lengths = sentence_lengths(call)
    counts = lengths // stride * summary + (lengths % stride - (stride - summary)).clamp(min=0)
    mask = _OtherBlocks(stride, summary, call.causal) & Mask.lengths(counts)
    key, value = (x.index_select(-2, chosen) for x in (call.key, call.value))
    return tiled(call, call.query, key, value, mask)


@dataclass(frozen=True, eq=False)
class _OtherBlocks(Mask):
    """Each token attends to the summaries of other blocks, `summary` tokens of each."""

    stride: int
    summary: int
    earlier: bool

    def tile(self, tile: Tile) -> Tensor:
        query_block, key_block = tile.query_index // self.stride, tile.key_index // self.summary
        return key_block < query_block if self.earlier else key_block != query_block

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        if not self.earlier:
            return range(num_keys)
        return range(min(num_keys, (rows.stop - 1) // self.stride * self.summary))


def _each(
    call: AttentionInput,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    counts: Tensor,
    mask: Mask | None,
) -> Attended:
    """Many short sequences of `counts` keys each, several at a time, each in one tile."""
    num_heads, length = query.shape[1:3]
    step = max(1, TILE_SCORES // max(1, num_heads * length * length))
    parts = []
    for start in range(0, len(query), step):
        rows = slice(start, start + step)
        visible: Mask = Mask.lengths(counts[rows])
        visible = visible if mask is None else visible & mask
        parts.append(tiled(call, query[rows], key[rows], value[rows], visible))
    context = torch.cat([part.context for part in parts])
    return Attended(context, _logsumexp=torch.cat([part.logsumexp for part in parts]))
