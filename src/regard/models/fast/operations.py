"""Layer norm, dropout and linear maps as the blocks compute them: forward, and backward by hand.

N tokens of all sentences, D features.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from regard.dropout import current_stream, dropout_mask, scale_of

LOG2_E = math.log2(math.e)
SAFE = 2.0**64


def are_safe(sums: Tensor) -> bool:
    """Whether sums of powers are far from overflow and underflow, so that no maximum is needed."""
    return bool(((sums < SAFE) & (sums > 1 / SAFE)).all())


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


class DropoutMask(NamedTuple):
    """Dropout of a tensor: its mask, 1 where an element stays, and the factor of these.

    The factor is multiplied into the next product. Without dropout the mask is None.
    """

    mask: Tensor | None
    scale: float


def draw_mask(like: Tensor, p: float) -> DropoutMask:
    """Draw which elements of `like` dropout leaves."""
    stream = current_stream()
    if not p or stream is None:
        return DropoutMask(None, 1.0)
    return DropoutMask(dropout_mask(stream, like, p), scale_of(p))


def residual_sum(x: Tensor, output: Tensor, of_output: DropoutMask) -> Tensor:
    """x + dropout(output), in the memory of `output`."""
    if of_output.mask is None:
        return output.add_(x)
    return torch.addcmul(x, output, of_output.mask, value=of_output.scale, out=output)


def masked(x: Tensor, mask: Tensor | None) -> Tensor:
    """The elements that dropout leaves, without their factor."""
    return x if mask is None else x * mask


class LinearParameters(NamedTuple):
    """Weight (out, in) and bias (out,) of a linear map."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x_ND: Tensor, scale: float = 1.0) -> Tensor:
        """scale · W x + b of each row."""
        return torch.addmm(self.bias, x_ND, self.weight.T, alpha=scale)


def linear_backward(
    d_output: Tensor,
    x_ND: Tensor,
    linear: LinearParameters,
    scale: float = 1.0,
    output_scale: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x (N, D), W and b of scale · W x + b.

    The gradient of the output is output_scale · `d_output`.
    """
    both, d_bias = scale * output_scale, column_sums(d_output)
    return (
        torch.addmm(x_ND, d_output, linear.weight, beta=0, alpha=both),
        torch.addmm(linear.weight, d_output.T, x_ND, beta=0, alpha=both),
        d_bias if output_scale == 1.0 else d_bias.mul_(output_scale),
    )


def column_sums(x_ND: Tensor) -> Tensor:
    """The sum of the rows (D,), as a product: half the time of `sum`."""
    return (x_ND.new_ones(1, len(x_ND)) @ x_ND)[0]
