"""Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), on torch's fused kernels.

With g the gradient, m and v its moments, t the number of the update and λ the weight decay,

    m ← β₁ m + (1 − β₁) g,    v ← β₂ v + (1 − β₂) g²
    w ← w − η m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + ε)

AdamW subtracts η λ w from w before, Adam adds λ w to g. Updates and state are those of
`torch.optim`, to the bit; but constructing an optimizer of `torch.optim` imports torch's compiler,
which takes longer than all else at the start of a training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.training.optimizers.optimizer import Optimizer

FUSED = ("cpu", "cuda")
"""Devices whose updates are one pass over memory; on others they are several."""


class AdamW(Optimizer):
    """Updates of parameters; the weight decay is apart from the gradient.

    The state of a parameter: `step` (updates so far), `exp_avg` (m) and `exp_avg_sq` (v).
    """

    _fused = staticmethod(torch._fused_adamw_)

    def __init__(
        self,
        groups: Sequence[Mapping[str, Any]],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(
            groups, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    def initial_state(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return the moments before the first update."""
        device = parameter.device if parameter.device.type in FUSED else None
        first, second = torch.zeros_like(parameter), torch.zeros_like(parameter)
        step = torch.zeros((), dtype=torch.float32, device=device)
        return {"step": step, "exp_avg": first, "exp_avg_sq": second}

    def update(self, parameters: list[Tensor], group: Mapping[str, Any]) -> None:
        """Update the parameters of a group by their gradients."""
        for parameter in parameters:
            if not self.state.get(parameter):
                self.state[parameter] = self.initial_state(parameter)
        states = [self.state[parameter] for parameter in parameters]
        steps, first, second = (
            [state[name] for state in states] for name in ("step", "exp_avg", "exp_avg_sq")
        )
        gradients: list[Tensor] = [parameter.grad for parameter in parameters]  # type: ignore[misc]
        torch._foreach_add_(steps, 1)
        beta1, beta2 = group["betas"]
        if parameters[0].device.type in FUSED:
            self._fused(
                parameters,
                gradients,
                first,
                second,
                [],
                steps,
                lr=group["lr"],
                beta1=beta1,
                beta2=beta2,
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
            )
            return
        gradients = self._decay(parameters, gradients, group["lr"], group["weight_decay"])
        torch._foreach_lerp_(first, gradients, 1 - beta1)
        torch._foreach_mul_(second, beta2)
        torch._foreach_addcmul_(second, gradients, gradients, 1 - beta2)
        for parameter, step, m, v in zip(parameters, steps, first, second, strict=True):
            bias1, bias2 = 1 - beta1 ** float(step), 1 - beta2 ** float(step)
            size = (v.sqrt() / bias2**0.5).add_(group["eps"])
            parameter.addcdiv_(m, size, value=-group["lr"] / bias1)

    def _decay(
        self, parameters: list[Tensor], gradients: list[Tensor], rate: float, decay: float
    ) -> list[Tensor]:
        """Apply the weight decay; return the gradients to learn from."""
        torch._foreach_mul_(parameters, 1 - rate * decay)
        return gradients


class Adam(AdamW):
    """Updates of parameters; the weight decay is part of the gradient."""

    _fused = staticmethod(torch._fused_adam_)

    def _decay(
        self, parameters: list[Tensor], gradients: list[Tensor], rate: float, decay: float
    ) -> list[Tensor]:
        return list(torch._foreach_add(gradients, parameters, alpha=decay))
