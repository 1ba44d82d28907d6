"""A recurrent layer over whole sentences, in one or both directions.

Shapes: T steps, B sentences, G directions (1 or 2), I features of the input, D of the state,
E = num_gates · D. Both directions run in one loop, each with its own weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.attention.engines.precision import as_given
from regard.models.rnn.cell import RecurrentCell, States


class Recurrence(nn.Module):
    """h_t = cell(W x_t, U h_{t−1}), for G directions.

    Parameters: `weight_ih` (G, I, E), `weight_hh` (G, D, E), `bias_ih` and `bias_hh` (G, E): those
    of torch, transposed, because a small batch times (I, E) is faster than times (E, I)ᵀ.
    """

    def __init__(
        self, cell: RecurrentCell, input_dim: int, dim: int, num_directions: int = 1
    ) -> None:
        super().__init__()
        self.cell = cell
        width = cell.num_gates * dim
        self.weight_ih = nn.Parameter(torch.empty(num_directions, input_dim, width))
        self.weight_hh = nn.Parameter(torch.empty(num_directions, dim, width))
        self.bias_ih = nn.Parameter(torch.zeros(num_directions, width))
        self.bias_hh = nn.Parameter(torch.zeros(num_directions, width))
        for direction in range(num_directions):
            for gate in range(cell.num_gates):
                columns = slice(gate * dim, (gate + 1) * dim)
                nn.init.xavier_uniform_(self.weight_ih.data[direction, :, columns])
                nn.init.orthogonal_(self.weight_hh.data[direction, :, columns])

    def input_gates(self, inputs: Tensor) -> Tensor:
        """Return the inputs' part of the gates (G, T, B, E) for inputs (G, T, B, I)."""
        directions, steps, batch, _ = inputs.shape
        flat = inputs.reshape(directions, steps * batch, -1)
        gates = torch.baddbmm(self.bias_ih[:, None], flat, self.weight_ih)
        return gates.view(directions, steps, batch, -1)

    def initial_state(self, batch: int) -> States:
        """Return the zero state (G, B, D)."""
        directions, dim, _ = self.weight_hh.shape
        return (self.weight_hh.new_zeros(directions, batch, dim),) * self.cell.num_states

    def forward(self, input_gates: Tensor, state: States) -> States:
        """Return the states (T, G, B, D) after every step, from the initial `state` (G, B, D)."""
        return scan(self.cell, input_gates, self.weight_hh, self.bias_hh, state)


def scan(
    cell: RecurrentCell, input_gates: Tensor, weight: Tensor, bias: Tensor, state: States
) -> States:
    """Return all states (T, G, B, D) of a cell, given its input gates (G, T, B, E)."""
    tensors = (input_gates, weight, bias, *state)
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        states: States = _RecurrentScan.apply(cell, *tensors)  # type: ignore[no-untyped-call]  # untyped in torch
        return states
    return _stack(_steps(cell, *tensors)[0][1:])


def _steps(
    cell: RecurrentCell, input_gates: Tensor, weight: Tensor, bias: Tensor, *state: Tensor
) -> tuple[list[States], list[States]]:
    """Return the states before and after every step, and each step's saved tensors."""
    states, saved = [state], []
    for step in range(input_gates.shape[1]):
        state_gates = torch.baddbmm(bias[:, None], states[-1][0], weight)
        after, tensors = cell.step(input_gates[:, step], state_gates, states[-1])
        states.append(after)
        saved.append(tensors)
    return states, saved


def _stack(states: list[States]) -> States:
    return tuple(torch.stack(parts) for parts in zip(*states, strict=True))


class _RecurrentScan(torch.autograd.Function):
    """The loop over all steps, with its backward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        cell: RecurrentCell,
        input_gates: Tensor,
        weight: Tensor,
        bias: Tensor,
        *state: Tensor,
    ) -> States:
        ctx.cell = cell
        ctx.states, ctx.saved = _steps(cell, input_gates, weight, bias, *state)
        ctx.save_for_backward(weight)
        return _stack(ctx.states[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (weight,) = ctx.saved_tensors
        with as_given(weight.device):
            return None, *_backward(ctx.cell, weight, ctx.states, ctx.saved, grads)


def _backward(
    cell: RecurrentCell, weight: Tensor, states: list[States], saved: list[States], grads: States
) -> tuple[Tensor, ...]:
    """Return the gradients of the input gates, the weight, the bias and the initial state."""
    transposed = weight.transpose(1, 2).contiguous()
    carried: States = tuple(torch.zeros_like(h) for h in states[0])
    directions, batch, _ = states[0][0].shape
    x = weight.new_empty(directions, len(saved), batch, weight.shape[-1])
    u = x if cell.summed else torch.empty_like(x)
    for step in reversed(range(len(saved))):
        before, after = states[step : step + 2]
        grad = tuple(a + b[step] for a, b in zip(carried, grads, strict=True))
        hidden, *others = cell.backward(grad, before, after, saved[step], x[:, step], u[:, step])
        through = (
            u[:, step] @ transposed if hidden is None else hidden.baddbmm_(u[:, step], transposed)
        )
        carried = (through, *[h for h in others if h is not None])
    hidden_before = torch.cat([state[0] for state in states[:-1]], 1)
    flat_u = u.flatten(1, 2)
    return x, hidden_before.transpose(1, 2) @ flat_u, flat_u.sum(1), *carried
