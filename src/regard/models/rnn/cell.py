"""The recurrent cells: what one step makes of the input's and the state's share of the gates.

A cell is a pair of pure functions, the step and its derivative. The derivative is written out
because the loops over a sentence (`rnn_scan`, `rnn_loop`) go back by hand: so the gradients of the
weights, which every step would add to, become one matrix product after the loop.

Shapes: D features of the state; x and u (…, gates · D), the shares of the gates that come from the
input and from the state before, biases included; every state (…, D). The gates stand in torch's
order.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

State = tuple[Tensor, ...]
"""The hidden state h, and for the LSTM the cell state c."""


class Cell(Protocol):
    """A kind of cell: `gates` of width D, `states` to be carried on."""

    gates: int
    states: int
    summed: bool

    def step(self, x: Tensor, u: Tensor, before: State) -> tuple[State, State]:
        """The state after, and what the way back needs to know of the step."""
        ...

    def back(
        self, grad: State, before: State, after: State, kept: State, x: Tensor, u: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Go back one step, given the gradients of the state after it.

        Those of the gates' shares are written to `x` and `u`, which may be one where the cell only
        ever uses their sum (`summed`). Gives those of the state before by ways that do not lead
        through u: None where there is no such way.
        """
        ...


class Vanilla:
    """h' = tanh(x + u) (Elman 1990)."""

    gates, states, summed = 1, 1, True

    def step(self, x: Tensor, u: Tensor, before: State) -> tuple[State, State]:
        return (torch.tanh(x + u),), ()

    def back(
        self, grad: State, before: State, after: State, kept: State, x: Tensor, u: Tensor
    ) -> tuple[Tensor | None, ...]:
        _tanh_back(grad[0], after[0], x)
        return (None,)


class Gru:
    """r, z = σ(x + u), n = tanh(x + r ⊙ u), h' = (1 − z) ⊙ n + z ⊙ h (Cho 2014).

    The reset gate r acts after the product with the state's matrix, as in torch.
    """

    gates, states, summed = 3, 1, False

    def step(self, x: Tensor, u: Tensor, before: State) -> tuple[State, State]:
        width = before[0].shape[-1]
        both = torch.sigmoid(x[..., : 2 * width] + u[..., : 2 * width])
        reset, update = both.chunk(2, -1)
        of_state = u[..., 2 * width :]
        new = torch.tanh(torch.addcmul(x[..., 2 * width :], reset, of_state))
        return (torch.lerp(new, before[0], update),), (both, new, of_state)

    def back(
        self, grad: State, before: State, after: State, kept: State, x: Tensor, u: Tensor
    ) -> tuple[Tensor | None, ...]:
        both, new, of_state = kept
        width = new.shape[-1]
        reset, update = both.chunk(2, -1)
        for_both, for_new = x[..., : 2 * width], x[..., 2 * width :]
        through = grad[0] * update
        _tanh_back(grad[0] - through, new, for_new)
        torch.mul(for_new, of_state, out=x[..., :width])
        torch.mul(grad[0], before[0] - new, out=x[..., width : 2 * width])
        _sigmoid_back(for_both, both, for_both)
        u[..., : 2 * width] = for_both
        torch.mul(for_new, reset, out=u[..., 2 * width :])
        return (through,)


class Lstm:
    """i, f, o = σ(x + u), g = tanh(x + u), c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c') (Gers 2000)."""

    gates, states, summed = 4, 2, True

    def step(self, x: Tensor, u: Tensor, before: State) -> tuple[State, State]:
        width = before[0].shape[-1]
        total = x + u
        both = torch.sigmoid(total[..., : 2 * width])  # i and f
        new = torch.tanh(total[..., 2 * width : 3 * width])
        out = torch.sigmoid(total[..., 3 * width :])
        enter, forget = both.chunk(2, -1)
        cell = torch.addcmul(forget * before[1], enter, new)
        bent = torch.tanh(cell)
        return (out * bent, cell), (both, new, out, bent)

    def back(
        self, grad: State, before: State, after: State, kept: State, x: Tensor, u: Tensor
    ) -> tuple[Tensor | None, ...]:
        both, new, out, bent = kept
        enter, forget = both.chunk(2, -1)
        for_enter, for_forget, for_new, for_out = x.chunk(4, -1)
        for_cell = grad[1] + torch.ops.aten.tanh_backward.default(grad[0] * out, bent)
        for_both = x[..., : both.shape[-1]]
        torch.mul(for_cell, new, out=for_enter)
        torch.mul(for_cell, before[1], out=for_forget)
        _sigmoid_back(for_both, both, for_both)
        _tanh_back(for_cell * enter, new, for_new)
        _sigmoid_back(grad[0] * bent, out, for_out)
        return None, for_cell * forget


CELLS: dict[str, Cell] = {"rnn": Vanilla(), "gru": Gru(), "lstm": Lstm()}
"""The cells by their names in the settings."""


def _tanh_back(grad: Tensor, tanh: Tensor, out: Tensor) -> None:
    """out = grad · (1 − tanh²)."""
    torch.ops.aten.tanh_backward.grad_input(grad, tanh, grad_input=out)


def _sigmoid_back(grad: Tensor, sigmoid: Tensor, out: Tensor) -> None:
    """out = grad · σ (1 − σ)."""
    torch.ops.aten.sigmoid_backward.grad_input(grad, sigmoid, grad_input=out)
