"""R-Drop: two passes with different dropout are to predict the same (Wu, Li et al. 2021).

With p and q the two predictions of a token y, and α the weight of their distance,

    loss = −log p_y − log q_y + α/2 (KL(p‖q) + KL(q‖p))

With z and w the scores behind p and q, and d = z − w, the distances add up to
J = KL(p‖q) + KL(q‖p) = Σ (p − q) d = Σ p d − Σ q d, whose gradients are

    ∂J/∂z = p (1 + d − Σ p d) − q        ∂J/∂w = q (1 − d + Σ q d) − p

N tokens to guess, D features, V tokens of the vocabulary, C tokens of a chunk; 2 for the passes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.models.batch import Batch
from regard.models.embedding import possible_outputs
from regard.text import PAD

CHUNK = 1 << 20  # scores of one pass that are held at once


def twice(batch: Batch) -> Batch:
    """Return a batch with all its sentences, and then all of them again."""
    return batch.rows(torch.arange(len(batch.labels), device=batch.labels.device).repeat(2))


def r_drop_loss(
    features: Tensor,
    output: nn.Linear,
    labels: Tensor,
    smoothing: float,
    weight: float,
    scale: float = 1.0,
) -> Tensor:
    """scale · the summed loss of all labels but PAD, of a batch made by `twice`.

    `features` (2B, …, D) are those before `output`, `labels` (2B, …); `weight` is α.
    """
    rows = (labels[: len(labels) // 2].flatten() != PAD).nonzero().squeeze(1)
    x_2ND = features.unflatten(0, (2, -1)).flatten(1, -2).index_select(1, rows)
    y_N = labels.flatten().index_select(0, rows)
    if torch.is_autocast_enabled(x_2ND.device.type):
        x_2ND = x_2ND.to(torch.get_autocast_dtype(x_2ND.device.type))
    settings = smoothing, weight / 2, scale
    loss: Tensor = _TwoPassLoss.apply(x_2ND, output.weight, output.bias, y_N, *settings)  # type: ignore[no-untyped-call]  # untyped in torch
    return loss


class _TwoPassLoss(torch.autograd.Function):
    """The loss; its gradients are made on the way forward, chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any,
        x_2ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor,
        y_N: Tensor,
        smoothing: float,
        half: float,
        scale: float,
    ) -> Tensor:
        w_VD, wide = weight_VD.to(x_2ND.dtype), bias_V.dtype
        d_x, d_weight = torch.empty_like(x_2ND), torch.zeros_like(weight_VD)
        d_bias, loss = torch.zeros_like(bias_V), bias_V.new_zeros(())
        possible_V = possible_outputs(bias_V)
        even_V = torch.ones_like(bias_V) if possible_V is None else possible_V.to(bias_V.dtype)
        even_V = even_V * (smoothing / even_V.sum())
        size = max(1, CHUNK // len(w_VD))
        with torch.autocast(x_2ND.device.type, enabled=False):
            for part in (slice(n, n + size) for n in range(0, len(y_N), size)):
                x_2CD = x_2ND[:, part]
                z_2CV = nn.functional.linear(x_2CD, w_VD).to(wide).add_(bias_V)
                chunk_loss, d_z = _chunk(z_2CV, y_N[part], smoothing, even_V, half)
                loss += chunk_loss
                d_bias += d_z.sum((0, 1))
                d_z = d_z.to(x_2ND.dtype)
                d_x[:, part] = d_z @ w_VD
                d_weight += d_z.flatten(0, 1).T @ x_2CD.flatten(0, 1)
        for gradient in (loss, d_x, d_weight, d_bias):
            gradient.mul_(scale)
        ctx.save_for_backward(d_x, d_weight, d_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        d_x, d_weight, d_bias = (d * grads[0].to(d.dtype) for d in ctx.saved_tensors)
        return d_x, d_weight, d_bias, None, None, None, None


def _chunk(
    z_2CV: Tensor, y_C: Tensor, smoothing: float, even_V: Tensor, half: float
) -> tuple[Tensor, Tensor]:
    """Return the summed loss of scores (2, C, V) and its gradient with respect to them.

    `even_V` is what each output has of `smoothing`.
    """
    y_2C1 = y_C[None, :, None].expand(2, -1, 1)
    d_CV = z_2CV[0] - z_2CV[1]
    lse_2C1 = z_2CV.logsumexp(-1, keepdim=True)
    loss = (lse_2C1 - (1 - smoothing) * z_2CV.gather(2, y_2C1)).sum()
    loss = loss - (z_2CV @ even_V).sum()
    p_2CV = z_2CV.sub_(lse_2C1).exp_()
    mean_2C1 = torch.matmul(p_2CV[:, :, None], d_CV[None, :, :, None]).squeeze(-1)  # Σ p d
    loss = loss + half * (mean_2C1[0] - mean_2C1[1]).sum()
    slope_2CV = torch.stack((d_CV - mean_2C1[0], mean_2C1[1] - d_CV)).mul_(half).add_(1 + half)
    grad_2CV = slope_2CV.mul_(p_2CV).sub_(p_2CV.flip(0), alpha=half)
    grad_2CV.sub_(even_V)
    grad_2CV.scatter_add_(2, y_2C1, torch.full_like(lse_2C1, smoothing - 1))
    return loss, grad_2CV
