"""The cache of mechanisms with a limited reach: the last tokens, and the first few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.attend import Attended, attend
from regard.attention.engines.call import AttentionCall
from regard.attention.inspection import observe
from regard.attention.layers.cache import Cache, KeyValue
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import SCALED_DOT, SOFTMAX, Mechanism

Near = Callable[[Tensor], Tensor]  # distances ▶ True where near enough to be attended to


@dataclass(frozen=True, eq=False)
class WindowCache:
    """The first tokens (the global ones) and the last ones, of `length` tokens read."""

    first: KeyValue
    last: KeyValue
    length: int

    def select(self, rows: Tensor) -> WindowCache:
        return replace(self, first=self.first.select(rows), last=self.last.select(rows))

    def extended(self, key: Tensor, value: Tensor, num_first: int) -> WindowCache:
        """With new tokens at the end; the first `num_first` of all tokens are never dropped."""
        room = max(0, num_first - self.first.length)
        first = self.first
        if room:
            first = first.extended(key[..., :room, :], value[..., :room, :])
            key, value = key[..., room:, :], value[..., room:, :]
        last = self.last.extended(key, value)
        added = first.length - self.first.length + last.length - self.last.length
        return WindowCache(first, last, self.length + added)

    def trimmed(self, reach: int) -> WindowCache:
        """Without the tokens that are too far back for the next one."""
        key, value = (x[..., max(0, x.shape[-2] - reach) :, :] for x in self.last)
        return replace(self, last=KeyValue(key, value))

    @property
    def key_value(self) -> KeyValue:
        """The cached keys and values in their order."""
        return self.first.extended(*self.last)

    @property
    def positions(self) -> Tensor:
        """The positions of the cached tokens."""
        device = self.last.key.device
        first = torch.arange(self.first.length, device=device)
        last = torch.arange(self.length - self.last.length, self.length, device=device)
        return torch.cat([first, last])


class WindowMechanism(Mechanism):
    """Base of the mechanisms with a limited reach."""

    limits_keys = True
    cache_type = WindowCache

    def empty(self, key: Tensor, value: Tensor) -> WindowCache:
        return WindowCache(KeyValue(key, value), KeyValue(key, value), 0)

    def cached_length(self, cache: Cache) -> int:
        assert isinstance(cache, WindowCache)
        return cache.first.length + cache.last.length


def attend_back(
    query: Tensor, cache: WindowCache, near: Near, bias: Bias | None, weights: bool
) -> Attended:
    """Attend causally from the last tokens (B, H, t, D) to those `near` them, and to the first.

    `near` maps distances (t, c) to (t, c), or (H, t, c) for each head. The cache holds the keys and
    values of the new tokens too. Observers see a map over all tokens that were read.
    """
    key = cache.positions
    row = torch.arange(cache.length - query.shape[-2], cache.length, device=query.device)[:, None]
    first = (key < cache.first.length) | (row < cache.first.length)
    keep = Mask.keep((key <= row) & (first | near(row - key)))
    return attend_to_some(query, cache.key_value, bias, keep, key, cache.length, weights)


def attend_to_some(
    query: Tensor,
    keys: KeyValue,
    bias: Bias | None,
    mask: Mask | None,
    positions: Tensor,
    length: int,
    weights: bool,
) -> Attended:
    """Attend to some of `length` tokens, those at `positions`; the map is over all of them."""
    with observe.suppress_observers():
        context = attend(query, *keys, score=SCALED_DOT, bias=bias, mask=mask).context
    if not weights and not observe.observers():
        return Attended(context)
    with observe.inside_regard():
        prepared = SCALED_DOT.prepare(query, keys.key)
        some = AttentionCall(prepared, keys.value, bias, mask, SOFTMAX, 0.0).weights()
        every = some.new_zeros(*some.shape[:-1], length).index_copy(-1, positions, some)
        value = keys.value.new_zeros(*keys.value.shape[:-2], length, keys.value.shape[-1])
        given = observe.GivenWeights(every, value.index_copy(-2, positions, keys.value))
        observed = observe.observe_call(context, given, "causal")
        return Attended(observed.context, observed.weights() if weights else None)
