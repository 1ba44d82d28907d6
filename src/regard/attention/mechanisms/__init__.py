"""Mechanisms of attention: full attention, and those for one sequence that cost less.

A contract test proves the facts of every mechanism in `MECHANISMS`.
"""

from regard.attention.mechanisms.adaptive_span import AdaptiveSpan
from regard.attention.mechanisms.full import Blockwise, Full
from regard.attention.mechanisms.linear import LinearAttention
from regard.attention.mechanisms.linformer import Linformer
from regard.attention.mechanisms.local import Local
from regard.attention.mechanisms.mechanism import Mechanism
from regard.attention.mechanisms.performer import Performer
from regard.attention.mechanisms.reformer import Reformer
from regard.attention.mechanisms.registry import MECHANISMS
from regard.attention.mechanisms.ring import Ring, ring_attention
from regard.attention.mechanisms.sparse import Sparse

__all__ = [
    "MECHANISMS", "AdaptiveSpan", "Blockwise", "Full", "LinearAttention", "Linformer", "Local",
    "Mechanism", "Performer", "Reformer", "Ring", "Sparse", "ring_attention",
]  # fmt: skip
