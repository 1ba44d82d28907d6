"""Performer: random features whose products are, on average, the softmax's own kernel.

Shapes: query (B, H, Q, D), key (B, H, K, D); M features.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention.engines import arguments
from regard.attention.mechanisms.linear import Linear

FLOOR = 1e-8  # of a feature against the largest of its word, so that no word vanishes


def orthogonal_directions(features: int, width: int) -> Tensor:
    """(M, D): normal vectors, orthogonal D by D, each together with its opposite.

    Vectors that are orthogonal and come in opposite pairs estimate the kernel with less variance
    than independent ones (Choromanski 2021, §3).
    """
    half = -(-features // 2)
    blocks = [
        torch.linalg.qr(torch.randn(width, width, dtype=torch.float64)).Q.T
        for _ in range(-(-half // width))
    ]
    lengths = torch.randn(half, width, dtype=torch.float64).norm(dim=-1, keepdim=True)
    drawn = torch.cat(blocks)[:half] * lengths
    return torch.cat([drawn, -drawn])[:features].to(torch.get_default_dtype())


class Performer(Linear):
    """Linear attention with positive orthogonal random features, FAVOR+ (Choromanski 2021).

        e^{q·k/√D} = E_w[ e^{w·q' − |q'|²/2} e^{w·k' − |k'|²/2} ],   x' = x / D^{1/4},  w ~ N(0, I)

    The more features, the nearer to softmax attention. Exponents are taken relative to the largest
    of each word; the queries' cancels, the keys' is kept as the level that sums are taken at.

    head_dim  D
    features  M, 4·D by default
    """

    levelled = True
    directions: Tensor

    def __init__(self, head_dim: int, features: int | None = None) -> None:
        super().__init__()
        self.head_dim = arguments.positive("head_dim", head_dim)
        self.features = 4 * head_dim if features is None else arguments.positive(
            "features", features
        )  # fmt: skip
        self.register_buffer("directions", orthogonal_directions(self.features, head_dim))

    def query_features(self, query: Tensor) -> Tensor:
        dots = self._dots(query)
        return (dots - dots.detach().amax(dim=-1, keepdim=True)).exp() + FLOOR

    def key_features(self, key: Tensor) -> tuple[Tensor, Tensor]:
        half = key.square().sum(dim=-1, keepdim=True) * (0.5 / self.head_dim**0.5)
        exponents = self._dots(key) - half
        level = exponents.detach().amax(dim=-1, keepdim=True)
        return (exponents - level).exp() + FLOOR, level

    def num_features(self, width: int) -> int:
        return self.features

    def _dots(self, x: Tensor) -> Tensor:
        """w·x', (B, H, T, M)."""
        arguments.width("heads", x, self.head_dim)
        scale: float = self.head_dim**-0.25
        return x @ (self.directions.to(x.dtype).T * scale)

    def extra_repr(self) -> str:
        return f"{self.head_dim}, features={self.features}"
