"""Aligners: attention of one query after another, with a state; their base, and the stateless one.

An aligner is pure: its state is an argument and a return value.

    memory = aligner.memory(states, lengths)      once per source
    state = aligner.initial_state(memory)         before the first query
    attended, state = aligner.align(query, memory, state)

`intervene` changes the returned context and maps, not the weights that the state stores.

Shapes: B sentences, T queries, S encoder states, D features of a state, K of a key, Q of a query.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import torch
from torch import Tensor, nn

from regard.attention.attend import Attended, attend
from regard.attention.engines.precision import as_given
from regard.attention.inspection import observe
from regard.attention.masks.mask import Mask
from regard.attention.scores.additive import Additive
from regard.attention.scores.score import Score


@dataclass(frozen=True, eq=False)
class AlignerState:
    """State of an aligner; the first dimension of all its tensors is the sentence."""

    def select(self, rows: Tensor) -> Self:
        """Return the state of the given sentences, in that order (beam search reorders)."""
        chosen = {f.name: getattr(self, f.name).index_select(0, rows) for f in fields(self)}
        return replace(self, **chosen)


Aligned = tuple[Attended, AlignerState]
"""The context and weights of a query, and the state after it."""


@dataclass(frozen=True, eq=False)
class Memory(AlignerState):
    """The encoder states to attend to.

    values   (B, S, D)
    keys     (B, S, K)  the values, projected once if the aligner projects them
    lengths  (B,)       number of states of each sentence
    """

    values: Tensor
    keys: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Mask:
        """Mask of the padding."""
        return Mask.lengths(self.lengths)

    @cached_property
    def padding(self) -> Tensor:
        """(B, S): True at padding."""
        return padding_of(self.values, self.lengths)

    @cached_property
    def empty(self) -> Tensor | None:
        """(B, 1): True for a sentence without states; None if there is no such sentence."""
        empty = (self.lengths <= 0)[:, None]
        return empty if bool(empty.any()) else None


def padding_of(states: Tensor, lengths: Tensor) -> Tensor:
    """(B, S): True from each sentence's length on, for states (B, S, D)."""
    return torch.arange(states.shape[1], device=lengths.device) >= lengths[:, None]


class Aligner(nn.Module):
    """Base of all aligners; `forward` is the computation of `align`."""

    sums_to_one: bool = True
    """Whether a query's weights sum to one (unless the sentence is empty)."""
    moves_forward: bool = False
    """Whether a query never attends before the position of the previous query."""

    def memory(self, states: Tensor, lengths: Tensor) -> Memory:
        """Return keys and values of states (B, S, D); padding becomes zero."""
        states = states.masked_fill(padding_of(states, lengths)[..., None], 0.0)
        return Memory(states, self.keys(states), lengths)

    def keys(self, states: Tensor) -> Tensor:
        """(B, S, K): the keys of states (B, S, D)."""
        return states

    def initial_state(self, memory: Memory) -> AlignerState:
        """Return the state before the first query."""
        return AlignerState()

    def align(
        self, query: Tensor, memory: Memory, state: AlignerState, *, offset: int = 0
    ) -> Aligned:
        """Return the context (B, 1, D) of query (B, Q) and the next state.

        `offset` is the query's absolute position, for `record` and `intervene`.
        """
        with observe.describe_calls(observe.CallInfo("cross", offset)):
            output: Aligned = self(query, memory, state)
        return output

    @abstractmethod
    def forward(self, query: Tensor, memory: Memory, state: AlignerState) -> Aligned:
        """Compute `align`."""


def softmax_weights(scores: Tensor, memory: Memory) -> Tensor:
    """(B, S): softmax of finite scores (B, S) without padding; zeros for an empty sentence."""
    hidden = memory.padding if memory.empty is None else memory.padding & ~memory.empty
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
    return weights if memory.empty is None else weights.masked_fill(memory.empty, 0.0)


def attended(
    weights: Tensor, memory: Memory, energies: Tensor | None = None, equation: str = ""
) -> Attended:
    """context = Σ_s weights_s · value_s, of weights (B, S), passed to the observers.

    The energies (B, S) and their equation are what the weights were made of.
    """
    weights = weights[:, None].to(memory.values.dtype)
    with as_given(weights.device):
        context = torch.bmm(weights, memory.values)
    energies = None if energies is None else energies[:, None]
    source = observe.GivenWeights(weights, memory.values, energies, equation)
    return Attended(observe.observe_call(context, source, "cross").context, weights)


class Content(Aligner):
    """context = Σ_s softmax_s(score(query, key_s)) value_s, independent of earlier queries.

    With `Additive` it is Bahdanau's aligner (2015, §3.1); with `Dot`, `General` or `Additive`
    Luong's global attention by dot, general and concat (2015, §3.1). Keys of an additive score
    are projected once, by `memory`.
    """

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score
        # in a tuple, so that torch does not register the shared parameters twice
        self._key_score = (score.on_projected() if isinstance(score, Additive) else score,)

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.score.key_proj(states) if isinstance(self.score, Additive) else states
        return keys

    def forward(self, query: Tensor, memory: Memory, state: AlignerState) -> Aligned:
        """Attend from query (B, Q) or, since there is no state, from several at once (B, T, Q)."""
        queries = query if query.ndim == 3 else query[:, None]
        output = attend(
            queries, memory.keys, memory.values, score=self._key_score[0], mask=memory.mask
        )
        return output, state
