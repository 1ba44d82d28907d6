"""One call of attention with its parts prepared: what engines run and observers see.

Shapes: B…H leading dimensions (`batch`), Q queries, K keys, r chosen rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.engines.tile import Index, Tile
from regard.attention.masks.bias import Bias
from regard.attention.masks.mask import Mask
from regard.attention.normalizers.normalizer import Normalizer, log_total
from regard.attention.scores.prepared import PreparedScore, spread, take_rows

ROWS_AT_ONCE = 1 << 22  # scores in memory when rows are computed for observers


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """A prepared score, bias, mask, normalizer and the values."""

    score: PreparedScore
    value: Tensor
    bias: Bias | None
    mask: Mask | None
    normalizer: Normalizer
    dropout: float
    nonfinite_rows: Tensor | None = None  # (…, Q, 1): rows that see a non-finite number
    over: str = "keys"  # what a column of the weights is; "projected": made of all keys

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading dimensions of the scores."""
        return tuple(self.score.query.shape[:-2])

    @property
    def num_queries(self) -> int:
        """Q."""
        return self.score.query.shape[-2]

    @property
    def num_keys(self) -> int:
        """K."""
        return self.score.key.shape[-2]

    def spread(self) -> AttentionCall:
        """The same call with grouped keys and values repeated, one for each query head."""
        heads = self.score.query.shape[-3] if self.value.ndim > 2 else 1
        if self.value.ndim < 3 or self.value.shape[-3] == heads:
            return self
        return replace(self, score=self.score.spread(heads), value=spread(self.value, heads))

    def tile(self, rows: Index, cols: Index) -> Tile:
        """These rows and columns of the score matrix."""
        device = self.score.query.device
        return Tile(rows, cols, self.num_queries, self.num_keys, self.batch, device)

    def whole(self) -> Tile:
        """The tile that is the whole score matrix."""
        return self.tile(slice(0, self.num_queries), slice(0, self.num_keys))

    def scores(self, rows: Index, cols: Index) -> Tensor:
        """Scores (…, r, c) with bias and mask: masked ones are −inf."""
        tile = self.tile(rows, cols)
        return self.covered(tile, self.score.tile(rows, cols))

    def covered(self, tile: Tile, scores: Tensor) -> Tensor:
        """The tile's raw scores with the bias added and the masked ones −inf."""
        if self.bias is not None:
            scores = scores + self.bias.tile(tile).to(scores.dtype)
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask.tile(tile), -math.inf)
        return scores

    def weights(self, rows: Tensor | None = None, heads: Tensor | None = None) -> Tensor:
        """Weights (…, r, K) of the asked rows and heads (all by default), before dropout."""
        call = self if heads is None else self._of_heads(heads)
        call = call.spread()
        every = torch.arange(self.num_queries, device=self.score.query.device)
        chosen = every if rows is None else rows
        step = max(1, ROWS_AT_ONCE // max(1, math.prod(call.batch) * self.num_keys))
        blocks = [call._weights_of(block) for block in chosen.split(step)]
        return torch.cat(blocks, dim=-2) if len(blocks) != 1 else blocks[0]

    def log_total(self) -> Tensor:
        """logsumexp (…, Q) of each query's scores; −inf where all keys are masked."""
        call = self.spread()
        step = max(1, ROWS_AT_ONCE // max(1, math.prod(self.batch) * self.num_keys))
        cols = slice(0, self.num_keys)
        parts = [
            log_total(call.scores(slice(i, min(i + step, self.num_queries)), cols))
            for i in range(0, max(self.num_queries, 1), step)
        ]
        return self.finished(torch.cat(parts, dim=-1))

    def finished(self, total: Tensor) -> Tensor:
        """A logsumexp of the prepared scores with the row constant that they leave out."""
        shift = getattr(self.score, "shift", None)
        total = total if shift is None else total + shift
        return (
            total
            if self.nonfinite_rows is None
            else total.masked_fill(self.nonfinite_rows[..., 0], math.nan)
        )

    def steps(self, rows: Tensor, heads: Tensor | None = None) -> Iterator[tuple[str, str, Tensor]]:
        """Query, keys, values and the scores on their way to the normalizer, for `trace`."""
        call = (self if heads is None else self._of_heads(heads)).spread()
        cols = slice(0, call.num_keys)
        yield "query", "q", take_rows(call.score.query, rows)
        yield "keys", "k", call.score.key
        yield "values", "v", call.value
        scores = call.value
        for name, equation, scores in call.score.steps(rows, cols):
            yield name, equation, scores
        tile = call.tile(rows, cols)
        if call.bias is not None:
            scores = replace(call, mask=None).covered(tile, scores)
            yield "biased", "s_ij + b_ij", scores
        if call.mask is not None:
            scores = replace(call, bias=None).covered(tile, scores)
            yield "masked", "s_ij, or −∞ where masked", scores

    def _weights_of(self, rows: Tensor) -> Tensor:
        weights = self.normalizer(self.scores(rows, slice(0, self.num_keys)))
        return self.marked(weights, rows)

    def marked(self, weights: Tensor, rows: Tensor | None = None) -> Tensor:
        """Weights in the values' dtype; NaN in rows that attend to a non-finite number."""
        if self.nonfinite_rows is not None:
            nonfinite_rows = (
                self.nonfinite_rows if rows is None else take_rows(self.nonfinite_rows, rows)
            )
            weights = weights.masked_fill(nonfinite_rows, math.nan)
        return weights if weights.dtype == self.value.dtype else weights.to(self.value.dtype)

    def _of_heads(self, heads: Tensor) -> AttentionCall:
        """The call restricted to some heads, the last of the leading dimensions."""
        call = self.spread()
        query, key, *rest = call.score.inputs
        prepared = call.score.with_inputs(
            (query.index_select(-3, heads), key.index_select(-3, heads), *rest)
        )
        return replace(
            call,
            score=prepared,
            value=call.value.index_select(-3, heads),
            mask=None if call.mask is None else _HeadsMask(call.mask, call.batch, heads),
            bias=None if call.bias is None else _HeadsBias(call.bias, call.batch, heads),
            nonfinite_rows=None
            if call.nonfinite_rows is None
            else _some_heads(call.nonfinite_rows, heads),
        )


def _some_heads(x: Tensor, heads: Tensor) -> Tensor:
    if x.ndim < 3 or x.shape[-3] == 1:
        return x
    return x.index_select(-3, heads)


@dataclass(frozen=True, eq=False)
class _HeadsMask(Mask):
    """A mask restricted to some heads."""

    mask: Mask
    batch: tuple[int, ...]
    heads: Tensor

    def tile(self, tile: Tile) -> Tensor:
        return _some_heads(self.mask.tile(replace(tile, batch=self.batch)), self.heads)


@dataclass(frozen=True, eq=False)
class _HeadsBias(Bias):
    """A bias restricted to some heads; for observers only, without a gradient."""

    bias: Bias
    batch: tuple[int, ...]
    heads: Tensor

    def tile(self, tile: Tile) -> Tensor:
        return _some_heads(self.bias.tile(replace(tile, batch=self.batch)), self.heads)
