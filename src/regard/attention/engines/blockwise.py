"""Exact attention one tile of scores at a time, by the online softmax, with its own backward.

Forward, over the key tiles of a row block with running maximum m, total z and sum o (Milakov &
Gimelshein 2018; Rabe & Staats 2021):

    m' = max(m, max_j s_j)
    z' = z e^{m−m'} + Σ_j e^{s_j−m'}
    o' = o e^{m−m'} + Σ_j e^{s_j−m'} v_j

and the context is o / z. Backward recomputes each tile from the saved logsumexp l: with
p = e^{s−l}, ∂s = p (∂o·v − Σ ∂o·o). Memory is linear in length; key tiles hidden from a whole row
block by the mask's structure (causal, window, lengths) are skipped.

Shapes: (…, r, c) a tile of r queries and c keys; value (…, K, Dv).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attention.engines.call import AttentionCall
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.engines.tile import Tile
from regard.attention.masks.mask import Mask
from regard.attention.scores.prepared import Cell

TILE_SCORES = 1 << 20  # scores in a tile, over all leading dimensions
TILE_KEYS = 2048
LEAST_ROWS = 64  # with fewer, a tile's overhead exceeds its arithmetic


def blockwise(call: AttentionCall) -> tuple[Tensor, Tensor]:
    """Context (…, Q, Dv) and the logsumexp (…, Q) of the prepared scores."""
    seed = int(torch.randint(1 << 62, ())) if call.dropout else 0
    bias_inputs = () if call.bias is None else call.bias.inputs
    with as_given(call.value.device):
        context, total = _Blockwise.apply(  # type: ignore[no-untyped-call]  # untyped in torch
            _Plan(call, seed), call.value, *call.score.inputs, *bias_inputs
        )
    return context, total


@dataclass(frozen=True, eq=False)
class _Plan:
    call: AttentionCall
    seed: int

    def over(self, value: Tensor, inputs: tuple[Tensor, ...]) -> _Plan:
        """The plan over these tensors (detached ones inside the autograd function)."""
        call = self.call
        num = len(call.score.inputs)
        bias = None if call.bias is None else call.bias.with_inputs(inputs[num:])
        prepared = call.score.with_inputs(inputs[:num])
        return replace(self, call=replace(call, score=prepared, value=value, bias=bias))

    def emptied(self) -> _Plan:
        """The plan without its tensors, which autograd saves and frees."""
        call = self.call
        nothing = call.value.new_empty(0)
        num = len(call.score.inputs) + (0 if call.bias is None else len(call.bias.inputs))
        return self.over(nothing, (nothing,) * num)

    def row_blocks(self) -> Iterator[slice]:
        """Blocks of queries that are computed together."""
        lead = max(1, math.prod(self.call.batch))
        keys = min(TILE_KEYS, max(self.call.num_keys, 1))
        step = max(1, TILE_SCORES // (lead * keys))
        if self.call.mask is not None and step < self.call.num_queries:
            step = self._step_of_window(self.call.mask, lead, step)
        for start in range(0, self.call.num_queries, step):
            yield slice(start, min(start + step, self.call.num_queries))

    def _step_of_window(self, mask: Mask, lead: int, step: int) -> int:
        """The rows of a block where the mask's structure leaves each of them few keys.

        As many as a row has keys: with more of them most of a tile would be masked, with fewer
        keys would be read too often.
        """
        call = self.call
        middle = call.num_queries // 2
        num_visible = len(
            mask.key_range(range(middle, middle + 1), call.num_queries, call.num_keys)
        )
        if num_visible >= TILE_KEYS:
            return step
        rows = min(max(LEAST_ROWS, num_visible), call.num_queries)
        return max(1, min(rows, TILE_SCORES // (lead * (num_visible + rows))))

    def tiles(self, rows: slice) -> Iterator[Tile]:
        """The tiles of a row block that are not masked as a whole."""
        keys = range(self.call.num_keys)
        if self.call.mask is not None:
            block = range(rows.start, rows.stop)
            keys = self.call.mask.key_range(block, self.call.num_queries, self.call.num_keys)
        for start in range(keys.start, keys.stop, TILE_KEYS):
            yield self.call.tile(rows, slice(start, min(start + TILE_KEYS, keys.stop)))

    def scores(self, tile: Tile) -> Tensor:
        """The tile's scores, masked ones −inf."""
        return self.call.covered(tile, self.call.score.tile(tile.rows, tile.cols))

    def cover(self, tile: Tile, like: Tensor) -> Tensor | None:
        """What bias and mask add to the tile's scores: −inf where masked."""
        if self.call.bias is None and self.call.mask is None:
            return None
        return self.call.covered(tile, torch.zeros_like(like))

    def dropout_factors(self, tile: Tile, like: Tensor) -> Tensor | None:
        """The dropout factors of a tile, the same in each pass."""
        p = self.call.dropout
        if not p:
            return None
        assert isinstance(tile.rows, slice) and isinstance(tile.cols, slice)
        place = tile.rows.start * self.call.num_keys + tile.cols.start
        generator = torch.Generator(like.device).manual_seed((self.seed + place) % (1 << 63))
        return torch.empty_like(like).bernoulli_(1 - p, generator=generator).div_(1 - p)


