"""Several networks as one: the mean of their probabilities at every step.

M networks, B rows, T target tokens, V tokens of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import AttentionMap
from regard.models.batch import Batch, Source


class EnsembleModel(nn.Module):
    """A `StepModel` of networks with one vocabulary; attention maps are those of the first.

    log p(y) = log((1/M) Σ_m p_m(y))
    """

    def __init__(self, networks: Sequence[Any]) -> None:
        super().__init__()
        self.networks: Any = nn.ModuleList(networks)  # they are more than modules
        self.max_length: int = min(network.max_length for network in networks)

    def start(self, source: Source | None, batch: int = 1) -> list[Any]:
        """Return the state of every network before the first token."""
        return [network.start(source, batch) for network in self.networks]

    def step(
        self, state: list[Any], tokens: Tensor, attention: bool = False
    ) -> tuple[Tensor, list[Any], Sequence[AttentionMap]]:
        """Return the log-probabilities (B, V) of the token after `tokens` (B,)."""
        logits, states, maps = [], [], []
        for number, (network, own) in enumerate(zip(self.networks, state, strict=True)):
            logits_BV, after, own_maps = network.step(own, tokens, attention and number == 0)
            logits.append(logits_BV)
            states.append(after)
            maps.append(own_maps)
        return mean_of_probabilities(logits), states, maps[0]

    def select(self, state: list[Any], rows: Tensor) -> list[Any]:
        """Return the states of the given rows."""
        return [
            network.select(own, rows) for network, own in zip(self.networks, state, strict=True)
        ]

    def forward(self, batch: Batch) -> Tensor:
        """Return the log-probabilities (B, T, V) of given targets."""
        return mean_of_probabilities([network(batch) for network in self.networks])

    def features(self, batch: Batch) -> Tensor:
        """Return the first network's features, whose attention is shown."""
        features: Tensor = self.networks[0].features(batch)
        return features

    def maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the first network's maps of given targets."""
        maps: list[AttentionMap] = self.networks[0].maps(batch)
        return maps


def mean_of_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """Return the log of the mean of softmax over several logits (…, V), in float32.

    >>> pair = [torch.tensor([0.0, 0.0]), torch.tensor([0.0, -torch.inf])]
    >>> mean_of_probabilities(pair).exp()
    tensor([0.7500, 0.2500])
    """
    logs = torch.stack([each.log_softmax(-1, dtype=torch.float32) for each in logits])
    return logs.logsumexp(0) - math.log(len(logits))
