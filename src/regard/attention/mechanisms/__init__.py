"""Mechanisms of self-attention: full, and those that cost less.

Each stands by its name in `MECHANISMS`; what it declares of itself is proved by one test for all.
"""

from regard.attention.mechanisms.adaptive_span import AdaptiveSpan
from regard.attention.mechanisms.family import MECHANISMS
from regard.attention.mechanisms.full import Blockwise, Full
from regard.attention.mechanisms.local import Local
from regard.attention.mechanisms.mechanism import Declared, Mechanism
from regard.attention.mechanisms.sparse import Sparse

__all__ = [
    "MECHANISMS", "AdaptiveSpan", "Blockwise", "Declared", "Full", "Local", "Mechanism", "Sparse",
]  # fmt: skip
