"""The one protocol that all writing models speak; `decoding/` needs nothing else of them.

B sentences (or hypotheses), T target tokens, V tokens of the vocabulary, D features.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor, nn

from regard.attention import AttentionMap
from regard.models.batch import Batch, Source


class Writer(Protocol):
    """A model that writes one token after another, having read a source or nothing.

    `State` is the model's own and is only handed back; it is never changed in place.
    """

    max_length: int
    """Most tokens it can write."""
    output: nn.Linear
    """The final linear layer: features (…, D) to a score for each token (…, V)."""

    def start(self, source: Source | None, batch: int = 1) -> Any:
        """The state before the first token, having read `source` (or `batch` times nothing)."""
        ...

    def step(
        self, state: Any, tokens: Tensor, look: bool = False
    ) -> tuple[Tensor, Any, list[AttentionMap]]:
        """Scores (B, V) of the token after `tokens` (B,), the state after them, and the maps.

        The first tokens are BOS. With `look`, the maps hold this step's rows of every layer.
        """
        ...

    def select(self, state: Any, rows: Tensor) -> Any:
        """The state of chosen rows (B',) of the batch, in that order."""
        ...

    def features(self, batch: Batch) -> Tensor:
        """(B, T, D): what the final layer sees at every target token, all steps at once."""
        ...

    def forward(self, batch: Batch) -> Tensor:
        """Scores (B, T, V) at every target token: output(features(batch))."""
        ...

    def maps(self, batch: Batch) -> list[AttentionMap]:
        """Every head's attention while the given targets are written, all rows together."""
        ...
