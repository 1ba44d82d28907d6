"""x + dropout(multi-head attention of norm(x)) as one function, or norm(x + …) with post-norm.

B sentences, Q queries, K keys, N tokens of all sentences, D features, H heads of E features.

    S = q kᵀ / √E,  P = softmax(S),  C = mask(P) v,  output = c W_o C + b_o
    ∂P = mask(∂C vᵀ),  ∂S = P ∘ (∂P − Σ_k P ∘ ∂P),  ∂q = ∂S k / √E,  ∂k = ∂Sᵀ q / √E

where c is the factor of dropout. With rotary positions q and k are rotated before, and their
gradients back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention import Mask, MultiHead, Rotary
from regard.attention.engines.choice import SMALL
from regard.attention.layers.position import rotate
from regard.models.fast.operations import (
    LOG2_E,
    LinearParameters,
    Normed,
    are_safe,
    column_sums,
    draw_mask,
    linear_backward,
    masked,
    normed,
    normed_backward,
    residual_sum,
)
from regard.models.transformer import Residual


class AttentionPlan(NamedTuple):
    """What an attention block is: norm before or after, ε, dropouts, heads, scale, positions."""

    pre: bool
    eps: float
    p: float
    weights_p: float
    num_heads: int
    scale: float
    angles: tuple[Tensor, Tensor] | None
    """Cosine and sine (T, E/2) of rotary positions."""

    def rotated(self, x: Tensor, direction: int) -> Tensor:
        """Heads (B · H, T, E) rotated by the positions' angles, or back (−1)."""
        return x if self.angles is None else rotate(x, self.angles[0], direction * self.angles[1])


