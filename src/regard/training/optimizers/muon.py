"""Muon (Jordan 2024): momentum whose matrices are made orthogonal before they are applied.

With G the gradient of a matrix, the momentum M and its Nesterov form N,

    M ← μ M + (1 − μ) G,    N = μ M + (1 − μ) G,    W ← W − η (0.2 c √d · orthogonal(N) + λ W)

so that every direction of a matrix is learned at the same speed, also those whose gradient is
small. With d the longer side, 0.2 √d · orthogonal(N) has elements of root mean square 0.2, as an
update of Adam has; `c` is the factor of the settings.

The orthogonal matrices take half as long as the gradients of a small network. So the matrices take
turns: with a period P, each is updated after every P-th gradient, by P times as much, which learns
nearly as well (docs/log.md). Matrices of one shape are made orthogonal together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from regard.training.optimizers.optimizer import Optimizer
from regard.training.processes.sharded_tensors import as_part_of, gathered, own_rows

COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Of the quintic of Newton and Schulz that brings singular values near 1 soonest (Jordan 2024)."""
ITERATIONS = 5
ADAM_SIZE = 0.2  # root mean square of an element of Adam's update, divided by the learning rate


class Muon(Optimizer):
    """Updates of matrices (…, m, n).

    The state of a matrix: `momentum`, and `turn` (it is updated when the period divides it).
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        lr: float,
        weight_decay: float = 0.0,
        *,
        momentum: float = 0.95,
        factor: float = 1.0,
        period: int = 1,
        wholes: Sequence[Tensor] | None = None,
    ) -> None:
        """`wholes` are the matrices that the parameters are parts of, if these are cut."""
        self._wholes = dict(zip(map(id, parameters), wholes or parameters, strict=True))
        settings = {"momentum": momentum, "factor": factor, "period": period}
        group = {"params": list(parameters)}
        super().__init__([group], {"lr": lr, "weight_decay": weight_decay, **settings})
        for number, parameter in enumerate(parameters):
            self.state[parameter] = {**self.initial_state(parameter), "turn": torch.tensor(number)}

    def initial_state(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return momentum and turn before the first update."""
        return {"momentum": torch.zeros_like(parameter), "turn": torch.tensor(0)}

    def update(self, parameters: list[Tensor], group: Mapping[str, Any]) -> None:
        """Take the gradients into the momenta, and update the matrices whose turn it is."""
        states = [self.state[parameter] for parameter in parameters]
        gradients: list[Tensor] = [parameter.grad for parameter in parameters]  # type: ignore[misc]
        momenta = [state["momentum"] for state in states]
        torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
        turn = [n for n, state in enumerate(states) if state["turn"] % group["period"] == 0]
        torch._foreach_add_([state["turn"] for state in states], 1)
        if turn:
            now = [gradients[n] for n in turn], [momenta[n] for n in turn]
            ahead = torch._foreach_lerp(*now, group["momentum"])
            self._apply([parameters[n] for n in turn], ahead, group)

    def _apply(
        self, parameters: list[Tensor], ahead: Sequence[Tensor], group: Mapping[str, Any]
    ) -> None:
        """Update the parameters by their momenta, made orthogonal."""
        rate = group["lr"] * group["period"]
        torch._foreach_mul_(parameters, 1 - rate * group["weight_decay"])
        wholes = [self._wholes[id(parameter)] for parameter in parameters]
        for shape, indices in _by_shape(wholes).items():
            momenta = [gathered(as_part_of(ahead[n], wholes[n])) for n in indices]
            matrices = torch.cat([momentum.reshape(-1, *shape) for momentum in momenta])
            updates = orthogonalize(matrices).split([_count(wholes[n]) for n in indices])
            length = rate * ADAM_SIZE * group["factor"] * max(shape) ** 0.5
            for index, update in zip(indices, updates, strict=True):
                own = own_rows(update.view(wholes[index].shape), wholes[index])
                parameters[index].sub_(own, alpha=length)


def suits(parameter: Tensor) -> bool:
    """Whether a parameter is a matrix, or several, of a useful size."""
    return parameter.ndim > 1 and min(parameter.shape[-2:]) >= 16


def orthogonalize(matrices_Bmn: Tensor) -> Tensor:
    """U Vᵀ of each U S Vᵀ (B, m, n), roughly: most singular values are between 0.7 and 1.2.

    >>> matrix = torch.randn(1, 24, 32, generator=torch.Generator().manual_seed(0))
    >>> bool((torch.linalg.svdvals(orthogonalize(matrix)) < 1.3).all())
    True
    """
    tall = matrices_Bmn.shape[1] > matrices_Bmn.shape[2]
    size = torch.linalg.vector_norm(matrices_Bmn, dim=(1, 2), keepdim=True)
    x: Tensor = (matrices_Bmn.mT if tall else matrices_Bmn) / (size + 1e-7)
    x = _iterate_gram(x) if x.shape[2] >= 2 * x.shape[1] else _iterate(x)
    return x.mT if tall else x


def _iterate(x_Bmn: Tensor) -> Tensor:
    """X ← (a + b G + c G²) X with G = X Xᵀ, several times."""
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = torch.bmm(x_Bmn, x_Bmn.mT)
        polynomial = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        x_Bmn = torch.baddbmm(x_Bmn, polynomial, x_Bmn, beta=a)
    return x_Bmn


def _iterate_gram(x_Bmn: Tensor) -> Tensor:
    """The same for n ≫ m, in half the time, by products of square matrices alone.

    With P = a + b G + c G², the next G is P G P, and the result the product of all P, times X.
    """
    a, b, c = COEFFICIENTS
    gram = torch.bmm(x_Bmn, x_Bmn.mT)
    diagonal = a * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    factors: list[Tensor] = []
    for _ in range(ITERATIONS):
        if factors:
            gram = torch.bmm(torch.bmm(factors[-1], gram), factors[-1])
        factors.append(torch.baddbmm(gram, gram, gram, beta=b, alpha=c) + diagonal)
    return torch.bmm(reduce(torch.bmm, factors), x_Bmn)  # the factors commute


def _by_shape(parameters: Sequence[Tensor]) -> dict[tuple[int, int], list[int]]:
    """Indices of the parameters by the shape of their matrices."""
    shapes: dict[tuple[int, int], list[int]] = {}
    for index, parameter in enumerate(parameters):
        shapes.setdefault((parameter.shape[-2], parameter.shape[-1]), []).append(index)
    return shapes


def _count(parameter: Tensor) -> int:
    """The number of matrices."""
    return parameter.shape[:-2].numel()
