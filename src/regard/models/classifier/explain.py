"""Four explanations of a decision, each of the chosen label's margin over the mean of all logits.

B examples, N tokens, C channels, T ids or time steps, D features, L labels.

attention     (B, N)  pooling weights, averaged over heads
contribution  (B, N)  each token's term of the margin: they sum to the margin up to biases
occlusion     (B, N)  decrease of the margin when a token's input is set to zero
gradient      (B, T) or (B, C, T)  integrated gradients (Sundararajan 2017, §3) from a zero input:
              x_i ∫ ∂margin(a·x)/∂x_i da; they sum to the margin less that of the zero input

The first two explain by encoder states, which mix information of all tokens; the last two by the
input itself, so that they locate a cause.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from regard.models.classifier.batch import LabeledBatch
from regard.models.classifier.inputs import TimeInput
from regard.models.classifier.network import ClassifierModel, Decision, centered

Method = Literal["gradient", "occlusion", "contribution", "attention"]
METHODS: tuple[Method, ...] = get_args(Method)

GRADIENT_STEPS = 16
MAX_ROWS = 256  # occluded copies per forward pass


def explain(
    network: ClassifierModel,
    batch: LabeledBatch,
    decision: Decision,
    labels: Tensor,
    method: Method,
) -> Tensor:
    """The explanation of `labels` (B,) by a method."""
    match method:
        case "gradient":
            return gradient(network, batch, labels)
        case "occlusion":
            return occlusion(network, batch, labels)
        case "contribution":
            return contribution(decision, labels)
        case _:
            return attention(decision)


def attention(decision: Decision) -> Tensor:
    """(B, N): pooling weights, averaged over heads."""
    return decision.maps.weights.mean(1)


def contribution(decision: Decision, labels: Tensor) -> Tensor:
    """(B, N): each token's term of the margin of `labels` (B,)."""
    terms = decision.maps.contributions
    return _select(centered(terms), labels[:, None].expand(terms.shape[:2]))


@torch.no_grad()
def occlusion(network: ClassifierModel, batch: LabeledBatch, labels: Tensor) -> Tensor:
    """(B, N): decrease of the margin of `labels` (B,) when each token is set to zero in turn."""
    embedded = network.front.embed(batch)
    margins = _select(network.margins(embedded, batch.lengths), labels)
    num_tokens = _num_tokens(network, embedded)
    decrease = embedded.new_zeros(len(embedded), num_tokens)
    for row in range(len(embedded)):
        for start in range(0, num_tokens, MAX_ROWS):
            tokens = range(start, min(start + MAX_ROWS, num_tokens))
            copies = embedded[row].repeat(len(tokens), *[1] * (embedded.ndim - 1))
            for copy, token in zip(copies, tokens, strict=True):
                _occlude(network, copy, token)
            lengths = batch.lengths[row].expand(len(tokens))
            occluded = _select(network.margins(copies, lengths), labels[row].expand(len(tokens)))
            decrease[row, start : start + len(tokens)] = margins[row] - occluded
    return decrease


def gradient(
    network: ClassifierModel, batch: LabeledBatch, labels: Tensor, steps: int = GRADIENT_STEPS
) -> Tensor:
    """(B, T) of texts, (B, C, T) of series: integrated gradients of the margin of `labels` (B,)."""
    with torch.no_grad():
        embedded = network.front.embed(batch)
    total = torch.zeros_like(embedded)
    with torch.enable_grad():
        for step in range(steps):  # midpoint rule over s, a = s²: norms are steep near zero
            s = (step + 0.5) / steps
            point = (embedded * s**2).requires_grad_()
            margin = _select(network.margins(point, batch.lengths), labels).sum()
            total += 2 * s * torch.autograd.grad(margin, point)[0]
    product = embedded * total / steps
    return product.sum(-1) if batch.values.ndim == 2 else product


def _select(values: Tensor, labels: Tensor) -> Tensor:
    """(…,): the values (…, L) of labels (…,)."""
    return values.gather(-1, labels[..., None])[..., 0]


def _num_tokens(network: ClassifierModel, embedded: Tensor) -> int:
    front = network.front
    if isinstance(front, TimeInput):
        return -(-embedded.shape[-1] // front.patch)
    return embedded.shape[1]  # channels of a series, tokens of a text


def _occlude(network: ClassifierModel, embedded: Tensor, token: int) -> None:
    """Set a token's input to zero, in place."""
    if isinstance(network.front, TimeInput):
        patch = network.front.patch
        embedded[:, token * patch : (token + 1) * patch] = 0.0
    else:
        embedded[token] = 0.0
