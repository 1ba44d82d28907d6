"""Layer norm, dropout and linear maps as the blocks compute them: forward, and backward by hand.

N tokens of all sentences, D features.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.dropout import current_stream, dropout_factors


class Normed(NamedTuple):
    """Layer norm of x (N, D), with what its backward pass needs."""

    x: Tensor
    output: Tensor
    mean: Tensor
    rstd: Tensor


def normed(x_ND: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Normed:
    """γ (x − mean) / √(variance + ε) + β."""
    return Normed(x_ND, *torch.native_layer_norm(x_ND, weight.shape, weight, bias, eps))


def normed_backward(
    d_output: Tensor, done: Normed, weight: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x (N, D), γ and β (D,)."""
    gradients: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.native_layer_norm_backward(
        d_output, done.x, weight.shape, done.mean, done.rstd, weight, bias, [True, True, True]
    )
    return gradients


def factors(like: Tensor, p: float) -> Tensor | None:
    """Return the factors of dropout for `like`, None without dropout."""
    stream = current_stream()
    return dropout_factors(stream, like, p) if p and stream is not None else None


def residual_sum(x: Tensor, output: Tensor, kept: Tensor | None) -> Tensor:
    """x + dropout(output), in the memory of `output`."""
    if kept is None:
        return output.add_(x)
    return torch.addcmul(x, output, kept, out=output)


def dropped(gradient: Tensor, kept: Tensor | None) -> Tensor:
    """The gradient before dropout."""
    return gradient if kept is None else gradient * kept


class LinearParameters(NamedTuple):
    """Weight (out, in) and bias (out,) of a linear map."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x_ND: Tensor) -> Tensor:
        """W x + b of each row."""
        return torch.addmm(self.bias, x_ND, self.weight.T)


def linear_backward(
    d_output: Tensor, x_ND: Tensor, linear: LinearParameters, scale: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Return scale · the gradients of x (N, D), weight and bias of `linear`."""
    weight = linear.weight
    if scale == 1.0:
        return d_output @ weight, d_output.T @ x_ND, d_output.sum(0)
    return (
        torch.addmm(x_ND, d_output, weight, beta=0, alpha=scale),
        torch.addmm(weight, d_output.T, x_ND, beta=0, alpha=scale),
        d_output.sum(0).mul_(scale),
    )
