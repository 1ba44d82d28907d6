"""Cross-entropy with label smoothing, from features to loss without ever holding all scores.

N tokens to guess, D features, V tokens of the vocabulary, C tokens of a chunk. The scores
z = W x + b of a chunk are turned into gradients in place:

    loss    = lse(z) − (1 − ε) z_y − ε mean(z)
    ∂loss/∂z = p − (1 − ε) 1_y − ε/V

V counts the outputs that can be written: what an imported model does not have gets nothing of ε.
The parts with ε need no pass over the scores: mean(z) = mean(W) x + mean(b), and their gradients
are of rank one. Nor do the bias and the probabilities: with e = exp(W x), c = exp(b) and s = e · c,
p = e ∘ c / s, and c and 1/s are multiplied into the smaller factors of the products, as in
p W = (e (c ∘ W))/s. The scores are computed in units of log 2, because powers of 2 take half the
time of exp.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.mechanisms import AdaptiveSpan
from regard.config import Run
from regard.models.embedding import possible_outputs
from regard.models.fast.operations import LOG2_E, are_safe
from regard.models.sequence_parallel import local_labels
from regard.tasks.text.r_drop import r_drop_loss
from regard.text import PAD


def token_loss(
    run: Run, network: Any, batch: Any, scale: float, features: Tensor | None = None
) -> Tensor:
    """Return scale · the cross-entropy of all labels, given the tokens before or around them.

    `features` are those of the batch, if they are known. With R-Drop, the batch is one of `twice`.
    """
    features = network.features(batch) if features is None else features
    labels, smoothing = local_labels(network, batch.labels), run.training.label_smoothing
    if run.training.r_drop:
        weight = run.training.r_drop
        loss = r_drop_loss(features, network.output, labels, smoothing, weight, scale)
    else:
        loss = label_loss(features, network.output, labels, smoothing, scale=scale)
    return loss + span_loss(run, network, batch, scale)


def span_loss(run: Run, network: Any, batch: Any, scale: float) -> Tensor | float:
    """Return the price of the heads' mean span (Sukhbaatar 2019, §3), if the settings name one."""
    price = getattr(run.model, "span_penalty", 0.0)
    spans = [m.span for m in network.modules() if isinstance(m, AdaptiveSpan)] if price else []
    share = batch.answers * scale  # of the update's labels
    return price * share * torch.stack(spans).mean() if spans else 0.0


CHUNK = 1 << 21  # scores held at once
SAFE_BIAS = 16.0  # products with powers of 2 of such a bias neither overflow nor vanish


def label_loss(
    features: Tensor,
    output: nn.Linear,
    labels: Tensor,
    smoothing: float = 0.0,
    scale: float = 1.0,
) -> Tensor:
    """scale · the summed loss of all labels (…,) but PAD, from features (…, D) before `output`."""
    rows = (labels.flatten() != PAD).nonzero().squeeze(1)
    x_ND = features.flatten(0, -2).index_select(0, rows)
    y_N = labels.flatten().index_select(0, rows)
    if torch.is_autocast_enabled(x_ND.device.type):
        x_ND = x_ND.to(torch.get_autocast_dtype(x_ND.device.type))
    loss: Tensor = _ChunkedLoss.apply(x_ND, output.weight, output.bias, y_N, smoothing, scale)  # type: ignore[no-untyped-call]  # untyped in torch
    return loss


