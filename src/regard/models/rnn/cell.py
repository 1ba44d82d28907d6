"""Recurrent cells: one step from the gates' pre-activations to the next state.

A cell is a pair of pure functions, the step and its derivative. The derivative is explicit so that
the loops over a sentence (`scan`, `loop`) have their own backward pass, in which the gradients of
the weights are one matrix product after the loop instead of one sum per step.

Shapes: D features of the state; x and u (…, num_gates · D), the pre-activations of the gates from
the input and from the previous state, biases included; every state (…, D). The gates are in torch's
order.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

States = tuple[Tensor, ...]
"""The hidden state h, and for the LSTM the cell state c."""


class RecurrentCell(Protocol):
    """A kind of cell, with `num_gates` gates and `num_states` states of width D."""

    num_gates: int
    num_states: int
    summed: bool
    """Whether the cell uses only the sum x + u, whose gradient is that of both."""

    def step(self, x: Tensor, u: Tensor, before: States) -> tuple[States, States]:
        """Return the next state, and the tensors that the backward pass needs."""
        ...

    def backward(
        self, grad: States, before: States, after: States, saved: States, x: Tensor, u: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Backpropagate one step, given the gradients of the state after it.

        The gradients of the pre-activations are written to `x` and `u`, which may be the same
        tensor if `summed`. Returns the gradients of the state before along paths other than u;
        None where there is none.
        """
        ...


class Vanilla:
    """h' = tanh(x + u) (Elman 1990)."""

    num_gates, num_states, summed = 1, 1, True

    def step(self, x: Tensor, u: Tensor, before: States) -> tuple[States, States]:
        return (torch.tanh(x + u),), ()

    def backward(
        self, grad: States, before: States, after: States, saved: States, x: Tensor, u: Tensor
    ) -> tuple[Tensor | None, ...]:
        _tanh_backward(grad[0], after[0], x)
        return (None,)


class Gru:
    """r, z = σ(x + u), n = tanh(x + r ⊙ u), h' = (1 − z) ⊙ n + z ⊙ h (Cho 2014).

    The reset gate r acts after the product with the state's matrix, as in torch.
    """

    num_gates, num_states, summed = 3, 1, False

    def step(self, x: Tensor, u: Tensor, before: States) -> tuple[States, States]:
        width = before[0].shape[-1]
        both = torch.sigmoid(x[..., : 2 * width] + u[..., : 2 * width])
        reset, update = both.chunk(2, -1)
        state_part = u[..., 2 * width :]
        new = torch.tanh(torch.addcmul(x[..., 2 * width :], reset, state_part))
        return (torch.lerp(new, before[0], update),), (both, new, state_part)

    def backward(
        self, grad: States, before: States, after: States, saved: States, x: Tensor, u: Tensor
    ) -> tuple[Tensor | None, ...]:
        both, new, state_part = saved
        width = new.shape[-1]
        reset, update = both.chunk(2, -1)
        grad_both, grad_new = x[..., : 2 * width], x[..., 2 * width :]
        through = grad[0] * update
        _tanh_backward(grad[0] - through, new, grad_new)
        torch.mul(grad_new, state_part, out=x[..., :width])
        torch.mul(grad[0], before[0] - new, out=x[..., width : 2 * width])
        _sigmoid_backward(grad_both, both, grad_both)
        u[..., : 2 * width] = grad_both
        torch.mul(grad_new, reset, out=u[..., 2 * width :])
        return (through,)


class Lstm:
    """i, f, o = σ(x + u), g = tanh(x + u), c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c') (Gers 2000)."""

    num_gates, num_states, summed = 4, 2, True

    def step(self, x: Tensor, u: Tensor, before: States) -> tuple[States, States]:
        width = before[0].shape[-1]
        total = x + u
        both = torch.sigmoid(total[..., : 2 * width])  # i and f
        new = torch.tanh(total[..., 2 * width : 3 * width])
        out = torch.sigmoid(total[..., 3 * width :])
        in_gate, forget = both.chunk(2, -1)
        cell = torch.addcmul(forget * before[1], in_gate, new)
        tanh_cell = torch.tanh(cell)
        return (out * tanh_cell, cell), (both, new, out, tanh_cell)

    def backward(
        self, grad: States, before: States, after: States, saved: States, x: Tensor, u: Tensor
    ) -> tuple[Tensor | None, ...]:
        both, new, out, tanh_cell = saved
        in_gate, forget = both.chunk(2, -1)
        grad_input, grad_forget, grad_new, grad_out = x.chunk(4, -1)
        grad_cell = grad[1] + torch.ops.aten.tanh_backward.default(grad[0] * out, tanh_cell)
        grad_both = x[..., : both.shape[-1]]
        torch.mul(grad_cell, new, out=grad_input)
        torch.mul(grad_cell, before[1], out=grad_forget)
        _sigmoid_backward(grad_both, both, grad_both)
        _tanh_backward(grad_cell * in_gate, new, grad_new)
        _sigmoid_backward(grad[0] * tanh_cell, out, grad_out)
        return None, grad_cell * forget


CELLS: dict[str, RecurrentCell] = {"rnn": Vanilla(), "gru": Gru(), "lstm": Lstm()}
"""The cells by their name in the settings."""


def _tanh_backward(grad: Tensor, tanh: Tensor, out: Tensor) -> None:
    """out = grad · (1 − tanh²)."""
    torch.ops.aten.tanh_backward.grad_input(grad, tanh, grad_input=out)


def _sigmoid_backward(grad: Tensor, sigmoid: Tensor, out: Tensor) -> None:
    """out = grad · σ (1 − σ)."""
    torch.ops.aten.sigmoid_backward.grad_input(grad, sigmoid, grad_input=out)
