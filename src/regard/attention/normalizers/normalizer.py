"""Normalizers: from scores to weights; fully masked rows are exactly zero.

Shapes: scores and weights (…, Q, K); a row has the weights of one query.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from regard.attention.engines import arguments
from regard.attention.engines.precision import accumulated
from regard.attention.masks.mask import Mask, whole_numbers
from regard.attention.normalizers.entmax import entmax15, sparsemax


class Normalizer(Protocol):
    """Turns scores into weights, on the `engines` it names.

    `sums_to_one`: whether the weights of a row sum to one, unless it is fully masked.
    """

    engines: frozenset[str]
    sums_to_one: bool

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        """Weights (…, Q, K) of scores (…, Q, K); `keep` is True where a query may attend.

        `finite` promises that no score is −inf, which would mask its key as well.
        """
        ...


class _Shares:
    """Base of normalizers whose weights sum to one; a subclass defines `shares`."""

    engines = frozenset({"dense"})
    sums_to_one = True

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        scores, empty = _opened(scores, keep, finite)
        weights = self.shares(scores)
        return weights if empty is None else weights.masked_fill(empty, 0.0)

    def shares(self, scores: Tensor) -> Tensor:
        """Weights (…, Q, K) of scores of which every row has a finite one."""
        raise NotImplementedError(f"{type(self).__name__} must define shares(scores).")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Softmax(_Shares):
    """weight_j = exp(s_j) / Σ_k exp(s_k) over the unmasked keys; all zero if there are none."""

    engines = frozenset({"dense", "fused", "blockwise"})

    def shares(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=-1)


class Sparsemax(_Shares):
    """weight_j = [s_j − τ]₊, τ such that they sum to one: most are exactly zero (Martins 2016)."""

    def shares(self, scores: Tensor) -> Tensor:
        return sparsemax(scores)


class Entmax15(_Shares):
    """weight_j = [s_j / 2 − τ]₊², τ such that they sum to one: many are zero (Peters 2019)."""

    def shares(self, scores: Tensor) -> Tensor:
        return entmax15(scores)


class Sigmoid:
    """weight_j = 1 / (1 + exp(−s_j − b)): each key by itself, so that weights do not sum to one.

    `bias` is b. None, the default, is −log n with n the number of unmasked keys: then a row sums to
    about one, however long it is (Ramapuram 2024). 0 is the plain sigmoid.
    """

    engines = frozenset({"dense"})
    sums_to_one = False

    def __init__(self, bias: float | None = None) -> None:
        self.bias = None if bias is None else arguments.real("bias", bias)

    def __call__(
        self, scores: Tensor, keep: Tensor | None = None, *, finite: bool = False
    ) -> Tensor:
        sums = accumulated(scores)
        if keep is not None:
            sums = sums.masked_fill(~keep, -math.inf)
        if self.bias is not None:
            return torch.sigmoid(sums + self.bias).to(scores.dtype)
        seen = (sums.detach() > -math.inf).sum(dim=-1, keepdim=True).clamp(min=1)
        return torch.sigmoid(sums - seen.to(sums.dtype).log()).to(scores.dtype)

    def __repr__(self) -> str:
        return "Sigmoid()" if self.bias is None else f"Sigmoid(bias={self.bias})"


NORMALIZERS: dict[str, type[Softmax] | type[Sparsemax] | type[Entmax15] | type[Sigmoid]] = {
    "softmax": Softmax,
    "sparsemax": Sparsemax,
    "entmax15": Entmax15,
    "sigmoid": Sigmoid,
}
"""The normalizers by their names in settings."""


def masked_softmax(
    scores: Tensor, mask: Mask | Tensor | Sequence[int] | int | None = None
) -> Tensor:
    """Softmax over the last dimension of `scores`, in which masked keys get exactly 0.

    scores  (B, …, Q, K), or (B, K) with one row per sentence
    mask    a `Mask` or a boolean tensor (True = attend) that broadcasts to the scores; or whole
            numbers, the valid lengths: (B,), or (B, Q) with one for each query. A length n
            means the first n keys; one larger than K all of them.

    A fully masked row (length 0) gets all zeros, with zero gradient, never NaN.

    >>> masked_softmax(torch.zeros(2, 1, 4), torch.tensor([2, 4]))
    tensor([[[0.5000, 0.5000, 0.0000, 0.0000]],
    <BLANKLINE>
            [[0.2500, 0.2500, 0.2500, 0.2500]]])
    """
    if scores.ndim < 2:
        raise ValueError(
            f"scores must have shape (…, Q, K), got {tuple(scores.shape)}; "
            "add the dimension of queries."
        )
    keep = None
    if mask is not None:
        num_queries, num_keys = scores.shape[-2:]
        keep = _as_mask(mask, scores).tensor(
            num_queries, num_keys, batch=scores.shape[:-2], device=scores.device
        )
    return Softmax()(scores, keep)


def _as_mask(mask: Mask | Tensor | Sequence[int] | int, scores: Tensor) -> Mask:
    """A mask from a mask, a boolean tensor or valid lengths."""
    if isinstance(mask, Mask):
        return mask
    given = whole_numbers("lengths", mask)
    if given.dtype == torch.bool:
        return Mask.keep(given)
    if given.is_floating_point():
        raise TypeError(
            "mask must be booleans (True = attend) or whole numbers (valid lengths), "
            f"got {given.dtype}."
        )
    rows = tuple(scores.shape[:1]) if scores.ndim == 2 else (scores.shape[0], scores.shape[-2])
    fits = given.ndim <= len(rows) and all(
        n in (1, m) for n, m in zip(given.shape, rows, strict=False)
    )
    if not fits:
        shapes = f"({rows[0]},)" + (f" or {rows}" if len(rows) == 2 else "")
        raise ValueError(
            f"valid lengths must have shape {shapes} for scores of shape {tuple(scores.shape)}, "
            f"got {tuple(given.shape)}; if they are a mask, pass mask.bool()."
        )
    if scores.ndim == 2:  # (B, K): a batch of single queries
        keep = Mask.lengths(given).tensor(1, scores.shape[-1], batch=rows)
        return Mask.keep(keep.reshape(-1, scores.shape[-1]))
    return Mask.lengths(given)


def log_total(scores: Tensor) -> Tensor:
    """log Σ_j exp(s_j) of each row, (…, Q); −inf, with zero gradient, where a row is masked."""
    empty = _empty_rows(scores)
    total = torch.logsumexp(scores.masked_fill(empty, 0.0), dim=-1)
    return total.masked_fill(empty.squeeze(-1), -math.inf)


def _opened(scores: Tensor, keep: Tensor | None, finite: bool) -> tuple[Tensor, Tensor | None]:
    """Scores with masked ones −inf except in empty rows, and which rows those are (None: none)."""
    if finite and keep is None:
        return scores, None
    if finite and keep is not None:  # an empty row is unmasked, so that nothing becomes NaN
        empty = ~keep.any(dim=-1, keepdim=True)
        return scores.masked_fill(~(keep | empty), -math.inf), empty
    scores = scores if keep is None else scores.masked_fill(~keep, -math.inf)
    empty = _empty_rows(scores)
    return scores.masked_fill(empty, 0.0), empty


def _empty_rows(scores: Tensor) -> Tensor:
    """(…, Q, 1): True where every score is −inf."""
    if scores.shape[-1] == 0:
        return torch.ones((*scores.shape[:-1], 1), dtype=torch.bool, device=scores.device)
    return scores.detach().amax(dim=-1, keepdim=True) == -math.inf
