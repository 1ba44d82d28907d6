"""Cross-entropy of tokens, for models with `features` and `output`; and the price of spans."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.attention.mechanisms import AdaptiveSpan
from regard.config import Run
from regard.models.sequence_parallel import local_labels
from regard.tasks.text.loss import label_loss


def token_loss(run: Run, network: Any, batch: Any, scale: float) -> Tensor:
    """Return scale · the cross-entropy of all labels, given the tokens before or around them."""
    labels, smoothing = local_labels(network, batch.labels), run.training.label_smoothing
    loss = label_loss(network.features(batch), network.output, labels, smoothing, scale=scale)
    return loss + span_loss(run, network, batch, scale)


def span_loss(run: Run, network: Any, batch: Any, scale: float) -> Tensor | float:
    """Return the price of the heads' mean span (Sukhbaatar 2019, §3), if the settings name one."""
    price = getattr(run.model, "span_penalty", 0.0)
    spans = [m.span for m in network.modules() if isinstance(m, AdaptiveSpan)] if price else []
    share = batch.answers * scale  # of the update's labels
    return price * share * torch.stack(spans).mean() if spans else 0.0
