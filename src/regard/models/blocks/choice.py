"""Which sub-layers run as a block: those of plain Transformer layers in training on a CPU.

A block makes the same steps as the modules of `models/layer.py`, with fewer operations and its
backward pass written by hand. Everything else (other mechanisms, caches, half precision, other
devices, somebody who records or traces) is left to the modules.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import Mask, MultiHead, Position, Rotary, ScaledDot
from regard.attention.engines.choice import SMALL
from regard.attention.inspection import observe, parts
from regard.attention.mechanisms.full import Full
from regard.dropout import current_stream
from regard.models.blocks.attention import AttentionBlock, AttentionPlan
from regard.models.blocks.feed_forward import FeedForwardBlock

if TYPE_CHECKING:
    from regard.models.layer import FeedForward, Residual


def runs_in_blocks(x: Tensor) -> bool:
    """Whether blocks can take x (B, T, D) here and now."""
    return (
        x.device.type == "cpu"
        and current_stream() is not None
        and x.dtype in (torch.float32, torch.float64)
        and torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not parts.listeners()
        and not observe.OBSERVERS.get()
    )


def is_plain(attention: MultiHead) -> bool:
    """Whether it is softmax(q kᵀ · scale) v with one matrix for each of q, k, v and the output."""
    mechanism = attention.mechanism
    linear = (attention.query_proj, attention.key_proj, attention.value_proj, attention.out_proj)
    return (
        type(mechanism) is Full
        and mechanism.normalizer is None
        and mechanism.engine == "auto"
        and isinstance(mechanism.score, ScaledDot)
        and mechanism.score.softcap is None
        and (type(attention.positions) is Position or _rotates(attention))
        and attention.num_kv_heads == attention.num_heads
        and all(isinstance(part, nn.Linear) and part.bias is not None for part in linear)
    )


def _rotates(attention: MultiHead) -> bool:
    """Whether its positions rotate pairs of features in two halves."""
    positions = attention.positions
    return isinstance(positions, Rotary) and not positions.interleaved


def attention_block(
    around: Residual,
    attention: MultiHead,
    x: Tensor,
    mask: Mask | None,
    memory: Tensor | None,
    offset: int,
) -> Tensor | None:
    """The output of an attention sub-layer; None if a block cannot compute it."""
    keys = x if memory is None else memory
    size = x.shape[1], keys.shape[1]
    if len(x) * attention.num_heads * size[0] * size[1] > SMALL:
        return None
    if mask is not None and not mask.shows_first(*size):
        return None
    assert isinstance(attention.mechanism, Full) and isinstance(
        attention.mechanism.score, ScaledDot
    )
    scale, norm = attention.mechanism.score.scale, around.norm
    plan = AttentionPlan(
        around.pre_norm,
        norm.eps,
        around.p,
        attention.dropout,
        attention.num_heads,
        attention.head_dim**-0.5 if scale is None else scale,
        _angles(attention, x, offset),
    )
    projections = (
        attention.query_proj,
        attention.key_proj,
        attention.value_proj,
        attention.out_proj,
    )
    linear = [p for projection in projections for p in (projection.weight, projection.bias)]
    output: Tensor = AttentionBlock.apply(  # type: ignore[no-untyped-call]  # untyped in torch
        x, memory, _keep(mask, len(x), *size, x.dtype), plan, norm.weight, norm.bias, *linear
    )
    return output


def feed_forward_block(around: Residual, feed_forward: FeedForward, x: Tensor) -> Tensor:
    """The output of a feed-forward sub-layer with relu or gelu."""
    gelu = feed_forward.activation is functional.gelu
    norm, inner, outer = around.norm, feed_forward.inner, feed_forward.outer
    output: Tensor = FeedForwardBlock.apply(  # type: ignore[no-untyped-call]  # untyped in torch
        x,
        around.pre_norm,
        norm.eps,
        around.p,
        feed_forward.p,
        gelu,
        norm.weight,
        norm.bias,
        inner.weight,
        inner.bias,
        outer.weight,
        outer.bias,
    )
    return output


def _angles(attention: MultiHead, x: Tensor, offset: int) -> tuple[Tensor, Tensor] | None:
    """Cosine and sine of the angles of x's positions, if they are rotary."""
    positions = attention.positions
    if not isinstance(positions, Rotary):
        return None
    return positions.table(x.shape[1], offset, dtype=x.dtype)


@lru_cache(maxsize=8)  # all layers have the same masks
def _keep(
    mask: Mask | None, batch: int, num_queries: int, num_keys: int, dtype: torch.dtype
) -> Tensor | None:
    """1 where a key may be attended to and 0 where it is masked; None if no key is."""
    if mask is None:
        return None
    keep = mask.tensor(num_queries, num_keys, batch=(batch, 1))
    return None if keep.all() else keep.to(dtype)
