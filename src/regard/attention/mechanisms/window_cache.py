"""The cache of mechanisms that look back only so far: the last words, and the first few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.attend import Attended, attend
from regard.attention.engines.call import Call
from regard.attention.inspection import observe
from regard.attention.layers.cache import KeyValue
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.full import SCORE, SOFTMAX

Near = Callable[[Tensor], Tensor]  # distances ▶ whether they are near enough to be seen


@dataclass(frozen=True, eq=False)
class Recent:
    """The first words (those that all may look at) and the last ones, of `length` words read."""

    first: KeyValue
    last: KeyValue
    length: int

    def select(self, rows: Tensor) -> Recent:
        """The cache of chosen sentences of the batch, in that order."""
        return replace(self, first=self.first.select(rows), last=self.last.select(rows))

    def extended(self, key: Tensor, value: Tensor, kept_first: int) -> Recent:
        """With new words at the end; the first `kept_first` of all words stay for good."""
        room = max(0, kept_first - self.first.length)
        first = self.first
        if room:
            first = first.extended(key[..., :room, :], value[..., :room, :])
            key, value = key[..., room:, :], value[..., room:, :]
        last = self.last.extended(key, value)
        grown = self.length + first.length - self.first.length + last.length - self.last.length
        return Recent(first, last, grown)

    def trimmed(self, reach: int) -> Recent:
        """Without the words that are too far back for the next one."""
        key, value = (x[..., max(0, x.shape[-2] - reach) :, :] for x in self.last)
        return replace(self, last=KeyValue(key, value))

    @property
    def held(self) -> KeyValue:
        """The words that are held, in their order."""
        return self.first.extended(*self.last)

    @property
    def places(self) -> Tensor:
        """Where the held words stand."""
        device = self.last.key.device
        first = torch.arange(self.first.length, device=device)
        last = torch.arange(self.length - self.last.length, self.length, device=device)
        return torch.cat([first, last])


def look_back(
    query: Tensor, cache: Recent, near: Near, bias: Bias | None, weights: bool
) -> Attended:
    """Attend causally from the last words (B, H, t, D) to those `near` them, and to the first.

    `near` says of distances (t, c) which are seen: (t, c), or (H, t, c) for each head. The cache
    holds the keys and values of the new words too. Those who look see a map over all words that
    were read.
    """
    held, place = cache.held, cache.places
    here = torch.arange(cache.length - query.shape[-2], cache.length, device=query.device)[:, None]
    first = (place < cache.first.length) | (here < cache.first.length)
    keep = Mask.keep((place <= here) & (first | near(here - place)))
    return over_some(query, held, bias, keep, place, cache.length, weights)


def over_some(
    query: Tensor,
    some: KeyValue,
    bias: Bias | None,
    mask: Mask | None,
    place: Tensor,
    length: int,
    weights: bool,
) -> Attended:
    """Attend to some of `length` words, those at `place`; the map is over all of them."""
    with observe.suppress_observers():
        context = attend(query, *some, score=SCORE, bias=bias, mask=mask).context
    if not weights and not observe.observers():
        return Attended(context)
    with observe.inside_regard():
        call = Call(SCORE.form(query, some.key), some.value, bias, mask, SOFTMAX, 0.0)
        found = call.weights()
        everywhere = found.new_zeros(*found.shape[:-1], length).index_copy(-1, place, found)
        value = some.value.new_zeros(*some.value.shape[:-2], length, some.value.shape[-1])
        given = observe.GivenWeights(everywhere, value.index_copy(-2, place, some.value))
        observed = observe.observe_call(context, given, "causal")
        return Attended(observed.context, observed.weights() if weights else None)
