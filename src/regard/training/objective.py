"""What the training loop asks of any kind of model: batches, a loss, a look at the rest.

A kind whose batches, loss or development set differ from text's brings its own; the loop, the
optimiser, checkpoints and averaging are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.mechanisms import AdaptiveSpan
from regard.config import ClassifierSettings, HandwritingSettings, Run
from regard.folder import Tokenizers
from regard.models.sequence_parallel import local_labels
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
    labels = local_labels(network, batch.labels)
    return label_loss(network.features(batch), network.output, labels, smoothing, scale=scale)


def next_point(network: Any, batch: Any, smoothing: float, scale: float) -> Tensor:
    """−log density of every point of written lines, given those before it."""
    loss: Tensor = network.loss(batch)
    return loss * scale


def with_spans(objective: Objective, price: float) -> Objective:
    """The objective, and `price` for every word of the heads' mean span (Sukhbaatar 2019, §3)."""

    def priced(network: Any, batch: Any, smoothing: float, scale: float) -> Tensor:
        spans = [part.span for part in network.modules() if isinstance(part, AdaptiveSpan)]
        share = batch.answers * scale  # this part of the update's batch
        loss = objective(network, batch, smoothing, scale)
        return loss + price * share * torch.stack(spans).mean() if spans else loss

    return priced


def right_label(network: Any, batch: Any, smoothing: float, scale: float) -> Tensor:
    """Cross-entropy of every example's label."""
    scores = network(batch).float()
    loss = F.cross_entropy(scores, batch.labels, reduction="sum", label_smoothing=smoothing)
    return loss * scale


def objective_of(run: Run, tokenizers: Tokenizers) -> Objective:
    """What the run's kind of model is trained for."""
    if isinstance(run.model, HandwritingSettings):
        return next_point
    objective = right_label if isinstance(run.model, ClassifierSettings) else next_token
    price = getattr(run.model, "span_penalty", 0.0)
    return with_spans(objective, price) if price else objective
