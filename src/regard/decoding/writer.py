"""What search needs of a model: to start, to step, to pick rows. And the ids all models share.

B rows of a batch (sentences or hypotheses), V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

PAD, UNK, BOS, EOS, MASK = range(5)
"""Ids that mean the same in every vocabulary (they are `regard.text`'s)."""


class Reading(Protocol):
    """What is read: tokens (B, S), padded at the ends, and their lengths (B,), EOS counted."""

    @property
    def tokens(self) -> Tensor:
        """(B, S) ids."""
        ...

    @property
    def lengths(self) -> Tensor:
        """(B,) tokens of each sentence."""
        ...


class Writer(Protocol):
    """A model that writes one token after another. Its state is only handed back to it.

    Search never changes a model: switch its dropout off (`eval()`) before.
    """

    @property
    def max_length(self) -> int:
        """Most tokens it can write, EOS counted."""
        ...

    def start(self, source: Any, batch: int = 1) -> Any:
        """The state before the first token, having read `source` (or `batch` times nothing)."""
        ...

    def step(
        self, state: Any, tokens: Tensor, look: bool = False
    ) -> tuple[Tensor, Any, Sequence[Any]]:
        """Scores (B, V) of the token after `tokens` (B,), the state after them, and the maps."""
        ...

    def select(self, state: Any, rows: Tensor) -> Any:
        """The state of chosen rows (B',) of the batch, in that order; a row may come twice."""
        ...


def device_of(writer: Writer, source: Reading | None) -> torch.device:
    """Where tokens are to be: where the source is, or else the writer's weights."""
    if source is not None:
        return source.tokens.device
    if isinstance(writer, nn.Module):
        for weight in writer.parameters():
            return weight.device
    device = getattr(writer, "device", "cpu")
    return torch.device(device)
