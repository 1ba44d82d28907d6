"""x + dropout(W₂ dropout(f(W₁ norm(x)))) as one function, or norm(x + …) with post-norm.

f is relu or gelu. With relu only its output is needed on the way back, and dropout's factor there
is multiplied into the products.

N tokens of all sentences, D features, F inner features.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.dropout import scale_of
from regard.models.blocks.operations import (
    LinearParameters,
    Normed,
    dropped,
    factors,
    linear_backward,
    normed,
    normed_backward,
    residual_sum,
)


class FeedForwardBlock(torch.autograd.Function):
    """The feed-forward sub-layer with its residual connection, norm and dropout."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        pre: bool,
        eps: float,
        p: float,
        inner_p: float,
        gelu: bool,
        norm_weight: Tensor,
        norm_bias: Tensor,
        *linear: Tensor,
    ) -> Tensor:
        """`linear`: weight and bias of the inner, then of the outer linear map."""
        inner, outer = LinearParameters(*linear[:2]), LinearParameters(*linear[2:])
        x_ND = x.flatten(0, -2)
        before = normed(x_ND, norm_weight, norm_bias, eps) if pre else None
        y_ND = x_ND if before is None else before.output
        input_NF = inner(y_ND)
        hidden_NF = torch.nn.functional.gelu(input_NF) if gelu else input_NF.clamp_min_(0)
        kept_NF = factors(hidden_NF, inner_p)
        if kept_NF is not None:
            hidden_NF.mul_(kept_NF)
        output = outer(hidden_NF)
        kept_ND = factors(output, p)
        total = residual_sum(x_ND, output, kept_ND)
        after = None if pre else normed(total, norm_weight, norm_bias, eps)
        ctx.save_for_backward(
            *(before or after or ()), y_ND, hidden_NF, kept_ND, norm_weight, norm_bias, *linear,
            *((input_NF, kept_NF) if gelu else (None, None)),
        )  # fmt: skip
        ctx.pre, ctx.scale = pre, 1.0 if kept_NF is None or gelu else scale_of(inner_p)
        return (total if after is None else after.output).view(x.shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *saved, w1, b1, w2, b2, input_NF, kept_NF = ctx.saved_tensors
        *norm, y_ND, hidden_NF, kept_ND, norm_weight, norm_bias = saved
        d_total = d_output = gradients[0].flatten(0, -2)
        done = Normed(*norm)
        if not ctx.pre:
            d_total, d_gain, d_shift = normed_backward(d_output, done, norm_weight, norm_bias)
        d_hidden, d_w2, d_b2 = linear_backward(
            dropped(d_total, kept_ND), hidden_NF, LinearParameters(w2, b2)
        )
        backward = torch.ops.aten
        if input_NF is None:
            backward.threshold_backward.grad_input(d_hidden, hidden_NF, 0, grad_input=d_hidden)
        else:
            d_hidden = backward.gelu_backward(dropped(d_hidden, kept_NF), input_NF)
        d_x, d_w1, d_b1 = linear_backward(d_hidden, y_ND, LinearParameters(w1, b1), ctx.scale)
        if ctx.pre:
            d_x, d_gain, d_shift = normed_backward(d_x, done, norm_weight, norm_bias)
        d_x = d_x.add_(d_total).view(gradients[0].shape)
        return d_x, *[None] * 5, d_gain, d_shift, d_w1, d_b1, d_w2, d_b2
