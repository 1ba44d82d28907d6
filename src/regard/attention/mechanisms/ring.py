"""Ring attention: the sequence split over processes, keys and values passed around.

Every rank holds an equal, consecutive shard of queries, keys and values. In as many turns as there
are ranks it attends from its queries to the keys received, merges the results by the online
softmax, and sends the keys on; in the backward pass they go around once more, with their gradients.
No rank ever holds more than two shards of keys.

Shapes: query (B, H, n, D), key (B, H, n, D), value (B, H, n, Dv) of one rank; lengths (B,) of whole
sentences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attention.attend import attend_part
from regard.attention.engines import arguments
from regard.attention.engines.blockwise import blockwise
from regard.attention.engines.call import AttentionCall
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.inspection import observe
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import (
    SCALED_DOT,
    SOFTMAX,
    AttentionInput,
    Mechanism,
    no_weights,
)
from regard.config.mechanisms import RingSettings


class Ring(Mechanism):
    """Exact attention over a sequence that is split over ranks (Liu 2023).

    While training under several ranks of torch.distributed, its input is this rank's shard, and
    lengths are those of whole sentences. Otherwise it is full attention over the whole sequence.

    group  the process group; None: all processes
    """

    facts = RingSettings.facts

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        super().__init__()
        self.group = group

    def context(self, call: AttentionInput) -> Tensor:
        query, key, value = call.query, call.key, call.value
        if self.training and own_rank(self.group)[1] > 1:
            return ring_attention(
                query, key, value, causal=call.causal, lengths=call.lengths, group=self.group
            )
        return attend_part(query, key, value, mask=call.mask).context

    def weight_source(self, call: AttentionInput) -> observe.NoWeights:
        """There is no map: while the sequence is split, keys are on other ranks."""
        return no_weights(call.query, "its keys are on other ranks")


def own_rank(group: dist.ProcessGroup | None = None) -> tuple[int, int]:
    """This process' rank and the number of ranks; (0, 1) without torch.distributed."""
    if not (dist.is_available() and dist.is_initialized()):
        return 0, 1
    return dist.get_rank(group), dist.get_world_size(group)


def ring_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    causal: bool = False,
    lengths: Tensor | None = None,
    group: dist.ProcessGroup | None = None,
) -> Tensor:
    """softmax(QKᵀ/√D) V of this rank's queries over all ranks' keys, (B, H, n, Dv).

    All ranks call it, and its backward pass, together, with shards of the same shape.
    """
    if query.shape[:-1] != key.shape[:-1] or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            "query, key and value must be equal shards, got "
            f"{arguments.shape(query)}, {arguments.shape(key)} and {arguments.shape(value)}."
        )
    rank, num_ranks = own_rank(group)
    turn = _Turn(rank, num_ranks, query.shape[-2], causal, lengths, group)
    if lengths is not None:  # padding may be anything, even NaN
        position = torch.arange(turn.shard, device=key.device) + rank * turn.shard
        padding = (position >= lengths.to(key.device)[:, None])[:, None, :, None]
        key, value = key.masked_fill(padding, 0.0), value.masked_fill(padding, 0.0)
    with as_given(value.device):
        context: Tensor = _Ring.apply(turn, query, key, value)  # type: ignore[no-untyped-call]  # untyped in torch
    return context


@dataclass(frozen=True, eq=False)
class _Turn:
    """Which rank's keys this rank holds in which turn, and how they are masked."""

    rank: int
    num_ranks: int
    shard: int
    causal: bool
    lengths: Tensor | None
    group: dist.ProcessGroup | None

    def attends(self, turn: int) -> bool:
        """Whether this rank's queries attend to any of this turn's keys."""
        return not self.causal or self._owner(turn) <= self.rank

    def mask(self, turn: int) -> Mask | None:
        """The mask of this turn's keys."""
        owner, mask = self._owner(turn), None
        if self.lengths is not None:
            mask = Mask.lengths((self.lengths - owner * self.shard).clamp(0, self.shard))
        if self.causal and owner == self.rank:
            mask = Mask.causal() if mask is None else mask & Mask.causal()
        return mask

    def send_on(self, x: Tensor) -> _Transfer:
        """Begin to send `x` to the next rank and to receive the previous one's tensor."""
        if self.num_ranks == 1:
            return _Transfer(x, x, [])
        after, before = (self.rank + 1) % self.num_ranks, (self.rank - 1) % self.num_ranks
        if self.group is not None:
            after = dist.get_global_rank(self.group, after)
            before = dist.get_global_rank(self.group, before)
        x, received = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
        both = [
            dist.P2POp(dist.isend, x, after, self.group),
            dist.P2POp(dist.irecv, received, before, self.group),
        ]
        return _Transfer(x, received, dist.batch_isend_irecv(both))

    def _owner(self, turn: int) -> int:
        return (self.rank - turn) % self.num_ranks


