"""Monotonic attention (Raffel 2017): from left to right, one state at a time, never back.

From the place of the last look on, every state is asked in turn whether to stop there:

    e_s = g · v/|v| · tanh(W_q q + W_k h_s + b) + r        p_s = σ(e_s)

At inference the first state with e_s > 0 is taken, whole; where none is, the context is zero, and
so it stays. In training the weights are what a fair throw of these coins gives on average. With a
the weights of the query before,

    q_s = a_s + (1 − p_{s−1}) q_{s−1}       the chance to arrive at s
    weights_s = p_s q_s                     and to stop there

Noise on the energies makes it worth while to be sure, so that inference does what was trained.

Shapes: B sentences, S states, H hidden features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.attention.aligners.aligner import Aligner, Memory, Rows, weighted
from regard.attention.aligners.energy import Energy, energies
from regard.attention.attend import Attended
from regard.attention.engines import arguments
from regard.attention.engines.precision import wide_dtype
from regard.dropout import present_stream


@dataclass(frozen=True, eq=False)
class Stopped(Rows):
    """`weights` (B, S) of the query before: where it stopped; before the first, at the begin."""

    weights: Tensor


class Monotonic(Aligner):
    """One state, further and further on; what is lost at the end is no weight at all.

    While training, the expected weights under `noise` (its standard deviation); else hard ones.
    Parameters: those of `Energy` (`v` is used by its direction), `scale` (g, first as given),
    `bias` (b, (H,)) and `offset` (r, first as given).

    Much noise and steep energies are what makes the hard weights those that were trained: after 240
    small batches of short words spelled out, every place had the right output in 8 % of new words
    with noise 1 and scale 1, in 57 % with 2 and 1, in 95 % with 2 and 4, in 99 % with 4 and 8.
    """

    sums_to_one = False
    moves_forward = True

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        hidden_dim: int,
        *,
        noise: float = 4.0,
        scale: float = 8.0,
        offset: float = -1.0,
    ) -> None:
        super().__init__()
        self.noise = arguments.real("noise", noise)
        self.energy = Energy(query_dim, key_dim, hidden_dim)
        self.scale = nn.Parameter(torch.tensor(arguments.real("scale", scale)))
        self.bias = nn.Parameter(torch.zeros(hidden_dim))
        self.offset = nn.Parameter(torch.tensor(arguments.real("offset", offset)))

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.energy.key_proj(states) + self.bias
        return keys

    def begin(self, memory: Memory) -> Stopped:
        first = memory.values.new_zeros(memory.values.shape[:2])
        first[:, :1] = 1.0
        return Stopped(first.masked_fill(memory.absent, 0.0))

    def forward(self, query: Tensor, memory: Memory, state: Rows) -> tuple[Attended, Rows]:
        assert isinstance(state, Stopped)
        v = F.normalize(self.energy.v, dim=0) * self.scale
        found = energies(self.energy.query_proj(query), memory.keys, v) + self.offset
        if not self.training:
            weights = first_stop(found, state.weights, memory.absent)
        else:
            found = found + self.noise * _normal(found) if self.noise else found
            weights = expected_stop(found, state.weights, memory.absent)
        return weighted(weights, memory), Stopped(weights)


def first_stop(energy: Tensor, before: Tensor, absent: Tensor) -> Tensor:
    """(B, S): 1 at the first state with an energy above 0, from where it stopped `before` on.

    >>> energy = torch.tensor([[3.0, -1.0, 2.0, 2.0]])
    >>> first_stop(energy, torch.tensor([[0.0, 1.0, 0.0, 0.0]]), torch.zeros(1, 4, dtype=bool))
    tensor([[0., 0., 1., 0.]])
    """
    willing = (energy > 0) & (before.cumsum(-1) > 0) & ~absent
    return (willing & (willing.cumsum(-1) == 1)).to(energy.dtype)


def expected_stop(energy: Tensor, before: Tensor, absent: Tensor) -> Tensor:
    """(B, S): how likely it stops where, given the same of the query before, for all S at once.

    Equal to the recursion at the file's top; see `arrived` for how nearly.
    """
    stop = torch.sigmoid(energy).masked_fill(absent, 0.0)
    stay = F.logsigmoid(-energy).masked_fill(absent, 0.0)
    return stop * arrived(stay, before)


def arrived(log_stay: Tensor, before: Tensor) -> Tensor:
    """q_s = Σ_{k ≤ s} before_k · exp(L_s − L_k), (B, S), L_s = Σ_{l < s} log_stay_l.

    The paper's parallel form is cumprod(stay) · cumsum(before / cumprod(stay)), which divides by
    zero as soon as the product underflows, and is clipped for that. In the logarithm nothing
    underflows; what is left is the rounding of L, which is long, so that L is kept in float64.
    Largest error of the weights against the recursion in float64, after 60 queries over 400
    states with energies of deviation 1, 5 and 20: 7e-8, 1e-6 and 4e-6 in float32 (the recursion in
    float32: 1e-7, 3e-6, 1e-5), under 1e-11 in float64; the clipped form: 0.12, 0.9 and 1.
    """
    # torch gives `Function.apply` no types
    found: Tensor = _Arrived.apply(log_stay, before)  # type: ignore[no-untyped-call]  # torch's
    return found


class _Arrived(torch.autograd.Function):
    """Back: g_s = Σ_{j ≥ s} ∂q_j exp(L_j − L_s) goes to before_s, and q_s stay_s g_{s+1} to stay.

    Written out because a logarithm of weights that are zero has no gradient, though the sum has.
    """

    @staticmethod
    def forward(ctx: Any, log_stay: Tensor, before: Tensor) -> Tensor:
        wide = wide_dtype(log_stay.device)
        passed = F.pad(log_stay, (1, -1)).cumsum(-1, dtype=wide)  # L
        found = _carried(passed, before)
        ctx.save_for_backward(log_stay, passed, found)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        log_stay, passed, found = ctx.saved_tensors
        level, turned = -passed.flip(-1), grad.flip(-1)
        back = _carried(level, turned.clamp_min(0)) - _carried(level, (-turned).clamp_min(0))
        back = back.flip(-1)
        after = F.pad(back, (-1, 1))
        return found * log_stay.exp() * after, back


def _carried(level: Tensor, amounts: Tensor) -> Tensor:
    """Σ_{k ≤ s} amounts_k exp(level_s − level_k) of amounts ≥ 0, (B, S)."""
    return (level + (amounts.log() - level).logcumsumexp(-1)).exp().to(amounts.dtype)


def _normal(like: Tensor) -> Tensor:
    """Normal noise, from the thread's stream where dropout has one too."""
    stream = present_stream()
    if stream is None or like.device.type != "cpu":
        return torch.randn_like(like)
    drawn = stream.standard_normal(tuple(like.shape), dtype=np.float32)
    return torch.from_numpy(drawn).to(like.dtype)
