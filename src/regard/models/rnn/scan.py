"""A recurrent layer over whole sentences, one direction or both at once.

Shapes: T steps, B sentences, G directions (1 or 2), I features of the input, D of the state,
E = gates · D. Directions run side by side in one loop, each with matrices of its own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.attention.engines.precision import as_given
from regard.models.rnn.cell import Cell, State


class Recurrence(nn.Module):
    """h_t = cell(W x_t, U h_{t−1}), for G directions.

    Parameters: `weight_ih` (G, I, E), `weight_hh` (G, D, E), `bias_ih` and `bias_hh` (G, E). They
    are torch's, transposed: a small batch times (I, E) is faster than times (E, I)ᵀ.
    """

    def __init__(self, cell: Cell, input_dim: int, dim: int, directions: int = 1) -> None:
        super().__init__()
        self.cell = cell
        width = cell.gates * dim
        self.weight_ih = nn.Parameter(torch.empty(directions, input_dim, width))
        self.weight_hh = nn.Parameter(torch.empty(directions, dim, width))
        self.bias_ih = nn.Parameter(torch.zeros(directions, width))
        self.bias_hh = nn.Parameter(torch.zeros(directions, width))
        for direction in range(directions):
            for gate in range(cell.gates):
                columns = slice(gate * dim, (gate + 1) * dim)
                nn.init.xavier_uniform_(self.weight_ih.data[direction, :, columns])
                nn.init.orthogonal_(self.weight_hh.data[direction, :, columns])

    def entering(self, inputs: Tensor) -> Tensor:
        """The input's share of the gates at all steps, (G, T, B, E), of inputs (G, T, B, I)."""
        directions, steps, batch, _ = inputs.shape
        flat = inputs.reshape(directions, steps * batch, -1)
        share = torch.baddbmm(self.bias_ih[:, None], flat, self.weight_ih)
        return share.view(directions, steps, batch, -1)

    def zeros(self, batch: int) -> State:
        """The state (G, B, D) before anything was read."""
        directions, dim, _ = self.weight_hh.shape
        return (self.weight_hh.new_zeros(directions, batch, dim),) * self.cell.states

    def forward(self, entering: Tensor, state: State) -> State:
        """The states (T, G, B, D) after every step, from the first `state` (G, B, D)."""
        return scan(self.cell, entering, self.weight_hh, self.bias_hh, state)


def scan(cell: Cell, entering: Tensor, weight: Tensor, bias: Tensor, state: State) -> State:
    """All states (T, G, B, D) of a cell, given the inputs' share of the gates (G, T, B, E)."""
    tensors = (entering, weight, bias, *state)
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        # torch gives `Function.apply` no types
        states: State = _Scan.apply(cell, *tensors)  # type: ignore[no-untyped-call]  # torch's
        return states
    return _stacked(_steps(cell, *tensors)[0][1:])


def _steps(
    cell: Cell, entering: Tensor, weight: Tensor, bias: Tensor, *state: Tensor
) -> tuple[list[State], list[State]]:
    """The states before and after every step, and what each step keeps for the way back."""
    states, kept = [state], []
    for step in range(entering.shape[1]):
        on = torch.baddbmm(bias[:, None], states[-1][0], weight)
        after, keep = cell.step(entering[:, step], on, states[-1])
        states.append(after)
        kept.append(keep)
    return states, kept


def _stacked(states: list[State]) -> State:
    return tuple(torch.stack(parts) for parts in zip(*states, strict=True))


class _Scan(torch.autograd.Function):
    """The loop, and the loop back."""

    @staticmethod
    def forward(
        ctx: Any, cell: Cell, entering: Tensor, weight: Tensor, bias: Tensor, *state: Tensor
    ) -> State:
        states, kept = _steps(cell, entering, weight, bias, *state)
        stacked = _stacked(states[1:])
        flat = [x for keep in kept for x in keep]
        ctx.cell, ctx.each = cell, len(flat) // max(1, len(kept))
        ctx.save_for_backward(weight, *state, *stacked, *flat)
        return stacked

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        cell: Cell = ctx.cell
        weight, *rest = ctx.saved_tensors
        first, stacked = tuple(rest[: cell.states]), tuple(rest[cell.states : 2 * cell.states])
        flat, steps = rest[2 * cell.states :], len(stacked[0])
        kept = [tuple(flat[n * ctx.each : (n + 1) * ctx.each]) for n in range(steps)]
        with as_given(weight.device):
            return None, *_backward(cell, weight, first, stacked, kept, grads)


def _backward(
    cell: Cell, weight: Tensor, first: State, stacked: State, kept: list[State], grads: State
) -> tuple[Tensor, ...]:
    """Gradients of the inputs' share, the matrix, its bias and the first state."""
    back = weight.transpose(1, 2).contiguous()
    carried: State = tuple(torch.zeros_like(x) for x in first)
    directions, batch, _ = first[0].shape
    x = weight.new_empty(directions, len(kept), batch, weight.shape[-1])
    u = x if cell.summed else torch.empty_like(x)
    for step in reversed(range(len(kept))):
        before = tuple(h[step - 1] for h in stacked) if step else first
        after = tuple(h[step] for h in stacked)
        grad = tuple(a + b[step] for a, b in zip(carried, grads, strict=True))
        hidden, *others = cell.back(grad, before, after, kept[step], x[:, step], u[:, step])
        through = u[:, step] @ back if hidden is None else hidden.baddbmm_(u[:, step], back)
        carried = (through, *[h for h in others if h is not None])
    hidden_before = torch.cat((first[0][None], stacked[0][:-1])).transpose(0, 1)
    flat_u, flat_before = u.flatten(1, 2), hidden_before.flatten(1, 2)
    return x, flat_before.transpose(1, 2) @ flat_u, flat_u.sum(1), *carried
