"""Positions: attention alone does not depend on order.

Shapes: x (…, T, D) tokens; heads (…, H, T, D); bias (H, Q, K).

A position acts in one of three ways, and a layer calls all three: `add` to the input of the
projections (Sinusoidal, Learned), `rotate` the projected queries and keys (Rotary), or `bias` the
scores (Alibi, RelativeBias).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.engines.precision import wide_dtype
from regard.attention.masks.bias import Bias, DistanceBias


class Position(nn.Module):
    """Base of all positions: none of the three ways does anything unless overridden."""

    def add(self, x: Tensor, offset: int = 0) -> Tensor:
        """Tokens x (…, T, D) with their positions added; the first is at `offset`."""
        return x

    def rotate(self, x: Tensor, offset: int = 0) -> Tensor:
        """Projected heads (…, H, T, D) rotated by their positions."""
        return x

    def bias(self, offset: int = 0) -> Bias | None:
        """The bias of the scores, for queries that start at `offset`."""
        return None


class Sinusoidal(Position):
    """PE[p, 2i] = sin(p / base^(2i/d)), PE[p, 2i+1] = cos(p / base^(2i/d)) (Vaswani 2017, §3.5).

    For any length, without parameters. With an odd width the last column is a sine.

    >>> Sinusoidal(4).table(2)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """

    def __init__(self, dim: int, base: float = 10000.0) -> None:
        super().__init__()
        self.dim = arguments.positive("dim", dim)
        if arguments.real("base", base) <= 0:
            raise ValueError(f"base must be above zero, got {base}.")
        self.base = base

    def table(
        self,
        length: int,
        offset: int = 0,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """The encodings (length, dim) of positions offset, offset + 1, …"""
        if length < 0 or offset < 0:
            raise ValueError(f"length and offset must not be negative, got {length} and {offset}.")
        angle = _angles(length, offset, self.dim, self.base, device)
        both = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
        return both[:, : self.dim].to(dtype or torch.get_default_dtype()).to(device)

    def add(self, x: Tensor, offset: int = 0) -> Tensor:
        if x.shape[-1] != self.dim:
            arguments.width("tokens for Sinusoidal", x, self.dim)
        return x + self.table(x.shape[-2], offset, device=x.device, dtype=x.dtype)

    forward = add

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Learned(Position):
    """One learned vector per position, `weight` (max_length, dim) (Gehring 2017)."""

    def __init__(self, max_length: int, dim: int) -> None:
        super().__init__()
        self.max_length = arguments.positive("max_length", max_length)
        self.dim = arguments.positive("dim", dim)
        self.weight = nn.Parameter(torch.empty(max_length, dim))
        nn.init.normal_(self.weight, std=dim**-0.5)

    def add(self, x: Tensor, offset: int = 0) -> Tensor:
        arguments.width("tokens for Learned", x, self.dim)
        end = offset + x.shape[-2]
        if end > self.max_length:
            raise ValueError(
                f"Learned has {self.max_length} positions (max_length), got a length of {end}."
            )
        return x + self.weight[offset:end].to(x.dtype)

    forward = add

    def extra_repr(self) -> str:
        return f"max_length={self.max_length}, dim={self.dim}"


class Rotary(Position):
    """Rotate each pair of features by an angle proportional to the position (Su 2021).

    The dot product of a query at i and a key at j then depends on i − j alone. `dim` (even) is the
    number of a head's features that are rotated; `interleaved` pairs neighbors (2i, 2i+1),
    otherwise the first half is paired with the second.
    """

    def __init__(self, dim: int, base: float = 10000.0, *, interleaved: bool = False) -> None:
        super().__init__()
        self.dim = arguments.positive("dim", dim)
        if dim % 2:
            raise ValueError(f"dim must be even, since features are rotated in pairs, got {dim}.")
        self.base = base
        self.interleaved = interleaved

    def table(
        self,
        length: int,
        offset: int = 0,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Cosine and sine (length, dim / 2) of the angles of positions offset, offset + 1, …"""
        angle = _angles(length, offset, self.dim, self.base, device)
        dtype = dtype or torch.get_default_dtype()
        return angle.cos().to(dtype).to(device), angle.sin().to(dtype).to(device)

    def rotate(self, x: Tensor, offset: int = 0) -> Tensor:
        cos, sin = self.table(x.shape[-2], offset, device=x.device, dtype=x.dtype)
        return rotate(x, cos, sin, interleaved=self.interleaved)

    forward = rotate

    def extra_repr(self) -> str:
        return f"dim={self.dim}, interleaved={self.interleaved}"


