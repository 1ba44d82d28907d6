"""What a `MultiHead` layer can be put together from, checked before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.attention.engines import arguments
from regard.attention.engines.choice import ENGINES
from regard.attention.layers.position import Position
from regard.attention.masks.mask import Mask, decompose_mask
from regard.attention.mechanisms.mechanism import Mechanism
from regard.attention.normalizers.normalizer import Normalizer
from regard.attention.scores.score import Score

if TYPE_CHECKING:
    from regard.attention.layers.multi_head import MultiHead


def check_parts(
    score: Score | None, positions: Position | None, normalizer: Normalizer | None, engine: str
) -> None:
    """Check what the layer is put together from, before anything runs."""
    if score is not None and not isinstance(score, Score):
        raise TypeError(f"score must be a Score such as ScaledDot(), got {score!r}.")
    if positions is not None and not isinstance(positions, Position):
        raise TypeError(f"positions must be a Position such as Rotary(8), got {positions!r}.")
    if normalizer is not None and not callable(normalizer):
        raise TypeError(f"normalizer must be one such as Softmax(), got {normalizer!r}.")
    if engine != "auto" and engine not in ENGINES:
        raise ValueError(f'engine must be "auto", {", ".join(ENGINES)}, got {engine!r}.')


def check_mask_of_cache(mask: Mask | None, new: int, before: int) -> None:
    """Word by word, a mechanism's words see those before them, and nothing else can be asked."""
    lengths, _, rest = decompose_mask(mask, new, new + before)
    if lengths is not None or rest is not None:
        raise ValueError(
            "with a cache, words see those before them; leave the mask out, or give "
            'Mask.causal(corner="bottom-right").'
        )


def check_mechanism(
    layer: MultiHead, score: Score | None, normalizer: Normalizer | None, engine: str
) -> None:
    """A mechanism scores and normalises by itself, head by head."""
    name = type(layer.mechanism).__name__
    if not isinstance(layer.mechanism, Mechanism):
        raise TypeError(f"mechanism must be one such as Local(64), got {layer.mechanism!r}.")
    if score is not None or normalizer is not None or engine != "auto":
        raise ValueError(f"{name} has its own score, normaliser and engine; give none.")
    if layer.num_kv_heads != layer.num_heads:
        raise ValueError(f"{name} needs as many key/value heads as heads; leave num_kv_heads out.")
    if layer.key_dim != layer.dim or layer.value_dim != layer.dim:
        raise ValueError(f"{name} attends within one sequence; leave key_dim and value_dim out.")


def head_dim_of(dim: int, num_heads: int, head_dim: int | None) -> int:
    """The width of a head: as asked, else dim / heads."""
    if head_dim is not None:
        return arguments.positive("head_dim", head_dim)
    if dim % num_heads:
        raise ValueError(
            f"dim must be divisible by num_heads, got dim={dim}, num_heads={num_heads}; "
            "give head_dim to choose the width of a head freely."
        )
    return dim // num_heads


def out_dim_of(dim: int, joined: int, out_dim: int | None, out_proj: bool) -> int:
    """The width of the output: as asked, else the query's; without a projection the heads'."""
    if out_dim is not None:
        arguments.positive("out_dim", out_dim)
    if not out_proj and out_dim not in (None, joined):
        raise ValueError(
            f"out_proj=False joins the heads and nothing else, so out_dim must be num_heads · "
            f"value_head_dim = {joined}, got {out_dim}; leave out_dim out."
        )
    return joined if not out_proj else dim if out_dim is None else out_dim
