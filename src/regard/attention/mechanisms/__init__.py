"""Mechanisms of attention: full attention, and those for one sequence that cost less.

A contract test proves the facts of every mechanism in `MECHANISMS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from regard.attention.mechanisms.adaptive_span import AdaptiveSpan
from regard.attention.mechanisms.full import Blockwise, Full
from regard.attention.mechanisms.linear import LinearAttention
from regard.attention.mechanisms.linformer import Linformer
from regard.attention.mechanisms.local import Local
from regard.attention.mechanisms.mechanism import Mechanism
from regard.attention.mechanisms.performer import Performer
from regard.attention.mechanisms.reformer import Reformer
from regard.attention.mechanisms.ring import Ring, ring_attention
from regard.attention.mechanisms.sparse import Sparse

__all__ = [
    "MECHANISMS",
    "AdaptiveSpan",
    "Blockwise",
    "Full",
    "LinearAttention",
    "Linformer",
    "Local",
    "Mechanism",
    "Performer",
    "Reformer",
    "Ring",
    "Sparse",
    "ring_attention",
]

MECHANISMS: dict[str, Callable[[int, int, int], Mechanism]] = {
    "full": lambda length, num_heads, width: Full(),
    "local": lambda length, num_heads, width: Local(_at_most(length, 64)),
    "local+global": lambda length, num_heads, width: Local(_at_most(length, 64), 2),
    "local+dilated": lambda length, num_heads, width: Local(
        _at_most(length, 64), dilation=tuple(2 - head % 2 for head in range(num_heads))
    ),
    "sparse": lambda length, num_heads, width: Sparse("strided", _root(length)),
    "sparse+fixed": lambda length, num_heads, width: Sparse("fixed", _root(length)),
    "blockwise": lambda length, num_heads, width: Blockwise(),
    "linformer": lambda length, num_heads, width: Linformer(length, _at_most(length, 64)),
    "reformer": lambda length, num_heads, width: Reformer(
        width, _at_most(length, 32), 2 * math.ceil(length / _at_most(length, 32) / 2), num_rounds=4
    ),
    "linear": lambda length, num_heads, width: LinearAttention(),
    "performer": lambda length, num_heads, width: Performer(width),
    "ring": lambda length, num_heads, width: Ring(),
    "adaptive-span": lambda length, num_heads, width: AdaptiveSpan(
        num_heads, _at_most(length, 128), ramp=16, first=_at_most(length, 48)
    ),
}
"""(longest sequence, heads, width of a head) ▶ a mechanism; after a + stands a variant of it."""


def _at_most(length: int, usual: int) -> int:
    """The usual size, or a quarter of a short sequence."""
    return max(1, min(usual, length // 4))


def _root(length: int) -> int:
    return max(1, round(math.sqrt(length)))
