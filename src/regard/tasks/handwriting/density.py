"""Mixture density of the next point: correlated Gaussians, and logits of pen-up and end of line.

With μ, σ, ρ of each of M components, a = (dx − μ₁)/σ₁ and b = (dy − μ₂)/σ₂ (Graves 2013, §4.1),

    p(dx, dy) = Σ_m π_m N_m
    −log N = log 2π σ₁ σ₂ + ½ log(1 − ρ²) + (a² + b² − 2 ρ a b) / 2(1 − ρ²)

The network outputs r with ρ = tanh r, so that 1 − ρ² = 1/cosh² r and

    −log N = log 2π σ₁ σ₂ − log cosh r + ½ (a² + (b cosh r − a sinh r)²)

has no vanishing denominator: it is stable in float32.

Shapes: … any leading dimensions, M components.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.engines.precision import accumulated

MIN_LOG_STD = -5.0
MAX_PRE_RHO = 4.0
"""The largest |r|: ρ = 0.9993."""


@dataclass(frozen=True, eq=False)
class Density:
    """Distribution of the next point.

    log_weight  (…, M)     log π
    mean        (…, M, 2)
    log_std     (…, M, 2)  log σ
    pre_rho     (…, M)     r, with correlation tanh r
    pen_up      (…)        logit that the pen is lifted after the point
    end         (…)        logit that the line ends, given that the pen is lifted after the point
    """

    log_weight: Tensor
    mean: Tensor
    log_std: Tensor
    pre_rho: Tensor
    pen_up: Tensor
    end: Tensor

    @staticmethod
    def from_output(output: Tensor, bias: float = 0.0) -> Density:
        """Split network outputs (…, 6 M + 2); a bias > 0 sharpens the density (Graves, §5.4)."""
        num = (output.shape[-1] - 2) // 6
        weight, pre_rho, mean, log_std, flags = accumulated(output).split(
            (num, num, 2 * num, 2 * num, 2), -1
        )
        return Density(
            torch.log_softmax(weight * (1 + bias), -1),
            mean.unflatten(-1, (num, 2)),
            log_std.unflatten(-1, (num, 2)).clamp(min=MIN_LOG_STD) - bias,
            pre_rho.clamp(-MAX_PRE_RHO, MAX_PRE_RHO),
            flags[..., 0] * (1 + bias),
            flags[..., 1],
        )

    def log_prob(self, offsets: Tensor) -> Tensor:
        """Log-density (…) of pen offsets (…, 2)."""
        scaled = (offsets[..., None, :] - self.mean) * torch.exp(-self.log_std)
        x, y = scaled.unbind(-1)
        sheared = y * torch.cosh(self.pre_rho) - x * torch.sinh(self.pre_rho)
        component = (
            -math.log(2 * math.pi)
            - self.log_std.sum(-1)
            + _log_cosh(self.pre_rho)
            - 0.5 * (x.square() + sheared.square())
        )
        return torch.logsumexp(self.log_weight + component, -1)

    def loss(self, points: Tensor, last: Tensor) -> Tensor:
        """−log p (…) of points (…, 3); `last` (…) is 1 at the last point of a line.

        The end is scored only where the pen is lifted: a line ends with a lifted pen.
        """
        pen_up = F.binary_cross_entropy_with_logits(self.pen_up, points[..., 2], reduction="none")
        end = F.binary_cross_entropy_with_logits(self.end, last, reduction="none")
        return pen_up + end * points[..., 2] - self.log_prob(points[..., :2])

    def sample(self, generator: torch.Generator) -> Tensor:
        """Sample points (B, 3) from the densities of B lines."""
        device, num_lines = self.log_weight.device, len(self.log_weight)
        chosen = torch.multinomial(self.log_weight.exp(), 1, generator=generator)
        rows = torch.arange(num_lines, device=device)
        mean, std, pre_rho = (
            x[rows, chosen[:, 0]] for x in (self.mean, self.log_std.exp(), self.pre_rho)
        )
        noise = torch.randn(mean.shape, generator=generator, device=device)
        x = noise[:, 0]
        y = torch.tanh(pre_rho) * x + noise[:, 1] / torch.cosh(pre_rho)
        offsets = mean + std * torch.stack([x, y], -1)
        pen_up = torch.rand(num_lines, generator=generator, device=device) < self.pen_up.sigmoid()
        return torch.cat([offsets, pen_up[:, None].to(offsets.dtype)], -1)


def _log_cosh(x: Tensor) -> Tensor:
    """log cosh x, without overflow."""
    return x.abs() + F.softplus(-2 * x.abs()) - math.log(2)
