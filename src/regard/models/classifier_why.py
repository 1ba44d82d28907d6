"""What decided: four answers to it, each of how far the chosen label's score leads the mean.

B examples, N tokens, C channels, T ids or moments, D features, L labels. Three answer for tokens
(N words, patches or channels), one for the input itself.

attention     the pooling's weights, heads averaged: where the last step looked
contribution  what each token brought to the lead: Σ_n parts_n is the lead itself (but for biases)
occlusion     how much of the lead is lost when a token's input says nothing (is zero)
gradient      integrated gradients (Sundararajan 2017, §3) from an input that says nothing:
              x_i ∫ ∂lead(a·x)/∂x_i da; they sum to the lead less that of no input

The first two speak of the encoder's states, which hold something of every token; the last two of
what was given, and they are what a cause is found by.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from regard.models.classifier import ClassifierModel, Decision, centred
from regard.models.classifier_batch import Labelled
from regard.models.classifier_front import Moments

Why = Literal["gradient", "occlusion", "contribution", "attention"]
WHYS: tuple[Why, ...] = ("gradient", "occlusion", "contribution", "attention")

STEPS = 16  # of the integral
ROWS = 256  # occluded copies that are read together


def attention(decision: Decision) -> Tensor:
    """(B, N): the pooling's weights, the mean of its heads."""
    return decision.maps.weights.mean(1)


def contribution(decision: Decision, labels: Tensor) -> Tensor:
    """(B, N): each token's part of the lead of `labels` (B,)."""
    return _chosen(
        centred(decision.maps.parts), labels[:, None].expand(decision.maps.parts.shape[:2])
    )


@torch.no_grad()
def occlusion(network: ClassifierModel, batch: Labelled, labels: Tensor) -> Tensor:
    """(B, N): how much of the lead of `labels` (B,) goes when each token is silenced in turn."""
    entered = network.front.entered(batch)
    whole = _chosen(network.leads(entered, batch.lengths), labels)
    count = _tokens(network, entered)
    lost = entered.new_zeros(len(entered), count)
    for row in range(len(entered)):
        for start in range(0, count, ROWS):
            places = range(start, min(start + ROWS, count))
            copies = entered[row].repeat(len(places), *[1] * (entered.ndim - 1))
            for copy, place in zip(copies, places, strict=True):
                _silence(network, copy, place)
            lengths = batch.lengths[row].expand(len(places))
            left = _chosen(network.leads(copies, lengths), labels[row].expand(len(places)))
            lost[row, start : start + len(places)] = whole[row] - left
    return lost


def gradient(
    network: ClassifierModel, batch: Labelled, labels: Tensor, steps: int = STEPS
) -> Tensor:
    """(B, T) of texts, (B, C, T) of series: integrated gradients of the lead of `labels` (B,)."""
    with torch.no_grad():
        entered = network.front.entered(batch)
    total = torch.zeros_like(entered)
    with torch.enable_grad():
        for step in range(steps):  # the midpoint rule over s, a = s²: norms are steep near zero
            s = (step + 0.5) / steps
            point = (entered * s**2).requires_grad_()
            lead = _chosen(network.leads(point, batch.lengths), labels).sum()
            total += 2 * s * torch.autograd.grad(lead, point)[0]
    found = entered * total / steps
    return found.sum(-1) if batch.values.ndim == 2 else found


def _chosen(values: Tensor, labels: Tensor) -> Tensor:
    """(…,): of values (…, L) those of the labels (…,)."""
    return values.gather(-1, labels[..., None])[..., 0]


def _tokens(network: ClassifierModel, entered: Tensor) -> int:
    front = network.front
    if isinstance(front, Moments):
        return -(-entered.shape[-1] // front.patch)
    return entered.shape[1]  # channels of a series, words of a text


def _silence(network: ClassifierModel, entered: Tensor, place: int) -> None:
    """Set a token's input to zero, in place."""
    if isinstance(network.front, Moments):
        patch = network.front.patch
        entered[:, place * patch : (place + 1) * patch] = 0.0
    else:
        entered[place] = 0.0
