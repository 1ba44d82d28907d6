"""Local attention: each word sees its neighbours, and some words see and are seen by all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.attend import Attended, Engine, attend
from regard.attention.engines import arguments
from regard.attention.engines.call import AttentionCall
from regard.attention.engines.tile import Tile
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.columns import (
    column_counts,
    from_columns,
    in_columns,
    sentence_lengths,
)
from regard.attention.mechanisms.full import SCORE, softmax_call
from regard.attention.mechanisms.mechanism import AttentionInput, Declared, Mechanism, NewTokens
from regard.attention.mechanisms.merge import merged
from regard.attention.mechanisms.window_cache import WindowCache, look_back

SHORT = 128  # keys up to which one tile holds all that there is


class Local(Mechanism):
    """softmax over the keys near a word: query i sees the keys i + m·dilation, |m| ≤ window.

    A sliding window, dilated or not (Beltagy 2020, Longformer, §3.1). Exact over what is seen, and
    nothing else is computed: n words cost n·window scores whatever the dilation. (With a bias on
    the scores, those of alibi and relative positions, a dilated window costs n·window·dilation.)

    window         keys seen on each side
    global_tokens  this many first words look at all, and all look at them
    dilation       the gap between the keys that are seen, 1 for none; a sequence gives each head
                   its own, so that some heads look near and others far

    >>> words = torch.zeros(1, 2, 9, 4)  # two heads
    >>> local = Local(1, dilation=(1, 3))
    >>> (local(words, words, words, weights=True).weights[0, :, 4] > 0).int()
    tensor([[0, 0, 0, 1, 1, 1, 0, 0, 0],
            [0, 1, 0, 0, 1, 0, 0, 1, 0]], dtype=torch.int32)
    """

    declared = Declared(
        answer="pattern", masks=frozenset({"lengths", "causal"}), map="keys", sums_to_one=True,
        cost="n·window", growth=1.0, bias=True, dropout=True,
    )  # fmt: skip

    cache_type = WindowCache

    def __init__(
        self, window: int = 64, global_tokens: int = 0, dilation: int | Sequence[int] = 1
    ) -> None:
        super().__init__()
        self.window = arguments.positive("window", window)
        if global_tokens < 0:
            raise ValueError(f"global_tokens must be at least 0, got {global_tokens}.")
        self.global_tokens = global_tokens
        gaps = arguments.whole_numbers("dilation", dilation)
        if not gaps:
            raise ValueError("dilation must be a whole number, or one for each head, got none.")
        self.dilation = tuple(arguments.positive("dilation", gap) for gap in gaps)

    def context(self, call: AttentionInput) -> Tensor:
        if call.key.shape[-2] <= SHORT:
            return _attended(call, self.pattern(call), "auto").context
        if self.global_tokens:
            return self._with_globals(call)
        if call.bias is not None:
            return _attended(call, self.pattern(call), "blockwise").context
        return self._near(call, 0).context

    def seen(self, call: AttentionInput) -> AttentionCall:
        return softmax_call(call, self.pattern(call))

    def pattern(self, call: AttentionInput) -> Mask:
        near: Mask = _Near(self.window, self._gaps(call.query), call.offset)
        if self.global_tokens:
            near = near | _Globals(self.global_tokens, call.offset)
        return near if call.mask is None else near & call.mask

    def _near(self, call: AttentionInput, first: int) -> Attended:
        """Over the near keys, those from place `first` on: context and logsumexp."""
        gaps = self._gaps(call.query)
        if len(set(gaps)) == 1:
            return _near_keys(call, self.window, gaps[0], first)
        device = call.query.device
        parts: list[Attended] = []
        order: list[int] = []
        for gap in sorted(set(gaps)):
            heads = [h for h, own in enumerate(gaps) if own == gap]
            some = torch.tensor(heads, device=device)
            query, key, value = (x.index_select(1, some) for x in call.tensors)
            of_heads = replace(call, query=query, key=key, value=value)
            parts.append(_near_keys(of_heads, self.window, gap, first))
            order += heads
        back = torch.tensor(order, device=device).argsort()
        context = torch.cat([part.context for part in parts], 1).index_select(1, back)
        total = torch.cat([part.logsumexp for part in parts], 1).index_select(1, back)
        return Attended(context, _logsumexp=total)

    def _with_globals(self, call: AttentionInput) -> Tensor:
        """Near keys and global keys apart, merged; then the rows of the global words."""
        if call.bias is not None:
            raise ValueError("Local with global tokens cannot bias its scores; set them to 0.")
        first, offset = min(self.global_tokens, call.key.shape[-2]), call.offset
        far: Mask | None = Mask.causal(offset) if call.causal else None
        if call.lengths is not None:
            shown = Mask.lengths(call.lengths)
            far = shown if far is None else far & shown
        keys, values = call.key[..., :first, :], call.value[..., :first, :]
        of_globals = _by_tiles(call, call.query, keys, values, far)
        context = merged([self._near(call, first), of_globals])
        rows = max(0, first - offset)
        if not rows:
            return context
        everything = attend(
            call.query[..., :rows, :], call.key, call.value, score=SCORE, dropout=call.dropout,
            mask=_rows_of(call, rows),
        )  # fmt: skip
        return torch.cat([everything.context, context[..., rows:, :]], -2)

    def _gaps(self, query: Tensor) -> tuple[int, ...]:
        """The dilation, after a check that it is one number or one for each head."""
        if len(self.dilation) not in (1, query.shape[1]):
            raise ValueError(
                f"dilation must be one number, or one for each of the {query.shape[1]} heads, "
                f"got {self.dilation}."
            )
        return self.dilation

    def empty(self, key: Tensor, value: Tensor) -> Cache:
        return WindowCache(KeyValue(key, value), KeyValue(key, value), 0)

    def held(self, cache: Cache) -> int:
        assert isinstance(cache, WindowCache)
        return cache.first.length + cache.last.length

    def step(self, words: NewTokens, cache: Cache, bias: Bias | None, weights: bool) -> Attended:
        assert isinstance(cache, WindowCache)
        if bias is not None and self.global_tokens:
            raise ValueError("Local with global tokens cannot bias its scores; set them to 0.")
        near = _Near(self.window, self._gaps(words.query), 0)
        grown = cache.extended(words.key, words.value, self.global_tokens)
        attended = look_back(words.query, grown, near.visible, bias, weights)
        return Attended(attended.context, attended.weights, grown.trimmed(near.reach))

    def extra_repr(self) -> str:
        shown = f"window={self.window}, global_tokens={self.global_tokens}"
        gaps = self.dilation if len(self.dilation) > 1 else self.dilation[0]
        return shown if gaps == 1 else f"{shown}, dilation={gaps}"


def _near_keys(call: AttentionInput, window: int, gap: int, first: int) -> Attended:
    """Over the keys i + m·gap, |m| ≤ window, from place `first` on: context and logsumexp."""
    if gap > 1 and not call.offset:  # words that follow a cache cannot be cut into whole columns
        return _in_columns(call, window, gap, first)
    offset = call.offset - first
    mask: Mask = _Near(window, (gap,), offset)
    mask = mask & Mask.causal(offset) if call.causal else mask
    if call.lengths is not None:
        mask = mask & Mask.lengths((call.lengths - first).clamp(min=0))
    key, value = call.key[..., first:, :], call.value[..., first:, :]
    return _by_tiles(call, call.query, key, value, mask)


def _in_columns(call: AttentionInput, window: int, gap: int, first: int) -> Attended:
    """The same with every gap-th word in a column of its own, where the window is dense."""
    before = torch.full((call.key.shape[0],), first, device=call.key.device)
    mask = Mask.window(window, 0 if call.causal else window)
    mask = mask & Mask.lengths(column_counts(sentence_lengths(call), gap))
    mask = mask & _From(column_counts(before, gap)) if first else mask
    query, key, value = (in_columns(x, gap) for x in call.tensors)
    return from_columns(_by_tiles(call, query, key, value, mask), gap, call.key.shape[-2])


def _by_tiles(
    call: AttentionInput, query: Tensor, key: Tensor, value: Tensor, mask: Mask | None
) -> Attended:
    return attend(
        query, key, value, score=SCORE, mask=mask, dropout=call.dropout, engine="blockwise"
    )


def _attended(call: AttentionInput, mask: Mask, engine: Engine) -> Attended:
    return attend(
        call.query, call.key, call.value, score=SCORE, bias=call.bias, mask=mask,
        dropout=call.dropout, engine=engine,
    )  # fmt: skip


def _rows_of(call: AttentionInput, rows: int) -> Mask | None:
    """The call's mask for its first rows alone."""
    mask: Mask | None = None if call.lengths is None else Mask.lengths(call.lengths)
    if not call.causal:
        return mask
    causal = Mask.causal(call.offset)
    return causal if mask is None else causal & mask


