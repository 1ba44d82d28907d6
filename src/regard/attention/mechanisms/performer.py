"""Performer: random features whose products are, on average, the softmax's own kernel.

Shapes: query (B, H, Q, D), key (B, H, K, D); M features.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention.engines import arguments
from regard.attention.mechanisms.linear import LinearAttention
from regard.config.mechanisms import PerformerSettings

FLOOR = 1e-8  # added to features, relative to the largest of a token, so that none vanishes


def orthogonal_directions(num_features: int, width: int) -> Tensor:
    """(M, D): normal vectors, orthogonal D by D, each together with its opposite.

    Vectors that are orthogonal and come in opposite pairs estimate the kernel with less variance
    than independent ones (Choromanski 2021, §3).
    """
    half = -(-num_features // 2)
    blocks = [
        torch.linalg.qr(torch.randn(width, width, dtype=torch.float64)).Q.T
        for _ in range(-(-half // width))
    ]
    lengths = torch.randn(half, width, dtype=torch.float64).norm(dim=-1, keepdim=True)
    drawn = torch.cat(blocks)[:half] * lengths
    return torch.cat([drawn, -drawn])[:num_features].to(torch.get_default_dtype())


class Performer(LinearAttention):
    """Linear attention with positive orthogonal random features, FAVOR+ (Choromanski 2021).

        e^{q·k/√D} = E_w[ e^{w·q' − |q'|²/2} e^{w·k' − |k'|²/2} ],   x' = x / D^{1/4},  w ~ N(0, I)

    The more features, the nearer to softmax attention. Exponents are taken relative to the largest
    of each token; the queries' cancels, the keys' is the level that sums are relative to.

    head_dim      D
    num_features  M, 4·D by default
    """

    facts = PerformerSettings.facts
    has_level = True
    directions: Tensor

    def __init__(self, head_dim: int, num_features: int | None = None) -> None:
        super().__init__()
        self.head_dim = arguments.positive("head_dim", head_dim)
        self.num_features = 4 * head_dim
        if num_features is not None:
            self.num_features = arguments.positive("num_features", num_features)
        self.register_buffer("directions", orthogonal_directions(self.num_features, head_dim))

    def query_features(self, query: Tensor) -> Tensor:
        dots = self._dots(query)
        return (dots - dots.detach().amax(dim=-1, keepdim=True)).exp() + FLOOR

    def key_features(self, key: Tensor) -> tuple[Tensor, Tensor]:
        half = key.square().sum(dim=-1, keepdim=True) * (0.5 / self.head_dim**0.5)
        exponents = self._dots(key) - half
        level = exponents.detach().amax(dim=-1, keepdim=True)
        return (exponents - level).exp() + FLOOR, level

    def feature_dim(self, width: int) -> int:
        return self.num_features

    def _dots(self, x: Tensor) -> Tensor:
        """w·x', (B, H, T, M)."""
        arguments.width("heads", x, self.head_dim)
        scale: float = self.head_dim**-0.25
        return x @ (self.directions.to(x.dtype).T * scale)

    def extra_repr(self) -> str:
        return f"{self.head_dim}, num_features={self.num_features}"
