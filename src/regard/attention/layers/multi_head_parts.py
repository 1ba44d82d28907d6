"""The parts that a `MultiHead` layer is made of: its sizes, its projections, its mechanism.

Shapes: input (B, T, dim), projected (B, T, H · head_dim).

*separate* has a matrix for each head, *joint* one large matrix that is split into heads (the same
layer numerically, and faster), *slice* has none and splits its input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from regard.attention.layers.multi_head import MultiHead


class Joint(nn.Linear):
    """One matrix (num_heads · head_dim, dim) for all heads."""

    def __init__(self, dim: int, num_heads: int, head_dim: int, bias: bool) -> None:
        super().__init__(dim, num_heads * head_dim, bias)

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class Separate(nn.Module):
    """A matrix (head_dim, dim) for each head."""

    def __init__(self, dim: int, num_heads: int, head_dim: int, bias: bool) -> None:
        super().__init__()
        self.heads = nn.ModuleList(xavier_linear(dim, head_dim, bias) for _ in range(num_heads))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)


def xavier_linear(dim: int, out_dim: int, bias: bool) -> nn.Linear:
    """A linear layer with Xavier's initialization and a bias of zero."""
    linear = nn.Linear(dim, out_dim, bias=bias)
    nn.init.xavier_uniform_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear


def make_projections(layer: MultiHead, bias: bool) -> list[nn.Module]:
    """The projections of queries, keys and values."""
    sizes = (
        ("dim", layer.num_heads, "head_dim"),
        ("key_dim", layer.num_kv_heads, "head_dim"),
        ("value_dim", layer.num_kv_heads, "value_head_dim"),
    )
    if layer.projections == "slice":
        for name, num_heads, piece in sizes:
            width, head_dim = getattr(layer, name), getattr(layer, piece)
            if width != num_heads * head_dim:
                raise ValueError(
                    f"projections='slice' cuts {name} into {num_heads} pieces of {piece} "
                    f"{head_dim}, got {name} {width}."
                )
        return [nn.Identity() for _ in sizes]
    makers: dict[str, type[Joint] | type[Separate]] = {"joint": Joint, "separate": Separate}
    if layer.projections not in makers:
        raise ValueError(
            f'projections must be "joint", "separate" or "slice", got {layer.projections!r}.'
        )
    make = makers[layer.projections]
    return [
        make(getattr(layer, name), num_heads, getattr(layer, piece), bias)
        for name, num_heads, piece in sizes
    ]


def check_mechanism(
    mechanism: Mechanism, layer: MultiHead, score: object, normalizer: object, engine: str
) -> None:
    """Check that a mechanism fits a layer: it has its own score, and most need equal heads."""
    name = type(mechanism).__name__
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be one such as Local(64), got {mechanism!r}.")
    if score is not None or normalizer is not None or engine != "auto":
        raise ValueError(f"{name} has its own score, normalizer and engine; pass none.")
    if mechanism.facts.cross:
        return
    if layer.num_kv_heads != layer.num_heads:
        raise ValueError(f"{name} needs as many key/value heads as heads; leave num_kv_heads out.")
    if layer.key_dim != layer.dim or layer.value_dim != layer.dim:
        raise ValueError(f"{name} attends within one sequence; leave key_dim and value_dim out.")


def head_dim_of(dim: int, num_heads: int, head_dim: int | None) -> int:
    """The width of a head: as given, else dim / num_heads."""
    if head_dim is not None:
        return arguments.positive("head_dim", head_dim)
    if dim % num_heads:
        raise ValueError(
            f"dim must be divisible by num_heads, got dim={dim}, num_heads={num_heads}; "
            "give head_dim to choose the width of a head freely."
        )
    return dim // num_heads


def out_dim_of(dim: int, joined: int, out_dim: int | None, out_proj: bool) -> int:
    """The width of the output: as given, else the query's; without a projection the heads'."""
    if out_dim is not None:
        arguments.positive("out_dim", out_dim)
    if not out_proj and out_dim not in (None, joined):
        raise ValueError(
            f"out_proj=False only concatenates the heads, so out_dim must be num_heads · "
            f"value_head_dim = {joined}, got {out_dim}; leave out_dim out."
        )
    return joined if not out_proj else dim if out_dim is None else out_dim