class AttentionBlock(torch.autograd.Function):
    """The attention sub-layer with its residual connection, norm and dropout."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        memory: Tensor | None,
        keep: Tensor | None,
        plan: AttentionPlan,
        norm_weight: Tensor,
        norm_bias: Tensor,
        *linear: Tensor,
    ) -> Tensor:
        """Attend from x (B, Q, D) to `memory` (B, K, D), or to x itself.

        `keep` is 1 where a key may be attended to and 0 elsewhere, broadcastable to (B, H, Q, K);
        some key of each row must be left. `linear`: weight and bias of query, key, value and
        output.
        """
        maps = [LinearParameters(*linear[n : n + 2]) for n in range(0, 8, 2)]
        x_ND = x.flatten(0, -2)
        before = normed(x_ND, norm_weight, norm_bias, plan.eps) if plan.pre else None
        y_ND = x_ND if before is None else before.output
        m_ND = y_ND if memory is None else memory.flatten(0, -2)
        batch, heads = len(x), plan.num_heads
        q, k, v = (
            _heads(input_ND, linear, batch, heads)
            for linear, input_ND in zip(maps[:3], (y_ND, m_ND, m_ND), strict=True)
        )
        q, k = plan.rotated(q, 1), plan.rotated(k, 1)
        weights = attention_weights(q, k, plan.scale, keep, batch)
        of_weights = draw_mask(weights, plan.weights_p)
        context_ND = joined(torch.bmm(masked(weights, of_weights.mask), v), batch)
        output = maps[3](context_ND, of_weights.scale)
        of_output = draw_mask(output, plan.p)
        total = residual_sum(x_ND, output, of_output)
        after = None if plan.pre else normed(total, norm_weight, norm_bias, plan.eps)
        ctx.save_for_backward(
            *(before or after or ()),
            y_ND,
            m_ND,
            q,
            k,
            v,
            weights,
            of_weights.mask,
            context_ND,
            of_output.mask,
            norm_weight,
            norm_bias,
            *linear,
        )
        ctx.plan, ctx.memory_shape = plan, None if memory is None else memory.shape
        ctx.scales = of_weights.scale, of_output.scale
        return (total if after is None else after.output).view(x.shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *saved, norm_weight, norm_bias, w_q, _, w_k, _, w_v, _, w_o, b_o = ctx.saved_tensors
        *norm, y_ND, m_ND, q, k, v, weights, mask_weights, context_ND, mask_ND = saved
        plan, done, batch = ctx.plan, Normed(*norm), len(gradients[0])
        d_total = d_output = gradients[0].flatten(0, -2)
        if not plan.pre:
            d_total, d_gain, d_shift = normed_backward(d_output, done, norm_weight, norm_bias)
        d_context, d_wo, d_bo = linear_backward(
            masked(d_total, mask_ND), context_ND, LinearParameters(w_o, b_o), *ctx.scales
        )
        d_c = split(d_context, batch, plan.num_heads)
        d_v = torch.bmm(masked(weights, mask_weights).mT, d_c)
        d_weights = torch.bmm(d_c, v.mT)
        if mask_weights is not None:
            d_weights.mul_(mask_weights)
        d_s = torch.ops.aten._softmax_backward_data(d_weights, weights, -1, weights.dtype)
        d_q = torch.baddbmm(q, d_s, k, beta=0, alpha=plan.scale)
        d_k = torch.baddbmm(k, d_s.mT, q, beta=0, alpha=plan.scale)
        d_q, d_k = plan.rotated(d_q, -1), plan.rotated(d_k, -1)
        d_q, d_k, d_v = (joined(part, batch) for part in (d_q, d_k, d_v))
        d_x = d_q @ w_q
        cross = ctx.memory_shape is not None
        d_m = d_k @ w_k if cross else d_x.addmm_(d_k, w_k)
        d_m.addmm_(d_v, w_v)
        d_linear = [
            d_q.T @ y_ND,
            column_sums(d_q),
            d_k.T @ m_ND,
            column_sums(d_k),
            d_v.T @ m_ND,
            column_sums(d_v),
            d_wo,
            d_bo,
        ]
        if plan.pre:
            d_x, d_gain, d_shift = normed_backward(d_x, done, norm_weight, norm_bias)
        d_x = d_x.add_(d_total).view(gradients[0].shape)
        d_memory = d_m.view(ctx.memory_shape) if cross else None
        return d_x, d_memory, None, None, d_gain, d_shift, *d_linear


def attention_weights(
    q: Tensor, k: Tensor, scale: float, keep: Tensor | None, batch: int
) -> Tensor:
    """softmax(scale · q kᵀ) (B · H, Q, K) of heads q (B · H, Q, E) and k (B · H, K, E).

    By powers of 2 without their largest, which take less time; if a sum of them is too large or too
    small for that, by `torch.softmax`.
    """
    weights = q.new_empty(len(q), q.shape[1], k.shape[1])
    weights.baddbmm_(q, k.mT, beta=0, alpha=scale * LOG2_E).exp2_()
    if keep is not None:
        weights.view(batch, -1, *weights.shape[1:]).mul_(keep)
    sums = weights.flatten(0, 1) @ weights.new_ones(weights.shape[2])
    if are_safe(sums):
        return weights.mul_(sums.reciprocal_().view(*weights.shape[:2], 1))
    weights.baddbmm_(q, k.mT, beta=0, alpha=scale)
    if keep is not None:
        weights.view(batch, -1, *weights.shape[1:]).masked_fill_(keep == 0, -torch.inf)
    return torch.softmax(weights, -1, out=weights)


def _heads(x_ND: Tensor, linear: LinearParameters, batch: int, num_heads: int) -> Tensor:
    """W x + b as heads (B · H, T, E); the bias is added in the pass that splits them."""
    y_BTHE = (x_ND @ linear.weight.T).view(batch, -1, num_heads, len(linear.bias) // num_heads)
    y_BHTE = y_BTHE.transpose(1, 2)
    heads = y_BTHE.new_empty(y_BHTE.shape)
    torch.add(y_BHTE, linear.bias.view(num_heads, 1, -1), out=heads)
    return heads.flatten(0, 1)


def split(x_ND: Tensor, batch: int, num_heads: int) -> Tensor:
    """(B · T, H · E) as heads (B · H, T, E)."""
    width = x_ND.shape[1] // num_heads
    x_BTHE = x_ND.view(batch, -1, num_heads, width)
    return x_BTHE.transpose(1, 2).reshape(batch * num_heads, -1, width)


def joined(x: Tensor, batch: int) -> Tensor:
    """Heads (B · H, T, E) as (B · T, H · E)."""
    x_BHTE = x.view(batch, -1, *x.shape[1:])
    return x_BHTE.transpose(1, 2).reshape(batch * x.shape[1], -1)


def attention_block(
    around: Residual,
    attention: MultiHead,
    x: Tensor,
    mask: Mask | None,
    memory: Tensor | None,
    offset: int,
) -> Tensor | None:
    """The output of an attention sub-layer; None if its scores are too many for a block.

    Nor are there blocks for rows that attend to nothing.
    """
    keys = x if memory is None else memory
    size = x.shape[1], keys.shape[1]
    if len(x) * attention.num_heads * size[0] * size[1] > SMALL:
        return None
    if mask is not None and not mask.shows_first(*size):
        return None
    positions, norm = attention.positions, around.norm
    angles = None
    if isinstance(positions, Rotary):
        angles = positions.table(x.shape[1], offset, dtype=x.dtype)
    plan = AttentionPlan(
        around.pre_norm,
        norm.eps,
        around.p,
        attention.dropout,
        attention.num_heads,
        attention.head_dim**-0.5,
        angles,
    )
    projections = (
        attention.query_proj,
        attention.key_proj,
        attention.value_proj,
        attention.out_proj,
    )
    linear = [p for projection in projections for p in (projection.weight, projection.bias)]
    output: Tensor = AttentionBlock.apply(  # type: ignore[no-untyped-call]  # untyped in torch
        x, memory, _visible(mask, len(x), *size, x.dtype), plan, norm.weight, norm.bias, *linear
    )
    return output


@lru_cache(maxsize=8)  # all layers have the same masks
def _visible(
    mask: Mask | None, batch: int, num_queries: int, num_keys: int, dtype: torch.dtype
) -> Tensor | None:
    """1 where a key may be attended to and 0 where it is masked; None if no key is."""
    if mask is None:
        return None
    visible = mask.tensor(num_queries, num_keys, batch=(batch, 1))
    return None if visible.all() else visible.to(dtype)