@dataclass(frozen=True, eq=False)
class _Globals(Mask):
    """The first `number` words see and are seen by all; queries start at place `offset`."""

    number: int
    offset: int

    def tile(self, tile: Tile) -> Tensor:
        return (tile.key_index < self.number) | (tile.query_index + self.offset < self.number)


@dataclass(frozen=True, eq=False)
class _Near(Mask):
    """Keys at most `count` gaps away, a whole number of them; queries start at place `offset`.

    gaps  one for all heads, or one for each
    """

    count: int
    gaps: tuple[int, ...]
    offset: int

    @property
    def reach(self) -> int:
        """How many words away the farthest key is."""
        return self.count * max(self.gaps)

    def visible(self, distance: Tensor) -> Tensor:
        """(r, c), or (H, r, c): which distances (r, c) are seen."""
        distance = distance.abs()
        if self.gaps == (1,):
            return distance <= self.count
        gap = torch.tensor(self.gaps, device=distance.device)
        gap = gap[:, None, None] if len(self.gaps) > 1 else gap
        return (distance <= self.count * gap) & (distance % gap == 0)

    def tile(self, tile: Tile) -> Tensor:
        return self.visible(tile.query_index + self.offset - tile.key_index)

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        start = max(0, rows.start + self.offset - self.reach)
        stop = min(num_keys, rows.stop + self.offset + self.reach)
        return range(min(start, num_keys), max(stop, 0))


@dataclass(frozen=True, eq=False)
class _From(Mask):
    """Each sentence shows its keys from place `start` (B,) on."""

    start: Tensor

    def tile(self, tile: Tile) -> Tensor:
        return tile.key_index >= tile.per_batch(self.start.to(tile.device), "start")
