"""The protocol between search and models: `start`, `step`, `select`.

B rows of a batch (sentences or hypotheses), S source tokens, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn


class SourceBatch(Protocol):
    """Source sentences: ids padded at the end, and the length of each, EOS included."""

    @property
    def tokens(self) -> Tensor:
        """(B, S) ids."""
        ...

    @property
    def lengths(self) -> Tensor:
        """(B,) number of tokens of each sentence."""
        ...


class StepModel(Protocol):
    """A model that generates one token after another.

    Its state is opaque to search and never changed in place. Search does not change the model
    either: call `eval()` first to switch dropout off.
    """

    @property
    def max_length(self) -> int:
        """Maximum number of generated tokens, EOS included."""
        ...

    def start(self, source: Any, batch: int = 1) -> Any:
        """Encode `source` and return the state before the first token.

        Without a source, return the state of `batch` empty rows.
        """
        ...

    def step(
        self, state: Any, tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, Any, Sequence[Any]]:
        """Return logits (B, V) for the token after `tokens` (B,), the new state, and the maps.

        The first tokens are BOS. With `attention`, the maps are this step's rows of every layer.
        """
        ...

    def select(self, state: Any, rows: Tensor) -> Any:
        """Return the state of the given rows (B',), in that order; a row may occur twice."""
        ...


def device_of(model: StepModel, source: SourceBatch | None) -> torch.device:
    """Return the device of the source or, without one, of the model's weights."""
    if source is not None:
        return source.tokens.device
    if isinstance(model, nn.Module):
        for weight in model.parameters():
            return weight.device
    return torch.device(getattr(model, "device", "cpu"))
