"""Which engine runs a call, and the score as that engine takes it.

The choice depends on the call alone, never on whether it is observed.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from regard.attention.masks.bias import Bias, TensorBias
from regard.attention.masks.mask import Mask, is_triangle
from regard.attention.normalizers.normalizer import Normalizer
from regard.attention.scores.prepared import PreparedPlain, PreparedScore
from regard.attention.scores.score import Score

Engine = Literal["auto", "dense", "fused", "blockwise"]
ENGINES = ("dense", "fused", "blockwise")
SMALL = 1 << 20  # scores up to which the dense engine is as fast as any
LARGEST_MASK = 1 << 24  # a mask of more entries than this is evaluated by tiles


def choose_engine(
    engine: str,
    score: Score,
    normalizer: Normalizer,
    query: Tensor,
    key: Tensor,
    mask: Mask | None,
    bias: Bias | None,
    dropout: float,
) -> str:
    """The name of the engine for a call; an engine that cannot run it is an error."""
    able = score.engines & normalizer.engines
    batch, size = tuple(query.shape[:-2]), (query.shape[-2], key.shape[-2])
    if engine != "auto":
        check_engine(engine)
        if engine not in able:
            raise ValueError(
                f"engine {engine!r} cannot run {type(score).__name__}({score.extra_repr()}) "
                f"with {normalizer!r}; "
                f"it runs on {' and '.join(sorted(able)) or 'no engine'}."
            )
        return engine
    if (
        "fused" in able
        and not dropout
        and _fits_fused(mask, bias, batch, size)
        and not score.rounds_as_dot(query, key)
    ):
        return "fused"
    if "dense" in able and ("blockwise" not in able or _fits_dense(score, batch, size)):
        return "dense"
    return "blockwise"


def prepare_score(
    name: str, engine: str, score: Score, query: Tensor, key: Tensor, mask: Mask | None
) -> PreparedScore:
    """The score for engine `name` (`engine` as the caller asked): a dot product, or by tiles."""
    if name == "fused":
        dot = score.as_dot(query, key, _visible_keys(query, key, mask, score))
        assert dot is not None
        return dot
    # one query is a decoding step, for which a score may have a shorter formula
    plain = engine == "dense" or query.shape[-2] == 1 or torch.compiler.is_compiling()
    if name == "dense" and plain:
        return PreparedPlain.of(score, query, key)
    return score.prepare(query, key)


def check_engine(engine: str) -> None:
    """Check the name of an engine."""
    if engine != "auto" and engine not in ENGINES:
        raise ValueError(f'engine must be "auto", "dense", "fused" or "blockwise", got {engine!r}.')


def _visible_keys(query: Tensor, key: Tensor, mask: Mask | None, score: Score) -> Tensor | None:
    """(…, K, 1): True where some query may attend to the key; for scores that ask for it."""
    if mask is None or not score.centers_keys:
        return None
    batch = tuple(query.shape[:-2])
    keep = mask.tensor(query.shape[-2], key.shape[-2], batch=batch, device=query.device)
    keep = keep.any(dim=-2)[..., None].expand(*keep.shape[:-2], key.shape[-2], 1)
    return keep.any(dim=-3, keepdim=True) if len(batch) > 1 and keep.ndim > 2 else keep


def _fits_fused(
    mask: Mask | None, bias: Bias | None, batch: tuple[int, ...], size: tuple[int, int]
) -> bool:
    """Whether torch's kernel stays on its fast path without a large mask being built for it."""
    if bias is not None and bias.requires_grad:
        return False
    if torch.compiler.is_exporting():  # an exported program is for any length
        return True
    if bias is not None and not isinstance(bias, TensorBias):
        return math.prod((*batch[-1:], *size)) <= LARGEST_MASK
    if mask is None or mask.by_key or is_triangle(mask, *size):
        return True
    return math.prod((*batch[:1], *size)) <= LARGEST_MASK


def _fits_dense(score: Score, batch: tuple[int, ...], size: tuple[int, int]) -> bool:
    """Whether all scores at once are few enough; compiled code may hold more of them."""
    if not torch.compiler.is_compiling():
        return math.prod((*batch, *size)) <= SMALL
    if torch.compiler.is_exporting():
        return True
    return math.prod((*batch, *size)) * score.numbers_per_score <= LARGEST_MASK
