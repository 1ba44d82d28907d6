"""Checks of the parts that a `MultiHead` layer is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.attention.engines import arguments
from regard.attention.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from regard.attention.layers.multi_head import MultiHead


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
