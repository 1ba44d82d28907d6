"""What optimizers have in common: groups of parameters with their settings, and a state of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class Optimizer(ABC):
    """Updates parameters by their gradients.

    param_groups    settings of groups of parameters, which are under "params"
    state           what is kept of each parameter between updates, and is in checkpoints
    """

    def __init__(self, groups: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any]) -> None:
        """`groups` have their parameters under "params", and settings other than the defaults."""
        self.param_groups = [{**defaults, **group} for group in groups]
        self.state: dict[Tensor, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Update all parameters that have a gradient."""
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self.update(parameters, group)

    @abstractmethod
    def update(self, parameters: list[Tensor], group: Mapping[str, Any]) -> None:
        """Update the parameters of a group by their gradients."""

    @abstractmethod
    def initial_state(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return the state of a parameter before its first update."""
