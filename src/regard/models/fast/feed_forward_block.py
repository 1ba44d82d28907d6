"""x + dropout(W₂ dropout(f(W₁ norm(x)))) as one function, or norm(x + …) with post-norm.

f is relu or gelu; with relu only its output is needed on the way back. The factors of dropout are
multiplied into the products.

N tokens of all sentences, D features, F inner features.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.models.fast.operations import (
    LinearParameters,
    Normed,
    draw_mask,
    linear_backward,
    masked,
    normed,
    normed_backward,
    residual_sum,
)
from regard.models.transformer import FeedForward, Residual


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
        of_hidden = draw_mask(hidden_NF, inner_p)
        if of_hidden.mask is not None:
            hidden_NF.mul_(of_hidden.mask)
        output = outer(hidden_NF, of_hidden.scale)
        of_output = draw_mask(output, p)
        total = residual_sum(x_ND, output, of_output)
        after = None if pre else normed(total, norm_weight, norm_bias, eps)
        ctx.save_for_backward(
            *(before or after or ()),
            y_ND,
            hidden_NF,
            of_output.mask,
            norm_weight,
            norm_bias,
            *linear,
            *((input_NF, of_hidden.mask) if gelu else (None, None)),
        )
        ctx.pre, ctx.scales = pre, (of_hidden.scale, of_output.scale)
        return (total if after is None else after.output).view(x.shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *saved, w1, b1, w2, b2, input_NF, mask_NF = ctx.saved_tensors
        *norm, y_ND, hidden_NF, mask_ND, norm_weight, norm_bias = saved
        d_total = d_output = gradients[0].flatten(0, -2)
        done = Normed(*norm)
        if not ctx.pre:
            d_total, d_gain, d_shift = normed_backward(d_output, done, norm_weight, norm_bias)
        d_hidden, d_w2, d_b2 = linear_backward(
            masked(d_total, mask_ND), hidden_NF, LinearParameters(w2, b2), *ctx.scales
        )
        backward = torch.ops.aten
        if input_NF is None:
            backward.threshold_backward.grad_input(d_hidden, hidden_NF, 0, grad_input=d_hidden)
        else:
            d_hidden = backward.gelu_backward(masked(d_hidden, mask_NF), input_NF)
        d_x, d_w1, d_b1 = linear_backward(d_hidden, y_ND, LinearParameters(w1, b1))
        if ctx.pre:
            d_x, d_gain, d_shift = normed_backward(d_x, done, norm_weight, norm_bias)
        d_x = d_x.add_(d_total).view(gradients[0].shape)
        return d_x, *[None] * 5, d_gain, d_shift, d_w1, d_b1, d_w2, d_b2


def feed_forward_block(around: Residual, feed_forward: FeedForward, x: Tensor) -> Tensor:
    """The output of a feed-forward sub-layer with relu or gelu."""
    gelu = feed_forward.activation is torch.nn.functional.gelu
    norm, inner, outer = around.norm, feed_forward.inner, feed_forward.outer
    output: Tensor = FeedForwardBlock.apply(  # type: ignore[no-untyped-call]  # untyped in torch
        x,
        around.pre_norm,
        norm.eps,
        around.p,
        feed_forward.p,
        gelu,
        norm.weight,
        norm.bias,
        inner.weight,
        inner.bias,
        outer.weight,
        outer.bias,
    )
    return output