class _ChunkedLoss(torch.autograd.Function):
    """Summed loss, scaled; the gradients are made on the way forward, chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any,
        x_ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor,
        y_N: Tensor,
        smoothing: float,
        scale: float,
    ) -> Tensor:
        wanted = any(ctx.needs_input_grad)
        w_VD = weight_VD.to(x_ND.dtype)
        wide = torch.promote_types(x_ND.dtype, torch.float32)  # what sums are taken in
        possible_V = possible_outputs(bias_V)
        mean_D, mean_b = _means(weight_VD.to(wide), bias_V.to(wide), possible_V)
        loss = (-smoothing) * ((x_ND.to(wide) @ mean_D).sum() + mean_b * len(x_ND))
        scores = _Scores(x_ND, w_VD, bias_V.detach(), wide)
        c_V = scores.factors_V
        d_x = torch.empty_like(x_ND) if wanted else None
        d_weight = torch.empty_like(weight_VD) if wanted else None
        d_bias = torch.zeros_like(bias_V) if wanted else None
        with torch.autocast(x_ND.device.type, enabled=False):
            cw_VD = w_VD if c_V is None or not wanted else w_VD * c_V[:, None]
            for start in range(0, len(x_ND), scores.size):
                part = slice(start, start + scores.size)
                x_CD, y_C1 = x_ND[part], y_N[part, None]
                e_CV, s_C, chunk_loss = scores.powers(x_CD, y_C1, smoothing)
                loss = loss + chunk_loss
                if d_x is None or d_weight is None or d_bias is None:
                    continue
                s_C1 = s_C[:, None]
                at_label_C1 = s_C1 if c_V is None else s_C1 / c_V[y_C1]
                e_CV.scatter_add_(1, y_C1, at_label_C1 * (smoothing - 1))
                share_C1 = 1 / s_C1
                if not scores.plain:  # rounded only when they are of their final size
                    e_CV.mul_(share_C1)
                    share_C1 = torch.ones_like(share_C1)
                d_bias += torch.mv(e_CV.T, share_C1[:, 0])
                d_z = e_CV.to(x_ND.dtype)
                share_C1 = share_C1.to(x_ND.dtype)
                torch.mm(d_z, cw_VD, out=d_x[part])
                d_x[part] *= share_C1
                if d_weight.dtype == d_z.dtype:
                    d_weight.addmm_(d_z.T, x_CD * share_C1, beta=float(start > 0), alpha=scale)
                else:
                    d_weight = scale * (d_z.T @ x_CD) + (d_weight if start else 0)
        if d_x is not None and d_weight is not None and d_bias is not None:
            if not len(x_ND):
                d_weight.zero_()
            even = scale * smoothing / _count(bias_V, possible_V)
            d_x.sub_((smoothing * mean_D).to(d_x.dtype)).mul_(scale)
            even_D = even * x_ND.to(wide).sum(0)
            if possible_V is not None:  # then the powers are with the bias
                d_weight.addr_(possible_V.to(even_D.dtype), even_D, alpha=-1)
            elif c_V is None:
                d_weight -= even_D
            else:
                torch.addcmul(-even_D, d_weight, c_V[:, None], out=d_weight)
                d_bias.mul_(c_V)
            evenly = 1.0 if possible_V is None else possible_V
            d_bias.mul_(scale).sub_(even * len(x_ND) * evenly)
            ctx.save_for_backward(d_x, d_weight, d_bias)
        return loss * scale

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (d_loss,) = grads
        d_x, d_weight, d_bias = ctx.saved_tensors
        if d_loss.device.type == "cpu" and d_loss.item() == 1:  # as where training begins
            return d_x, d_weight, d_bias, None, None, None
        return d_x * d_loss.to(d_x.dtype), d_weight * d_loss, d_bias * d_loss, None, None, None


def _count(bias_V: Tensor, possible_V: Tensor | None) -> int:
    return len(bias_V) if possible_V is None else int(possible_V.sum())


def _means(weight_VD: Tensor, bias_V: Tensor, possible_V: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the mean weights (D,) and the mean bias of the outputs that can be written."""
    if possible_V is None:
        return weight_VD.mean(0), bias_V.mean()
    return possible_V.to(weight_VD.dtype) @ weight_VD / possible_V.sum(), bias_V[possible_V].mean()


class _Scores:
    """Powers of the scores of chunks of tokens, 2^(z · log₂ e).

    factors_V   powers of the bias, which the powers are without; None if they are with it
    plain       whether the scores are in the precision of the features
    size        tokens of a chunk: as few chunks as fit, of equal sizes
    """

    def __init__(self, x_ND: Tensor, w_VD: Tensor, bias_V: Tensor, wide: torch.dtype) -> None:
        self.w_VD, self.wide, self.bias_V = w_VD, wide, bias_V * LOG2_E
        self.plain = x_ND.dtype == wide == bias_V.dtype
        apart = self.plain and bool((self.bias_V.abs() < SAFE_BIAS).all())
        self.factors_V = self.bias_V.exp2() if apart else None
        chunks = -(-len(x_ND) * len(w_VD) // CHUNK)
        self.size = max(1, -(-len(x_ND) // max(1, chunks)))
        # The same memory for every chunk: fresh pages would cost a third more.
        self._room = x_ND.new_empty(min(self.size, len(x_ND)), len(w_VD)) if self.plain else None

    def powers(self, x_CD: Tensor, y_C1: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
        """Return the powers (C, V), their sums with the bias (C,), and Σ lse − (1 − ε) z_y.

        Where a sum would be too large or too small, all powers are divided by the largest.
        """
        z_CV = self._scores(x_CD)
        top_C: Tensor | float = 0.0
        z_y = z_CV.gather(1, y_C1)[:, 0]
        s_C = self._sums(z_CV.exp2_())
        if not are_safe(s_C):
            z_CV = self._scores(x_CD)
            top_C1 = z_CV.amax(1, keepdim=True)
            s_C, top_C = self._sums(z_CV.sub_(top_C1).exp2_()), top_C1[:, 0]
        if self.factors_V is not None:
            z_y = z_y + self.bias_V[y_C1[:, 0]]
        lse = s_C.log() + (top_C - (1 - smoothing) * z_y) / LOG2_E
        return z_CV, s_C, lse.sum()

    def _scores(self, x_CD: Tensor) -> Tensor:
        """z · log₂ e (C, V), without the bias if it has factors of its own."""
        if self._room is None:
            z_CV = nn.functional.linear(x_CD, self.w_VD).to(self.wide).mul_(LOG2_E)
            return z_CV.add_(self.bias_V)
        z_CV = self._room[: len(x_CD)]
        if self.factors_V is None:
            return torch.addmm(self.bias_V, x_CD, self.w_VD.T, alpha=LOG2_E, out=z_CV)
        return z_CV.addmm_(x_CD, self.w_VD.T, beta=0, alpha=LOG2_E)

    def _sums(self, e_CV: Tensor) -> Tensor:
        return e_CV.sum(1) if self.factors_V is None else torch.mv(e_CV, self.factors_V)
