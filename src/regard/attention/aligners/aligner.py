"""Aligners: attention that remembers where it has looked, one query after another.

An aligner is pure: what it remembers is an argument and a return value.

    memory = aligner.memory(states, lengths)      read once
    state = aligner.begin(memory)                 before the first query
    attended, state = aligner.align(query, memory, state)

Shapes: B sentences, S states to look at, D features of a state, K of a key, Q of a query.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Self

from torch import Tensor, nn

from regard.attention import observe
from regard.attention.attend import Attended
from regard.attention.mask import Mask


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


class Aligner(nn.Module):
    """Base of all aligners; `forward` is `align`, so that `record` and `intervene` see it."""

    sums_to_one: bool = True
    """Whether a query's weights sum to one."""

    def memory(self, states: Tensor, lengths: Tensor) -> Memory:
        """States (B, S, D) as keys and values."""
        return Memory(states, states, lengths)

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
