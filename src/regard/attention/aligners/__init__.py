"""Aligners: attention of recurrent decoders, with a state that depends on earlier steps.

>>> import torch
>>> from regard.attention.aligners import Coverage
>>> aligner = Coverage(query_dim=8, key_dim=6, hidden_dim=5)
>>> memory = aligner.memory(torch.randn(2, 4, 6), torch.tensor([4, 3]))
>>> attended, state = aligner.align(torch.randn(2, 8), memory, aligner.initial_state(memory))
>>> attended.context.shape, attended.weights.shape, state.total.shape
(torch.Size([2, 1, 6]), torch.Size([2, 1, 4]), torch.Size([2, 4]))
"""

from regard.attention.aligners.aligner import Aligner, AlignerState, Content, Memory
from regard.attention.aligners.energy import Coverage, LocationSensitive
from regard.attention.aligners.graves import Graves
from regard.attention.aligners.monotonic import Monotonic

__all__ = [
    "Aligner",
    "AlignerState",
    "Content",
    "Coverage",
    "Graves",
    "LocationSensitive",
    "Memory",
    "Monotonic",
]
