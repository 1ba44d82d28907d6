"""Where a word stands: attention alone does not see order, so positions tell it.

Shapes: x (…, T, D) words; heads (…, H, T, D); bias (H, Q, K).

A position takes part in one of three ways, and a layer calls all three on whichever it has:
`add` to what queries and keys are made from (Sinusoidal, Learned), `turn` the projected queries
and keys (Rotary), or give a `bias` to the scores (Alibi, RelativeBias).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.engines.precision import exact_device, wide_dtype
from regard.attention.masks.bias import Bias, DistanceBias


class Position(nn.Module):
    """Base of all positions: each of the three ways does nothing unless a position takes it."""

    def add(self, x: Tensor, offset: int = 0) -> Tensor:
        """Words x (…, T, D) with their places added; the first stands at `offset`."""
        return x

    def rotate(self, x: Tensor, offset: int = 0) -> Tensor:
        """Projected heads (…, H, T, D) turned by their places."""
        return x

    def bias(self, offset: int = 0) -> Bias | None:
        """What places add to the scores, for queries that start at `offset`."""
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
        arguments.width("words for Sinusoidal", x, self.dim)
        return x + self.table(x.shape[-2], offset, device=x.device, dtype=x.dtype)

    forward = add

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Learned(Position):
    """One learned vector per place, `weight` (max_length, dim) (Gehring 2017)."""

    def __init__(self, max_length: int, dim: int) -> None:
        super().__init__()
        self.max_length = arguments.positive("max_length", max_length)
        self.dim = arguments.positive("dim", dim)
        self.weight = nn.Parameter(torch.empty(max_length, dim))
        nn.init.normal_(self.weight, std=dim**-0.5)

    def add(self, x: Tensor, offset: int = 0) -> Tensor:
        arguments.width("words for Learned", x, self.dim)
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
    """Turn each pair of features by an angle that grows with the place (Su 2021).

    Queries at i and keys at j then meet at the angle of i − j alone. `dim` (even) is how many of
    a head's features turn, the rest pass; `interleaved` pairs neighbours (2i, 2i+1), otherwise the
    first half is paired with the second.
    """

    def __init__(self, dim: int, base: float = 10000.0, *, interleaved: bool = False) -> None:
        super().__init__()
        self.dim = arguments.positive("dim", dim)
        if dim % 2:
            raise ValueError(f"dim must be even, since features turn in pairs, got {dim}.")
        self.base = base
        self.interleaved = interleaved

    def rotate(self, x: Tensor, offset: int = 0) -> Tensor:
        angle = _angles(x.shape[-2], offset, self.dim, self.base, x.device)
        cos, sin = (part.to(x.dtype).to(x.device) for part in (angle.cos(), angle.sin()))
        return rotate(x, cos, sin, interleaved=self.interleaved)

    forward = rotate

    def extra_repr(self) -> str:
        return f"dim={self.dim}, interleaved={self.interleaved}"


def rotate(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = False) -> Tensor:
    """The first 2·R features of x (…, T, D) turned pairwise by angles of cos and sin (…, T, R).

    (a, b) becomes (a cos − b sin, a sin + b cos).
    """
    half = cos.shape[-1]
    if 2 * half > x.shape[-1]:
        raise ValueError(
            f"x of width {x.shape[-1]} has fewer features than the {2 * half} that are to turn."
        )
    turned, rest = x[..., : 2 * half], x[..., 2 * half :]
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
    else:
        a, b = turned[..., :half], turned[..., half:]
    first, second = a * cos - b * sin, a * sin + b * cos
    if interleaved:
        joined = torch.stack([first, second], dim=-1).flatten(-2)
    else:
        joined = torch.cat([first, second], dim=-1)
    return torch.cat([joined, rest], dim=-1) if rest.shape[-1] else joined


class Alibi(DistanceBias, Position):
    """−slope_h · |i − j|: the farther, the less (Press 2022), with a slope for each head."""

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
    """A learned number for each head and each bucket of distance (Raffel 2020, T5).

    Near distances have a bucket each, farther ones share buckets that widen logarithmically up to
    `max_distance`. `bidirectional` gives left and right their own buckets; without it (a causal
    model) all keys to the right share the bucket of distance 0. `weight` is (buckets, heads).
    """

    finite = True

    def __init__(
        self,
        num_heads: int,
        *,
        buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        self.num_heads = arguments.positive("num_heads", num_heads)
        self.buckets = arguments.positive("buckets", buckets)
        self.max_distance = arguments.positive("max_distance", max_distance)
        self.bidirectional = bidirectional
        exact = (buckets // 2 if bidirectional else buckets) // 2
        if exact < 1 or max_distance <= exact:
            raise ValueError(
                f"max_distance must be above {exact}, and buckets at least "
                f"{4 if bidirectional else 2}, got {max_distance} and {buckets}."
            )
        self.weight = nn.Parameter(torch.zeros(buckets, num_heads))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, distance: Tensor) -> Tensor:
        return self.weight[self.bucket(distance)].movedim(-1, 0)

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance key − query."""
        number = self.buckets
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
        return (
            f"num_heads={self.num_heads}, buckets={self.buckets}, max_distance={self.max_distance}"
        )


def _angles(
    length: int, offset: int, dim: int, base: float, device: torch.device | str | None
) -> Tensor:
    """p / base^(2i/dim) in float64, (length, ⌈dim / 2⌉), of positions p = offset, offset + 1, …"""
    exact = exact_device(device)
    place = torch.arange(offset, offset + length, device=exact, dtype=torch.float64)
    pair = torch.arange(0, dim, 2, device=exact, dtype=torch.float64)
    return place[:, None] * torch.exp(pair * (-math.log(base) / dim))


def _slopes(num_heads: int) -> list[float]:
    """2^(−8/n), 2^(−16/n), … for n a power of two; more heads take every other one of 2n."""
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    return slopes + _slopes(2 * power)[0::2][: num_heads - power] if num_heads > power else slopes