@dataclass(frozen=True, eq=False)
class _Transfer:
    """A tensor being sent, and the one being received."""

    sent: Tensor  # referenced until it has arrived
    received: Tensor
    requests: list[dist.Work]

    def wait(self) -> Tensor:
        """The received tensor, once it is there."""
        for request in self.requests:
            request.wait()
        return self.received


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, turn: _Turn, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        shard = torch.cat([key, value], dim=-1)
        like = accumulated(value.new_empty(0))
        context = like.new_zeros(value.shape)
        total = like.new_full(value.shape[:-1], -math.inf)
        for number in range(turn.num_ranks):
            last = number == turn.num_ranks - 1
            transfer = None if last else turn.send_on(shard)  # overlaps with the attention
            if turn.attends(number):
                part, part_total = _attended(query, shard, turn.mask(number))
                higher = torch.logaddexp(total, part_total)
                context = context * _share(total, higher) + part * _share(part_total, higher)
                total = higher
            shard = shard if transfer is None else transfer.wait()
        context = context.to(value.dtype)
        ctx.turn = turn
        ctx.save_for_backward(query, key, value, context, total)
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, context, total = ctx.saved_tensors
        turn = ctx.turn
        grad_context = accumulated(gradients[0])
        drift = (grad_context * accumulated(context)).sum(dim=-1)
        shard = torch.cat([key, value], dim=-1)
        grad_query = accumulated(torch.zeros_like(query))
        grad_shard = accumulated(torch.zeros_like(shard))
        for number in range(turn.num_ranks):
            transfer = turn.send_on(shard)
            if turn.attends(number):
                add_query, add_shard = _turn_backward(
                    query, shard, turn.mask(number), total, grad_context, drift
                )
                grad_query += add_query
                grad_shard += add_shard
            # the gradients follow their keys, and return to their rank after the last turn
            grad_shard = turn.send_on(grad_shard).wait()
            shard = transfer.wait()
        grad_key, grad_value = grad_shard.split([key.shape[-1], value.shape[-1]], dim=-1)
        return None, grad_query.to(query.dtype), grad_key.to(key.dtype), grad_value.to(value.dtype)


def _attended(query: Tensor, shard: Tensor, mask: Mask | None) -> tuple[Tensor, Tensor]:
    """Context and logsumexp over one shard of keys and values, tile by tile."""
    key, value = shard.split([query.shape[-1], shard.shape[-1] - query.shape[-1]], dim=-1)
    return blockwise(AttentionCall(SCALED_DOT.prepare(query, key), value, None, mask, SOFTMAX, 0.0))


def _turn_backward(
    query: Tensor,
    shard: Tensor,
    mask: Mask | None,
    total: Tensor,
    grad_context: Tensor,
    drift: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gradients of the queries, and of one shard's keys and values, from that shard's part.

    With the part's share w = e^{l_part − l}: ∂part = w ∂o and ∂l_part = w (∂o·part − ∂o·o).
    """
    with torch.enable_grad():
        query, shard = query.detach().requires_grad_(), shard.detach().requires_grad_()
        part, part_total = _attended(query, shard, mask)
    share = _share(part_total.detach(), total)
    inner = (grad_context * accumulated(part.detach())).sum(dim=-1)
    grads = (grad_context * share).to(part.dtype), share[..., 0] * (inner - drift)
    grad_query, grad_shard = torch.autograd.grad((part, part_total), (query, shard), grads)
    return grad_query, grad_shard


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """e^{part − whole} (…, 1), zero where all keys are masked."""
    return (part - whole.masked_fill(whole == -math.inf, 0.0)).exp()[..., None]


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: dist.ProcessGroup | None) -> Tensor:
        ctx.dim, ctx.group, ctx.shard = dim, group, x.shape[dim]
        parts = [
            torch.empty_like(x, memory_format=torch.contiguous_format)
            for _ in range(own_rank(group)[1])
        ]
        dist.all_gather(parts, x.contiguous(), group=group)
        return torch.cat(parts, dim=dim)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        summed = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(summed, group=ctx.group)
        start = own_rank(ctx.group)[0] * ctx.shard
        return summed.narrow(ctx.dim, start, ctx.shard), None, None


def gathered(x: Tensor, dim: int, group: dist.ProcessGroup | None = None) -> Tensor:
    """All ranks' shards concatenated along `dim`, on every rank.

    Each rank's loss depends on them, so a shard's gradient is the sum over all ranks.
    """
    if own_rank(group)[1] == 1:
        return x
    whole: Tensor = _Gathered.apply(x, dim, group)  # type: ignore[no-untyped-call]  # untyped in torch
    return whole


def own_shard(x: Tensor, dim: int, group: dist.ProcessGroup | None = None) -> Tensor:
    """This rank's equal, consecutive part of `x` along `dim`."""
    rank, num_ranks = own_rank(group)
    if x.shape[dim] % num_ranks:
        raise ValueError(
            f"a length of {x.shape[dim]} cannot be split evenly over {num_ranks} ranks; "
            "pad it to a multiple."
        )
    shard = x.shape[dim] // num_ranks
    return x.narrow(dim, rank * shard, shard)