class _Blockwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, value: Tensor, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        work = plan.over(value, inputs)
        batch, num_queries = work.call.batch, work.call.num_queries
        context = value.new_empty((*batch, num_queries, value.shape[-1]))
        total = accumulated(value.new_empty(0)).new_empty((*batch, num_queries))
        for rows in work.row_blocks():
            context[..., rows, :], total[..., rows] = _row_block(work, rows)
        ctx.plan = plan.emptied()
        ctx.save_for_backward(context, total, value, *inputs)
        return context, total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_context: Tensor, grad_total: Tensor) -> tuple[Tensor | None, ...]:
        context, total, value, *inputs = ctx.saved_tensors
        work = ctx.plan.over(value, tuple(inputs))
        wanted = ctx.needs_input_grad[1:]
        grads: list[Tensor | None] = [
            torch.zeros_like(accumulated(x), memory_format=torch.contiguous_format)
            if want
            else None
            for x, want in zip((value, *inputs), wanted, strict=True)
        ]
        with as_given(value.device):
            for rows in work.row_blocks():
                _row_block_backward(
                    work,
                    rows,
                    accumulated(context[..., rows, :]),
                    total[..., rows, None],
                    accumulated(grad_context[..., rows, :]),
                    grad_total[..., rows, None],
                    grads,
                )
        cast = (
            None if g is None else g.to(x.dtype)
            for g, x in zip(grads, (value, *inputs), strict=True)
        )
        return None, *cast


def _row_block(work: _Plan, rows: slice) -> tuple[Tensor, Tensor]:
    """Context (…, r, Dv) and logsumexp (…, r) of one row block."""
    value = work.call.value
    shape = (*work.call.batch, rows.stop - rows.start)
    like = accumulated(value.new_empty(0))
    top = like.new_full((*shape, 1), -math.inf)
    mass = like.new_zeros((*shape, 1))
    sums = like.new_zeros((*shape, value.shape[-1]))
    for tile in work.tiles(rows):
        scores = work.scores(tile)
        higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        base = higher.masked_fill(higher == -math.inf, 0.0)
        parts = (scores - base).exp_()
        fade = (top - base).exp_()
        mass = mass * fade + parts.sum(dim=-1, keepdim=True)
        factors = work.dropout_factors(tile, parts)
        if factors is not None:
            parts = parts.mul_(factors)
        sums = sums * fade + parts @ accumulated(value[..., tile.cols, :])
        top = higher
    total = torch.where(mass > 0, mass.log() + top, -math.inf)
    return (sums / mass.masked_fill(mass == 0, 1.0)).to(value.dtype), total.squeeze(-1)


def _row_block_backward(
    work: _Plan,
    rows: slice,
    context: Tensor,
    total: Tensor,
    grad_context: Tensor,
    grad_total: Tensor,
    grads: list[Tensor | None],
) -> None:
    """Add the gradients of one row block to those of value, score inputs and bias inputs."""
    call = work.call
    num = len(call.score.inputs)
    grad_value, form_grads, bias_grads = (
        grads[0],
        tuple(grads[1 : 1 + num]),
        tuple(grads[1 + num :]),
    )
    base = total.masked_fill(total == -math.inf, 0.0)
    drift = (grad_context * context).sum(dim=-1, keepdim=True) - grad_total
    for tile in work.tiles(rows):
        value = accumulated(call.value[..., tile.cols, :])
        slope = grad_context @ value.transpose(-2, -1)
        factors = work.dropout_factors(tile, slope)
        slope = (slope if factors is None else slope.mul_(factors)).sub_(drift)
        grad_of = _GradOfScores(base, slope, work.cover(tile, slope))
        assert isinstance(tile.rows, slice) and isinstance(tile.cols, slice)
        call.score.tile_backward(tile.rows, tile.cols, grad_of, form_grads)
        if grad_value is not None:
            used = grad_of.weights if factors is None else grad_of.weights * factors
            grad_value[..., tile.cols, :] += used.transpose(-2, -1) @ grad_context
        if call.bias is not None:
            call.bias.tile_backward(tile, grad_of.weights * slope, bias_grads)


class _GradOfScores:
    """p · slope with p = e^{s + cover − l}, of a tile's scores at once or cell by cell.

    Stores the weights p.
    """

    def __init__(self, base: Tensor, slope: Tensor, cover: Tensor | None) -> None:
        self.base = base
        self.slope = slope
        self.cover = cover
        self.stored: Tensor | None = None  # (…, r, c), or (N, r, c) while it fills cell by cell

    @property
    def weights(self) -> Tensor:
        """p, (…, r, c), of the tile."""
        assert self.stored is not None
        return self.stored.reshape(self.slope.shape)

    def __call__(self, scores: Tensor, cell: Cell | None = None) -> Tensor:
        base, slope, cover = self.base, self.slope, self.cover
        if cell is not None:
            num, rows, _ = cell
            base, slope = _flat(base)[num, rows], _flat(slope)[cell]
            cover = None if cover is None else _flat(cover)[cell]
        weights = (scores if cover is None else scores + cover).sub(base).exp_()
        if cell is None:
            self.stored = weights
        else:
            if self.stored is None:
                self.stored = torch.zeros_like(_flat(self.slope))
            self.stored[cell] = weights
        return weights * slope


def _flat(x: Tensor) -> Tensor:
    """(…, r, c) as (N, r, c); a view, since a tile's parts are contiguous."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
