"""What the training loop asks of any kind of model: batches, a loss, a look at the rest.

A kind whose batches, loss or development set differ from text's brings its own; the loop, the
optimiser, checkpoints and averaging are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from regard.config import Run
from regard.folder import Tokenizers
from regard.training.loss import label_loss
from regard.training.place import Place


class Lesson(Protocol):
    """One batch to learn from."""

    @property
    def answers(self) -> int:
        """How many answers the loss is a mean of."""
        ...

    @property
    def sizes(self) -> Tensor:
        """(B,): how much work each row is."""
        ...

    def rows(self, rows: Tensor) -> Self:
        """The batch of chosen rows."""
        ...

    def to(self, device: torch.device) -> Self:
        """The same, there."""
        ...


class Lessons(Protocol):
    """All batches, in an order that depends on the seed alone."""

    def __len__(self) -> int: ...

    def take(self, place: Place) -> tuple[Any, Place]:
        """The batch at a place, and the place after it."""
        ...

    def passed(self, place: Place) -> float:
        """How many epochs are over at a place."""
        ...


Objective = Callable[[Any, Any, float, float], Tensor]
"""(network, batch, smoothing, scale) ▶ the loss summed over the batch's answers, times scale."""


def next_token(network: Any, batch: Any, smoothing: float, scale: float) -> Tensor:
    """Cross-entropy of every label, given what stands before it (or around it)."""
    return label_loss(network.features(batch), network.output, batch.labels, smoothing, scale=scale)


def objective_of(run: Run, tokenizers: Tokenizers) -> Objective:
    """What the run's kind of model is trained for."""
    return next_token
