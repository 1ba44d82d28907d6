"""Aligners: attention of recurrent decoders that may remember where it has looked.

>>> import torch
>>> from regard.attention.aligners import Coverage
>>> aligner = Coverage(query_dim=8, key_dim=6, hidden_dim=5)
>>> memory = aligner.memory(torch.randn(2, 4, 6), torch.tensor([4, 3]))
>>> attended, state = aligner.align(torch.randn(2, 8), memory, aligner.begin(memory))
>>> attended.context.shape, attended.weights.shape, state.total.shape
(torch.Size([2, 1, 6]), torch.Size([2, 1, 4]), torch.Size([2, 4]))
"""

from __future__ import annotations

from collections.abc import Callable

from regard.attention.aligners.aligner import Aligner, Memory, Rows
from regard.attention.aligners.content import Content
from regard.attention.aligners.coverage import Coverage
from regard.attention.aligners.graves import Graves
from regard.attention.aligners.location import LocationSensitive
from regard.attention.aligners.monotonic import Monotonic
from regard.attention.scores.additive import Additive

__all__ = [
    "ALIGNERS", "Aligner", "Content", "Coverage", "Graves", "LocationSensitive", "Memory",
    "Monotonic", "Rows",
]  # fmt: skip

ALIGNERS: dict[str, Callable[[int, int, int], Aligner]] = {
    "content": lambda query, key, hidden: Content(Additive(query, key, hidden)),
    "location": LocationSensitive,
    "coverage": Coverage,
    "graves": lambda query, key, hidden: Graves(query),
    "monotonic": Monotonic,
}
"""Every aligner, made of the widths of a query, of a state and of what is hidden in its score.

A new one joins this list, and gets the contract tests with it.
"""