def rotate(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = False) -> Tensor:
    """The first 2·R features of x (…, T, D) rotated in pairs by angles of cos and sin (…, T, R).

    (a, b) becomes (a cos − b sin, a sin + b cos).
    """
    half = cos.shape[-1]
    if 2 * half > x.shape[-1]:
        raise ValueError(
            f"x must have at least {2 * half} features, twice those of cos, got {x.shape[-1]}."
        )
    rotated, rest = x[..., : 2 * half], x[..., 2 * half :]
    if interleaved:
        a, b = rotated[..., 0::2], rotated[..., 1::2]
    else:
        a, b = rotated[..., :half], rotated[..., half:]
    first, second = a * cos - b * sin, a * sin + b * cos
    if interleaved:
        joined = torch.stack([first, second], dim=-1).flatten(-2)
    else:
        joined = torch.cat([first, second], dim=-1)
    return torch.cat([joined, rest], dim=-1) if rest.shape[-1] else joined


class Alibi(DistanceBias, Position):
    """−slope_h · |i − j| (Press 2022), with a slope for each head."""

    finite = True

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.num_heads = arguments.positive("num_heads", num_heads)

    @property
    def slopes(self) -> Tensor:
        """The slope of each head, (H,)."""
        return torch.tensor(_slopes(self.num_heads), dtype=torch.float64)

    def forward(self, distance: Tensor) -> Tensor:
        slopes = self.slopes.to(wide_dtype(distance.device)).to(distance.device)
        return -slopes[:, None, None] * distance.abs()

    def bias(self, offset: int = 0) -> Bias:
        return self.at(offset)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}"


class RelativeBias(DistanceBias, Position):
    """A learned bias for each head and each bucket of distances (Raffel 2020, T5).

    Small distances have a bucket each, larger ones share buckets that widen logarithmically up to
    `max_distance`. `bidirectional` separates left and right; without it (a causal model) all keys
    to the right share the bucket of distance 0. `weight` is (num_buckets, num_heads).
    """

    finite = True

    def __init__(
        self,
        num_heads: int,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        self.num_heads = arguments.positive("num_heads", num_heads)
        self.num_buckets = arguments.positive("num_buckets", num_buckets)
        self.max_distance = arguments.positive("max_distance", max_distance)
        self.bidirectional = bidirectional
        exact = (num_buckets // 2 if bidirectional else num_buckets) // 2
        if exact < 1 or max_distance <= exact:
            raise ValueError(
                f"max_distance must be above {exact}, and num_buckets at least "
                f"{4 if bidirectional else 2}, got {max_distance} and {num_buckets}."
            )
        self.weight = nn.Parameter(torch.zeros(num_buckets, num_heads))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, distance: Tensor) -> Tensor:
        return self.weight[self.bucket(distance)].movedim(-1, 0)

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance key − query."""
        number = self.num_buckets
        side: Tensor | int = 0
        if self.bidirectional:
            number //= 2
            side = (distance > 0) * number
            reach = distance.abs()
        else:
            reach = (-distance).clamp(min=0)
        exact = number // 2
        far = torch.log(reach.clamp(min=1).to(wide_dtype(reach.device)) / exact)
        far = far / math.log(self.max_distance / exact)
        wide = exact + (far * (number - exact)).long().clamp(max=number - exact - 1)
        return side + torch.where(reach < exact, reach, wide)

    def bias(self, offset: int = 0) -> Bias:
        return self.at(offset)

    def extra_repr(self) -> str:
        sizes = f"num_buckets={self.num_buckets}, max_distance={self.max_distance}"
        return f"num_heads={self.num_heads}, {sizes}"


def _angles(
    length: int, offset: int, dim: int, base: float, device: torch.device | str | None
) -> Tensor:
    """p / base^(2i/dim) in float64, (length, ⌈dim / 2⌉), of positions p = offset, offset + 1, …"""
    device = torch.device("cpu" if device is None else device)
    exact = torch.device("cpu") if device.type == "mps" else device  # Apple's GPUs have no float64
    position = torch.arange(offset, offset + length, device=exact, dtype=torch.float64)
    pair = torch.arange(0, dim, 2, device=exact, dtype=torch.float64)
    return position[:, None] * torch.exp(pair * (-math.log(base) / dim))


def _slopes(num_heads: int) -> list[float]:
    """2^(−8/n), 2^(−16/n), … for n a power of two; more heads take every other one of 2n."""
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    return slopes + _slopes(2 * power)[0::2][: num_heads - power] if num_heads > power else slopes
