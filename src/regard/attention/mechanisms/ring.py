"""Ring attention: the sequence split over processes, keys and values passed round.

Every rank holds an equal, consecutive shard of queries, keys and values. In as many turns as there
are ranks it attends from its queries to the keys that have come by, merges the answers by the
online softmax, and passes the keys on; on the way back they go round once more, with their
gradients. No rank ever holds more than two shards of keys.

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

from regard.attention.attend import attend
from regard.attention.engines import arguments
from regard.attention.engines.blockwise import blockwise
from regard.attention.engines.call import AttentionCall
from regard.attention.engines.precision import accumulated, as_given
from regard.attention.inspection import observe
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.full import SCORE, SOFTMAX
from regard.attention.mechanisms.mechanism import AttentionInput, Declared, Mechanism, unseen_call


class Ring(Mechanism):
    """Exact attention over a sequence that is split over ranks (Liu 2023).

    While training under more than one rank of torch.distributed, what it is given is this rank's
    shard, and lengths are those of whole sentences. Else it is given the whole sequence, and is
    plain exact attention.

    group  the process group; None: all processes
    """

    declared = Declared(
        answer="exact", masks=frozenset({"lengths", "causal"}), map="none",
        sums_to_one=True, cost="n² / ranks", growth=2.0,
    )  # fmt: skip

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        super().__init__()
        self.group = group

    def context(self, call: AttentionInput) -> Tensor:
        query, key, value = call.query, call.key, call.value
        if self.training and own_rank(self.group)[1] > 1:
            return ring_attention(
                query, key, value, causal=call.causal, lengths=call.lengths, group=self.group
            )
        return attend(query, key, value, score=SCORE, mask=call.mask).context

    def seen(self, call: AttentionInput) -> observe.NoWeights:
        """No map is declared: while the sequence is split, keys are elsewhere."""
        return unseen_call(call.query, "its keys are elsewhere")


def own_rank(group: dist.ProcessGroup | None = None) -> tuple[int, int]:
    """This process' place in the ring and how many there are; (0, 1) without torch.distributed."""
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

    All ranks call it together with shards of the same shape, and all go back together.
    """
    if query.shape[:-1] != key.shape[:-1] or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            "query, key and value must be equal shards, got "
            f"{arguments.shape(query)}, {arguments.shape(key)} and {arguments.shape(value)}."
        )
    rank, number = own_rank(group)
    turn = _Turn(rank, number, query.shape[-2], causal, lengths, group)
    if lengths is not None:  # what is hidden may be anything, even NaN
        place = torch.arange(turn.shard, device=key.device) + rank * turn.shard
        hidden = (place >= lengths.to(place.device)[:, None])[:, None, :, None]
        key, value = key.masked_fill(hidden, 0.0), value.masked_fill(hidden, 0.0)
    with as_given(value.device):
        # torch gives `Function.apply` no types
        context: Tensor = _Ring.apply(turn, query, key, value)  # type: ignore[no-untyped-call]  # torch's
    return context


@dataclass(frozen=True, eq=False)
class _Turn:
    """Whose keys are here in which turn, and what may be seen of them."""

    rank: int
    number: int
    shard: int
    causal: bool
    lengths: Tensor | None
    group: dist.ProcessGroup | None

    def sees(self, turn: int) -> bool:
        """Whether this rank's queries may see anything of this turn's keys."""
        return not self.causal or self._owner(turn) <= self.rank

    def mask(self, turn: int) -> Mask | None:
        """What they may see of them."""
        owner, mask = self._owner(turn), None
        if self.lengths is not None:
            mask = Mask.lengths((self.lengths - owner * self.shard).clamp(0, self.shard))
        if self.causal and owner == self.rank:
            mask = Mask.causal() if mask is None else mask & Mask.causal()
        return mask

    def passed_on(self, x: Tensor) -> _Passed:
        """Begin to send `x` to the next rank and to receive what the one before sends."""
        if self.number == 1:
            return _Passed(x, x, [])
        after, before = (self.rank + 1) % self.number, (self.rank - 1) % self.number
        if self.group is not None:
            after = dist.get_global_rank(self.group, after)
            before = dist.get_global_rank(self.group, before)
        x, came = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
        both = [
            dist.P2POp(dist.isend, x, after, self.group),
            dist.P2POp(dist.irecv, came, before, self.group),
        ]
        return _Passed(x, came, dist.batch_isend_irecv(both))

    def _owner(self, turn: int) -> int:
        return (self.rank - turn) % self.number


@dataclass(frozen=True, eq=False)
class _Passed:
    """A tensor on its way, and the one that comes for it."""

    sent: Tensor  # held until it has arrived
    came: Tensor
    requests: list[dist.Work]

    def wait(self) -> Tensor:
        """What came."""
        for request in self.requests:
            request.wait()
        return self.came


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, turn: _Turn, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        held = torch.cat([key, value], dim=-1)
        like = accumulated(value.new_empty(0))
        context = like.new_zeros(value.shape)
        total = like.new_full(value.shape[:-1], -math.inf)
        for number in range(turn.number):
            last = number == turn.number - 1
            passed = None if last else turn.passed_on(held)  # while it travels, it is read
            if turn.sees(number):
                part, part_total = _attended(query, held, turn.mask(number))
                higher = torch.logaddexp(total, part_total)
                context = context * _share(total, higher) + part * _share(part_total, higher)
                total = higher
            held = held if passed is None else passed.wait()
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
        held = torch.cat([key, value], dim=-1)
        grad_query = accumulated(torch.zeros_like(query))
        grad_held = accumulated(torch.zeros_like(held))
        for number in range(turn.number):
            passed = turn.passed_on(held)
            if turn.sees(number):
                add_query, add_held = _turn_backward(
                    query, held, turn.mask(number), total, grad_context, drift
                )
                grad_query += add_query
                grad_held += add_held
            # the gradients follow their keys, and after the last turn are at home
            grad_held = turn.passed_on(grad_held).wait()
            held = passed.wait()
        grad_key, grad_value = grad_held.split([key.shape[-1], value.shape[-1]], dim=-1)
        return None, grad_query.to(query.dtype), grad_key.to(key.dtype), grad_value.to(value.dtype)


def _attended(query: Tensor, held: Tensor, mask: Mask | None) -> tuple[Tensor, Tensor]:
    """Context and logsumexp over one shard of keys and values, tile by tile."""
    key, value = held.split([query.shape[-1], held.shape[-1] - query.shape[-1]], dim=-1)
    return blockwise(AttentionCall(SCORE.prepare(query, key), value, None, mask, SOFTMAX, 0.0))


def _turn_backward(
    query: Tensor, held: Tensor, mask: Mask | None, total: Tensor, grad_context: Tensor,
    drift: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """What one shard's part adds to the gradients of the queries and of its keys and values.

    With the part's share w = e^{l_part − l}: ∂part = w ∂o and ∂l_part = w (∂o·part − ∂o·o).
    """
    with torch.enable_grad():
        query, held = query.detach().requires_grad_(), held.detach().requires_grad_()
        part, part_total = _attended(query, held, mask)
    share = _share(part_total.detach(), total)
    inner = (grad_context * accumulated(part.detach())).sum(dim=-1)
    grads = (grad_context * share).to(part.dtype), share[..., 0] * (inner - drift)
    grad_query, grad_held = torch.autograd.grad((part, part_total), (query, held), grads)
    return grad_query, grad_held


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """e^{part − whole} (…, 1), zero where nothing was seen."""
    return (part - whole.masked_fill(whole == -math.inf, 0.0)).exp()[..., None]


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: dist.ProcessGroup | None) -> Tensor:
        ctx.dim, ctx.group, ctx.shard = dim, group, x.shape[dim]
        parts = [torch.empty_like(x, memory_format=torch.contiguous_format)
                 for _ in range(own_rank(group)[1])]  # fmt: skip
        dist.all_gather(parts, x.contiguous(), group=group)
        return torch.cat(parts, dim=dim)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        summed = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(summed, group=ctx.group)
        start = own_rank(ctx.group)[0] * ctx.shard
        return summed.narrow(ctx.dim, start, ctx.shard), None, None


def gathered(x: Tensor, dim: int, group: dist.ProcessGroup | None = None) -> Tensor:
    """All ranks' shards put together along `dim`, on every rank.

    Each rank's loss reads them, so a shard's gradient is the sum of what all ranks send back.
    """
    if own_rank(group)[1] == 1:
        return x
    whole: Tensor = _Gathered.apply(x, dim, group)  # type: ignore[no-untyped-call]  # torch's
    return whole


def own_shard(x: Tensor, dim: int, group: dist.ProcessGroup | None = None) -> Tensor:
    """This rank's equal, consecutive part of `x` along `dim`."""
    rank, number = own_rank(group)
    if x.shape[dim] % number:
        raise ValueError(
            f"a length of {x.shape[dim]} cannot be split evenly over {number} ranks; "
            "pad it to a multiple."
        )
    shard = x.shape[dim] // number
    return x.narrow(dim, rank * shard, shard)
