"""Several writers that write together, as one: itself a writer, so every search takes it.

M members, B rows, V tokens of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.decoding.writer import Writer, device_of
from regard.errors import InputError


class Ensemble:
    """The mean of the members' probabilities: p(v) = 1/M · Σ_m p_m(v).

    Members share their vocabularies and read the same source; the kinds of model may differ.
    """

    def __init__(self, members: Sequence[Writer]) -> None:
        if not members:
            raise InputError("an ensemble has no members; give at least one model.")
        self.members = tuple(members)
        self.max_length = min(member.max_length for member in members)
        self.device = device_of(members[0], None)

    def start(self, source: Any, batch: int = 1) -> tuple[Any, ...]:
        """The states of all members."""
        return tuple(member.start(source, batch) for member in self.members)

    def step(
        self, state: tuple[Any, ...], tokens: Tensor, look: bool = False
    ) -> tuple[Tensor, tuple[Any, ...], list[Any]]:
        """Logarithms of the mean probabilities (B, V); the maps of all members in their order."""
        logs, states = [], []
        maps: list[Any] = []
        for member, own in zip(self.members, state, strict=True):
            logits_BV, own, looked = member.step(own, tokens, look)
            logs.append(logits_BV.float().log_softmax(-1))
            states.append(own)
            maps.extend(looked)
        sizes = {log.shape[1] for log in logs}
        if len(sizes) > 1:
            raise InputError(
                f"the models of an ensemble have vocabularies of {sorted(sizes)} tokens; "
                "take models with the same tokeniser."
            )
        mean_BV = torch.stack(logs).logsumexp(0) - math.log(len(logs))
        return mean_BV, tuple(states), maps

    def select(self, state: tuple[Any, ...], rows: Tensor) -> tuple[Any, ...]:
        """The chosen rows of every member's state."""
        return tuple(
            member.select(own, rows) for member, own in zip(self.members, state, strict=True)
        )
