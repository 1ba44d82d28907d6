"""The next point as a mixture of correlated Gaussians, and whether the pen is lifted, or done.

With μ, σ, ρ of each of M components, a = (dx − μ₁)/σ₁ and b = (dy − μ₂)/σ₂ (Graves 2013, §4.1),

    p(dx, dy) = Σ_m π_m N_m
    −log N = log 2π σ₁ σ₂ + ½ log(1 − ρ²) + (a² + b² − 2 ρ a b) / 2(1 − ρ²)

The network's number r for the correlation, ρ = tanh r, gives 1 − ρ² = 1/cosh² r, so that

    −log N = log 2π σ₁ σ₂ − log cosh r + ½ (a² + (b cosh r − a sinh r)²)

has no quotient that could vanish: it is stable in float32.

Shapes: … any leading dimensions, M components.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.engines.precision import accumulated

NARROWEST = -5.0
"""The smallest log σ: a pen is not exact beyond."""
TIGHTEST = 4.0
"""The largest |r|: ρ = 0.9993."""


@dataclass(frozen=True, eq=False)
class Density:
    """What comes next: a mixture for the movement, and two probabilities.

    log_share  (…, M)     log π
    mean       (…, M, 2)
    log_width  (…, M, 2)  log σ
    bend       (…, M)     r, the correlation being tanh r
    lift       (…)        logit of the pen being lifted after the point
    end        (…)        logit of the line being over, if the pen is lifted after the point
    """

    log_share: Tensor
    mean: Tensor
    log_width: Tensor
    bend: Tensor
    lift: Tensor
    end: Tensor

    @staticmethod
    def of(numbers: Tensor, bias: float = 0.0) -> Density:
        """What a network's numbers (…, 6 M + 2) mean; with a bias, sharper (Graves 2013, §5.4)."""
        number = (numbers.shape[-1] - 2) // 6
        share, bend, mean, width, flags = accumulated(numbers).split(
            (number, number, 2 * number, 2 * number, 2), -1
        )
        return Density(
            torch.log_softmax(share * (1 + bias), -1),
            mean.unflatten(-1, (number, 2)),
            width.unflatten(-1, (number, 2)).clamp(min=NARROWEST) - bias,
            bend.clamp(-TIGHTEST, TIGHTEST),
            flags[..., 0] * (1 + bias),
            flags[..., 1],
        )

    def log_prob(self, movement: Tensor) -> Tensor:
        """log p (…) of movements (…, 2)."""
        away = (movement[..., None, :] - self.mean) * torch.exp(-self.log_width)
        across, up = away.unbind(-1)
        sheared = up * torch.cosh(self.bend) - across * torch.sinh(self.bend)
        each = (
            -math.log(2 * math.pi)
            - self.log_width.sum(-1)
            + _log_cosh(self.bend)
            - 0.5 * (across.square() + sheared.square())
        )
        return torch.logsumexp(self.log_share + each, -1)

    def loss(self, points: Tensor, last: Tensor) -> Tensor:
        """−log p (…) of points (…, 3), of which `last` (…) says 1 where the line ends.

        A line ends with the pen lifted, so only there it is asked whether it does.
        """
        lift = F.binary_cross_entropy_with_logits(self.lift, points[..., 2], reduction="none")
        end = F.binary_cross_entropy_with_logits(self.end, last, reduction="none")
        return lift + end * points[..., 2] - self.log_prob(points[..., :2])

    def sample(self, random: torch.Generator) -> Tensor:
        """Points (B, 3) drawn from densities of B lines."""
        like = self.log_share
        chosen = torch.multinomial(like.exp(), 1, generator=random)
        rows = torch.arange(len(like), device=like.device)
        mean, width, bend = (
            x[rows, chosen[:, 0]] for x in (self.mean, self.log_width.exp(), self.bend)
        )
        drawn = torch.randn(mean.shape, generator=random, device=like.device)
        across = drawn[:, 0]
        up = torch.tanh(bend) * across + drawn[:, 1] / torch.cosh(bend)
        movement = mean + width * torch.stack([across, up], -1)
        lift = torch.rand(len(like), generator=random, device=like.device) < self.lift.sigmoid()
        return torch.cat([movement, lift[:, None].to(movement.dtype)], -1)


def _log_cosh(x: Tensor) -> Tensor:
    """log cosh x, without overflow."""
    return x.abs() + F.softplus(-2 * x.abs()) - math.log(2)
