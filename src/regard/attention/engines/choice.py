"""Which engine runs a call. The pick depends on the call alone, never on who is looking."""

from __future__ import annotations

import math

import torch

from regard.attention.masks.bias import Bias, TensorBias
from regard.attention.masks.mask import Mask, is_triangle
from regard.attention.normalizers.normalizer import Normalizer
from regard.attention.scores.score import Score

ENGINES = ("dense", "fused", "blockwise")
SMALL = 1 << 20  # scores up to which holding all at once is as good as any
LARGEST_MASK = 1 << 24  # a mask of more entries than this is evaluated by tiles


def chosen_engine(
    engine: str,
    able: frozenset[str],
    score: Score,
    normalizer: Normalizer,
    mask: Mask | None,
    bias: Bias | None,
    dropout: float,
    batch: tuple[int, ...],
    size: tuple[int, int],
) -> str:
    """The engine's name among those able; to name one that is not among them is an error."""
    if engine != "auto":
        if engine not in ENGINES:
            raise ValueError(
                f'engine must be "auto", "dense", "fused" or "blockwise", got {engine!r}.'
            )
        if engine not in able:
            raise ValueError(
                f"engine {engine!r} cannot run {type(score).__name__}({score.extra_repr()}) "
                f"with {normalizer!r}; "
                f"it runs on {_listed(able)}."
            )
        return engine
    if "fused" in able and not dropout and _fits_fused(mask, bias, batch, size):
        return "fused"
    if "dense" in able and ("blockwise" not in able or _fits_dense(score, batch, size)):
        return "dense"
    return "blockwise"


def _fits_fused(
    mask: Mask | None, bias: Bias | None, batch: tuple[int, ...], size: tuple[int, int]
) -> bool:
    """Whether torch's kernel stays on its fast path without a large mask being built for it."""
    if bias is not None and bias.requires_grad:
        return False
    if torch.compiler.is_exporting():  # what is exported is for any length
        return True
    if bias is not None and not isinstance(bias, TensorBias):
        return math.prod((*batch[-1:], *size)) <= LARGEST_MASK
    if mask is None or mask.by_key or is_triangle(mask, *size):
        return True
    return math.prod((*batch[:1], *size)) <= LARGEST_MASK


def _fits_dense(score: Score, batch: tuple[int, ...], size: tuple[int, int]) -> bool:
    """Whether all scores at once are few enough; a compiler gets the plain formula, and more."""
    if not torch.compiler.is_compiling():
        return math.prod((*batch, *size)) <= SMALL
    if torch.compiler.is_exporting():
        return True
    return math.prod((*batch, *size)) * score.numbers_per_score <= LARGEST_MASK


def _listed(names: frozenset[str]) -> str:
    return " and ".join(sorted(names)) or "no engine"
