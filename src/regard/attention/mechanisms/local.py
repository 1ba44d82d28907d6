"""Local attention: each token attends to its neighbors, and global tokens to and from all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.attend import Attended, attend_part
from regard.attention.engines import arguments
from regard.attention.engines.tile import Tile
from regard.attention.layers.cache import Cache
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import SHORT, AttentionInput, NewTokens
from regard.attention.mechanisms.parts import (
    column_counts,
    from_columns,
    in_columns,
    merge,
    sentence_lengths,
    tiled,
)
from regard.attention.mechanisms.window_cache import WindowCache, WindowMechanism, attend_back
from regard.config.mechanisms import LocalSettings


class Local(WindowMechanism):
    """softmax over near keys: query i attends to the keys i + m·dilation, |m| ≤ window.

    A sliding window, dilated or not (Beltagy 2020, Longformer, §3.1). Exact over those keys, and
    no other score is computed: n tokens cost n·window scores whatever the dilation. (With a bias on
    the scores, of alibi or relative positions, a dilated window costs n·window·dilation.)

    window         keys attended to on each side
    global_tokens  the number of first tokens that attend to all, and all attend to
    dilation       the gap between the keys attended to, 1 for none; a sequence gives one for each
                   head, so that some heads attend to near and others to far keys

    >>> heads = torch.zeros(1, 2, 9, 4)
    >>> local = Local(1, dilation=(1, 3))
    >>> (local(heads, heads, heads, weights=True).weights[0, :, 4] > 0).int()
    tensor([[0, 0, 0, 1, 1, 1, 0, 0, 0],
            [0, 1, 0, 0, 1, 0, 0, 1, 0]], dtype=torch.int32)
    """

    facts = LocalSettings.facts

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
        if call.num_keys <= SHORT or (call.bias is not None and not self.global_tokens):
            return self.context_of_pattern(call)
        return self._with_globals(call) if self.global_tokens else self._near(call, 0).context

    def pattern(self, call: AttentionInput) -> Mask:
        near: Mask = _Near(self.window, self._gaps(call.query), call.offset)
        if self.global_tokens:
            near = near | _Globals(self.global_tokens, call.offset)
        return near if call.mask is None else near & call.mask

    def _near(self, call: AttentionInput, first: int) -> Attended:
        """Context and logsumexp over the near keys from position `first` on."""
        gaps = self._gaps(call.query)
        if len(set(gaps)) == 1:
            return _near_keys(call, self.window, gaps[0], first)
        device = call.query.device
        parts: list[Attended] = []
        order: list[int] = []
        for gap in sorted(set(gaps)):
            heads = [h for h, own in enumerate(gaps) if own == gap]
            index = torch.tensor(heads, device=device)
            query, key, value = (x.index_select(1, index) for x in call.tensors)
            of_heads = replace(call, query=query, key=key, value=value)
            parts.append(_near_keys(of_heads, self.window, gap, first))
            order += heads
        back = torch.tensor(order, device=device).argsort()
        context = torch.cat([part.context for part in parts], 1).index_select(1, back)
        total = torch.cat([part.logsumexp for part in parts], 1).index_select(1, back)
        return Attended(context, _logsumexp=total)

    def _with_globals(self, call: AttentionInput) -> Tensor:
        """Near keys and global keys apart, merged; then the rows of the global tokens."""
        self._check_globals(call.bias)
        first, offset = min(self.global_tokens, call.key.shape[-2]), call.offset
        far: Mask | None = Mask.causal(offset) if call.causal else None
        if call.lengths is not None:
            shown = Mask.lengths(call.lengths)
            far = shown if far is None else far & shown
        keys, values = call.key[..., :first, :], call.value[..., :first, :]
        of_globals = tiled(call, call.query, keys, values, far)
        context = merge([self._near(call, first), of_globals])
        rows = max(0, first - offset)
        if not rows:
            return context
        everything = attend_part(
            call.query[..., :rows, :], call.key, call.value, dropout=call.dropout, mask=far
        )
        return torch.cat([everything.context, context[..., rows:, :]], -2)

    def _gaps(self, query: Tensor) -> tuple[int, ...]:
        """The dilation, checked against the number of heads."""
        if len(self.dilation) not in (1, query.shape[1]):
            raise ValueError(
                f"dilation must be one number, or one for each of the {query.shape[1]} heads, "
                f"got {self.dilation}."
            )
        return self.dilation

    def _decode(
        self, tokens: NewTokens, cache: Cache, bias: Bias | None, weights: bool
    ) -> Attended:
        assert isinstance(cache, WindowCache)
        self._check_globals(bias)
        near = _Near(self.window, self._gaps(tokens.query), 0)
        extended = cache.extended(tokens.key, tokens.value, self.global_tokens)
        attended = attend_back(tokens.query, extended, near.visible, bias, weights)
        return Attended(attended.context, attended.weights, extended.trimmed(near.reach))

    def _check_globals(self, bias: Bias | None) -> None:
        if bias is not None and self.global_tokens:
            self._refuse("with global tokens cannot bias its scores", "set global_tokens to 0")

    def extra_repr(self) -> str:
        shown = f"window={self.window}, global_tokens={self.global_tokens}"
        gaps = self.dilation if len(self.dilation) > 1 else self.dilation[0]
        return shown if gaps == 1 else f"{shown}, dilation={gaps}"


def _near_keys(call: AttentionInput, window: int, gap: int, first: int) -> Attended:
    """Context and logsumexp over the keys i + m·gap, |m| ≤ window, from position `first` on."""
    if gap > 1 and not call.offset:  # tokens that follow a cache cannot be cut into whole columns
        return _within_columns(call, window, gap, first)
    offset = call.offset - first
    mask: Mask = _Near(window, (gap,), offset)
    mask = mask & Mask.causal(offset) if call.causal else mask
    if call.lengths is not None:
        mask = mask & Mask.lengths((call.lengths - first).clamp(min=0))
    key, value = call.key[..., first:, :], call.value[..., first:, :]
    return tiled(call, call.query, key, value, mask)


def _within_columns(call: AttentionInput, window: int, gap: int, first: int) -> Attended:
    """The same with every gap-th token in one column, in which the window is dense."""
    before = torch.full((call.key.shape[0],), first, device=call.key.device)
    mask = Mask.window(window, 0 if call.causal else window)
    mask = mask & Mask.lengths(column_counts(sentence_lengths(call), gap))
    mask = mask & _From(column_counts(before, gap)) if first else mask
    query, key, value = (in_columns(x, gap) for x in call.tensors)
    return from_columns(tiled(call, query, key, value, mask), gap, call.num_keys)


@dataclass(frozen=True, eq=False)
class _Globals(Mask):
    """The first `count` tokens attend to all, and all to them; queries start at `offset`."""

    count: int
    offset: int

    def tile(self, tile: Tile) -> Tensor:
        return (tile.key_index < self.count) | (tile.query_index + self.offset < self.count)


@dataclass(frozen=True, eq=False)
class _Near(Mask):
    """Keys a whole number of gaps away, at most `count`; queries start at position `offset`.

    gaps  one for all heads, or one for each
    """

    count: int
    gaps: tuple[int, ...]
    offset: int

    @property
    def reach(self) -> int:
        """The distance of the farthest key."""
        return self.count * max(self.gaps)

    def visible(self, distance: Tensor) -> Tensor:
        """(r, c), or (H, r, c): True where a distance (r, c) is attended to."""
        distance = distance.abs()
        if self.gaps == (1,):
            return distance <= self.count
        gap = torch.tensor(self.gaps, device=distance.device)
        gap = gap[:, None, None] if len(self.gaps) > 1 else gap
        return (distance <= self.count * gap) & (distance % gap == 0)

    def tile(self, tile: Tile) -> Tensor:
        return self.visible(tile.query_index + self.offset - tile.key_index)

    def key_range(self, rows: range, num_queries: int, num_keys: int) -> range:
        near = Mask.window(self.reach, self.reach, self.offset)
        return near.key_range(rows, num_queries, num_keys)


@dataclass(frozen=True, eq=False)
class _From(Mask):
    """The keys of each sentence from position `start` (B,) on."""

    start: Tensor

    def tile(self, tile: Tile) -> Tensor:
        return tile.key_index >= tile.per_batch(self.start.to(tile.device), "start")
