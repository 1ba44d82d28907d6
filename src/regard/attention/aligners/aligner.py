"""Aligners: attention that remembers where it has looked, one query after another.

An aligner is pure: what it remembers is an argument and a return value.

    memory = aligner.memory(states, lengths)      read once
    state = aligner.begin(memory)                 before the first query
    attended, state = aligner.align(query, memory, state)

What `intervene` changes is what is seen; an aligner remembers where it meant to look.

Shapes: B sentences, S states to look at, D features of a state, K of a key, Q of a query.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended
from regard.attention.engines.precision import as_given
from regard.attention.inspection import observe
from regard.attention.masks.mask import Mask


@dataclass(frozen=True, eq=False)
class Rows:
    """A value whose tensors all have the sentences of a batch as their first dimension."""

    def select(self, rows: Tensor) -> Self:
        """The same of chosen sentences, in that order (beam search reorders)."""
        chosen = {f.name: getattr(self, f.name).index_select(0, rows) for f in fields(self)}
        return replace(self, **chosen)


@dataclass(frozen=True, eq=False)
class Memory(Rows):
    """What may be looked at.

    values   (B, S, D)
    keys     (B, S, K)  the values, projected once if the aligner projects them
    lengths  (B,)       how many of the S are there
    """

    values: Tensor
    keys: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Mask:
        """Only what is there is looked at."""
        return Mask.lengths(self.lengths)

    @cached_property
    def absent(self) -> Tensor:
        """(B, S): True where there is no state."""
        return absent(self.values, self.lengths)

    @cached_property
    def empty(self) -> Tensor | None:
        """(B, 1): True where a sentence has nothing to look at; None if that is nowhere so."""
        empty = (self.lengths <= 0)[:, None]
        return empty if bool(empty.any()) else None


def absent(states: Tensor, lengths: Tensor) -> Tensor:
    """(B, S): True from each sentence's length on, of states (B, S, D)."""
    return torch.arange(states.shape[1], device=lengths.device) >= lengths[:, None]


class Aligner(nn.Module):
    """Base of all aligners; `forward` is `align`, so that `record` and `intervene` see it."""

    sums_to_one: bool = True
    """Whether a query's weights sum to one (in a sentence that has something to look at)."""
    moves_forward: bool = False
    """Whether a query never looks before the place where the query before it looked."""

    def memory(self, states: Tensor, lengths: Tensor) -> Memory:
        """States (B, S, D) as keys and values; what stands beyond the lengths becomes zero."""
        states = states.masked_fill(absent(states, lengths)[..., None], 0.0)
        return Memory(states, self.keys(states), lengths)

    def keys(self, states: Tensor) -> Tensor:
        """(B, S, K): what of the states is compared with queries."""
        return states

    def begin(self, memory: Memory) -> Rows:
        """What is remembered before the first query."""
        return Rows()

    def align(
        self, query: Tensor, memory: Memory, state: Rows, *, offset: int = 0
    ) -> tuple[Attended, Rows]:
        """One look: query (B, Q) gives context (B, 1, D) and what is remembered after it.

        `offset` is the query's absolute position, for those who look.
        """
        with observe.at(observe.Place("cross", offset)):
            answer: tuple[Attended, Rows] = self(query, memory, state)
        return answer

    @abstractmethod
    def forward(self, query: Tensor, memory: Memory, state: Rows) -> tuple[Attended, Rows]:
        """The look itself, at the place that `align` said."""


def softmax_weights(scores: Tensor, memory: Memory) -> Tensor:
    """(B, S): softmax of finite scores (B, S) over what is there; zeros where there is nothing."""
    hidden = memory.absent if memory.empty is None else memory.absent & ~memory.empty
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
    return weights if memory.empty is None else weights.masked_fill(memory.empty, 0.0)


def weighted(weights: Tensor, memory: Memory) -> Attended:
    """context = Σ_s weights_s · value_s, of weights (B, S), shown to those who look."""
    given = weights[:, None].to(memory.values.dtype)
    with as_given(given.device):
        context = torch.bmm(given, memory.values)
    context = observe.shown(context, observe.GivenWeights(given, memory.values), "cross")
    return Attended(context, given)
