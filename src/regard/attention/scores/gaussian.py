"""Nadaraya–Watson kernel regression as attention: the Gaussian score.

Shapes: query (…, Q, D), key (…, K, D), scores (…, Q, K).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from regard.attention.engines import arguments
from regard.attention.engines.precision import accumulated
from regard.attention.engines.tile import Index
from regard.attention.scores.prepared import GradOf, PreparedDot, PreparedScore, take_rows
from regard.attention.scores.score import Score, same_width

# the rounding of q·k − |k|²/2 up to which `auto` runs the score as a dot product
ROUNDING = 1e-5


class Gaussian(Score):
    """s = −|q − k|² / (2 w²) (Nadaraya 1964, Watson 1964).

    `width` is one number or one per feature; `learn=True` makes its logarithm a parameter
    (`log_width`). The engines dense and blockwise take differences, exact for keys anywhere. The
    fused engine takes a dot product, on keys relative to the center of the unmasked ones:
    q·k/w² − |k|²/2w², while −|q|²/2w² is constant in a row, cancels in the softmax and returns in
    the logsumexp. That rounds where keys spread over many widths; `auto` then avoids it.
    """

    finite = True
    centers_keys = True
    equation = "−|q_i − k_j|² / 2w²"

    def __init__(
        self, width: float | Sequence[float] | Tensor = 1.0, *, learn: bool = False
    ) -> None:
        super().__init__()
        given = torch.as_tensor(width, dtype=torch.float64).detach().cpu()
        if given.ndim > 1 or given.numel() == 0:
            raise ValueError(
                f"width must be one number or one per feature, got shape {tuple(given.shape)}."
            )
        if not bool(((given > 0) & torch.isfinite(given)).all()):
            raise ValueError(f"width must be above zero and finite, got {given.tolist()}.")
        self.learn = learn
        self.fixed_width: float | list[float] = given.tolist()
        if learn:
            self.log_width = nn.Parameter(given.log().to(torch.get_default_dtype()))

    @property
    def width(self) -> Tensor:
        """The width in use, () or (D,)."""
        if self.learn:
            return self.log_width.exp()
        return torch.tensor(self.fixed_width, dtype=torch.float64)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.prepare(query, key).scores()

    def prepare(self, query: Tensor, key: Tensor) -> PreparedGaussian:
        return PreparedGaussian(*self._in_widths(query, key))

    def as_dot(self, query: Tensor, key: Tensor, visible: Tensor | None = None) -> PreparedDot:
        query, key = self._in_widths(query, key)
        center = _center(key.detach(), visible)
        if key.shape[:-2] != query.shape[:-2]:  # grouped heads: one center for all
            center = center.mean(dim=-3, keepdim=True)
        query, key = query - center, key - center
        if visible is not None:  # a masked key must not matter
            key = key.masked_fill(~visible, 0.0)
        half_square = 0.5 * key.square().sum(dim=-1, keepdim=True)
        return PreparedDot(
            torch.cat([query, torch.ones_like(query[..., :1])], dim=-1),
            torch.cat([key, -half_square], dim=-1),
            shift=-0.5 * query.square().sum(dim=-1),
        )

    def rounds_as_dot(self, query: Tensor, key: Tensor) -> bool:
        if torch.compiler.is_compiling() or query.numel() == 0 or key.numel() == 0:
            return True
        with torch.no_grad():
            query, key = self._in_widths(query, key)
            center = key.mean(dim=tuple(range(key.ndim - 1)))
            reach = torch.maximum((key - center).abs().amax(), (query - center).abs().amax())
        rounding = query.shape[-1] * float(reach) ** 2 * torch.finfo(query.dtype).eps
        return not rounding <= ROUNDING

    def _in_widths(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys relative to a common point, in widths.

        Dividing first would round numbers far from zero, and their differences with them.
        """
        same_width(self, query, key)
        query, key = accumulated(query), accumulated(key)
        if key.shape[-2]:
            origin = _first(key)
            query, key = query - origin, key - origin
        if not self.learn and isinstance(self.fixed_width, float):
            return query / self.fixed_width, key / self.fixed_width
        width = self.width.to(query.dtype).to(query.device)
        if width.ndim and width.shape[0] != query.shape[-1]:
            raise ValueError(
                f"query must have {width.shape[0]} features, as many as Gaussian has widths, "
                f"got shape {arguments.shape(query)}."
            )
        return query / width, key / width

    def extra_repr(self) -> str:
        return f"width={self.width.tolist()}, learn={self.learn}"


@dataclass(frozen=True)
class PreparedGaussian(PreparedScore):
    """−|q − k|²/2 of queries and keys measured in widths, by differences."""

    query: Tensor
    key: Tensor

    def with_inputs(self, inputs: tuple[Tensor, ...]) -> Self:
        return replace(self, query=inputs[0], key=inputs[1])

    def tile(self, rows: Index, cols: Index) -> Tensor:
        query, key = take_rows(self.query, rows), take_rows(self.key, cols)
        distance = torch.cdist(query, key, compute_mode="donot_use_mm_for_euclid_dist")
        return -0.5 * distance.square()

    def steps(self, rows: Index, cols: Index) -> Iterator[tuple[str, str, Tensor]]:
        yield "raw scores", "s_ij = −|q_i − k_j|² / 2", self.tile(rows, cols)

    def tile_backward(
        self, rows: slice, cols: slice, grad_of: GradOf, into: tuple[Tensor | None, ...]
    ) -> None:
        """∂q = Σ_k g (k − q) and ∂k = Σ_q g (q − k), on numbers relative to the tile's center."""
        query, key = take_rows(self.query, rows), take_rows(self.key, cols)
        grad = grad_of(self.tile(rows, cols))
        center = key.mean(dim=-2, keepdim=True)
        query, key = query - center, key - center
        grad_query, grad_key = into
        if grad_query is not None:
            pull = grad @ key - grad.sum(dim=-1)[..., None] * query
            take_rows(grad_query, rows).add_(pull)
        if grad_key is not None:
            pull = grad.transpose(-2, -1) @ query - grad.sum(dim=-2)[..., None] * key
            take_rows(grad_key, cols).add_(pull)


def _first(key: Tensor) -> Tensor:
    """The first key of each sentence (of its first head), which is rarely padding."""
    for dim in range(key.ndim - 2, 0 if key.ndim > 2 else -1, -1):
        key = key.narrow(dim, 0, 1)
    return key.detach()


def _center(key: Tensor, visible: Tensor | None) -> Tensor:
    """The mean (…, 1, D) of the unmasked keys; zero where there are none."""
    if visible is None:
        return key.mean(dim=-2, keepdim=True) if key.shape[-2] else key.new_zeros(1)
    count = visible.sum(dim=-2, keepdim=True).clamp(min=1)
    return key.masked_fill(~visible, 0.0).sum(dim=-2, keepdim=True) / count
