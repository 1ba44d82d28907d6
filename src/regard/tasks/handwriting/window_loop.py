"""Forward and backward pass of the recurrent layer with Graves' window, over a whole line.

At every step t, with h and w the state and the context before it,

    h' = cell(x_t + C w, U h)        (α, β, κ) from W h', κ increased       w' = Σ_u φ(u) value_u

Each step needs the window of the step before, so the steps are sequential. The input projection
x is computed for all steps before the loop, and the gradients of all matrices after the backward
loop. The result equals that of the `Graves` aligner stepped one by one (tested).

Shapes: T steps, B lines, S characters, D features of the state, V of a character, K components,
E = gates · D.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attention.aligners.graves import HIGHEST, positions
from regard.attention.engines.precision import as_given
from regard.models.rnn.cell import RecurrentCell, States


class WindowInputs(NamedTuple):
    """Tensors that the loop reads.

    x            (T, B, E)  projection of the points to the gates
    context      (V, E)     weight from the context to the gates, C
    weight       (D, E)     weight from the state to the gates, U
    bias         (E,)       its bias
    window       (3 K, D)   weight of the window parameters, W
    window_bias  (3 K,)     their bias
    values       (B, S, V)  character embeddings, zero at padding
    """

    x: Tensor
    context: Tensor
    weight: Tensor
    bias: Tensor
    window: Tensor
    window_bias: Tensor
    values: Tensor


class WindowStep(NamedTuple):
    """Values of one step saved for the backward pass."""

    cell: States
    unclamped: Tensor  # (B, 3 K): True where a logarithm is below its maximum
    beta: Tensor
    step: Tensor
    kappa: Tensor
    phi: Tensor  # (B, K, S)


def run_window_loop(
    cell: RecurrentCell, inputs: WindowInputs, stride: float, state: States
) -> tuple[Tensor, Tensor]:
    """States (T, B, D) and contexts (T, B, V) of all steps, from `state` and a zero context."""
    if torch.is_grad_enabled():
        outputs: tuple[Tensor, Tensor] = _WindowLoop.apply(cell, stride, *inputs, *state)  # type: ignore[no-untyped-call]  # untyped in torch
        return outputs
    states, contexts, _ = _forward(cell, inputs, stride, state)
    return torch.stack([s[0] for s in states[1:]]), torch.stack(contexts[1:])


def _forward(
    cell: RecurrentCell, inputs: WindowInputs, stride: float, state: States
) -> tuple[list[States], list[Tensor], list[WindowStep]]:
    """States and contexts before and after every step, and the values saved of each step."""
    values = inputs.values
    contexts = [values.new_zeros(len(values), values.shape[-1])]
    states, saved = [state], []
    char_positions, into_window = positions(values.shape[1], values), inputs.window.t()
    kappa: Tensor | float = 0.0
    for point_gates in inputs.x:
        x = torch.addmm(point_gates, contexts[-1], inputs.context)
        u = torch.addmm(inputs.bias, states[-1][0], inputs.weight)
        after, cell_saved = cell.step(x, u, states[-1])
        logs = torch.addmm(inputs.window_bias, after[0], into_window)
        unclamped = logs < HIGHEST
        log_alpha, log_beta, log_step = logs.clamp_(max=HIGHEST).chunk(3, -1)
        beta, step = log_beta.exp(), log_step.exp().mul_(stride)
        kappa = kappa + step
        penalty = (kappa[..., None] - char_positions).square_().mul_(beta[..., None])
        phi = torch.sub(log_alpha[..., None], penalty).exp_()
        contexts.append(torch.bmm(phi.sum(1, keepdim=True), values)[:, 0])
        states.append(after)
        saved.append(WindowStep(cell_saved, unclamped, beta, step, kappa, phi))
    return states, contexts, saved


class _WindowLoop(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, cell: RecurrentCell, stride: float, *tensors: Tensor
    ) -> tuple[Tensor, Tensor]:
        count = len(WindowInputs._fields)
        inputs, state = WindowInputs(*tensors[:count]), tensors[count:]
        states, contexts, saved = _forward(cell, inputs, stride, state)
        ctx.cell, ctx.saved_steps, ctx.states, ctx.contexts = cell, saved, states, contexts[:-1]
        ctx.save_for_backward(*inputs[1:])
        return torch.stack([s[0] for s in states[1:]]), torch.stack(contexts[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs = WindowInputs(grads[0], *ctx.saved_tensors)
        with as_given(grads[0].device):
            input_grads = _backward(
                ctx.cell, inputs, ctx.states, ctx.contexts, ctx.saved_steps, grads
            )
        ctx.states = ctx.contexts = ctx.saved_steps = None
        return None, None, *input_grads


def _backward(
    cell: RecurrentCell,
    inputs: WindowInputs,
    states: list[States],
    contexts: list[Tensor],
    saved: list[WindowStep],
    grads: tuple[Tensor, ...],
) -> tuple[Tensor, ...]:
    """Gradients of all `WindowInputs` and of the first state."""
    state_grads, context_grads = grads
    steps = len(saved)
    into_context, into_state = inputs.context.t().contiguous(), inputs.weight.t().contiguous()
    x = inputs.weight.new_empty(steps, *contexts[0].shape[:1], inputs.weight.shape[-1])
    u = x if cell.summed else torch.empty_like(x)
    logs = x.new_empty(steps, x.shape[1], len(inputs.window_bias))
    total_context_grads = torch.empty_like(context_grads)
    carried: States = tuple(torch.zeros_like(h) for h in states[0])
    kappa, context = torch.zeros_like(saved[0].kappa), torch.zeros_like(contexts[0])
    char_positions = positions(inputs.values.shape[1], inputs.values)
    for n in reversed(range(steps)):
        context_grad = torch.add(context, context_grads[n], out=total_context_grads[n])
        kappa = _window_backward(
            context_grad, kappa, saved[n], char_positions, inputs.values, logs[n]
        )
        hidden = torch.addmm(carried[0] + state_grads[n], logs[n], inputs.window)
        direct, *others = cell.backward(
            (hidden, *carried[1:]), states[n], states[n + 1], saved[n].cell, x[n], u[n]
        )
        through = u[n] @ into_state if direct is None else direct.addmm_(u[n], into_state)
        carried = (through, *[h for h in others if h is not None])
        context = x[n] @ into_context
    before = torch.stack([s[0] for s in states[:-1]]).flatten(0, 1)
    after = torch.stack([s[0] for s in states[1:]]).flatten(0, 1)
    flat_x, flat_u, flat_logs = x.flatten(0, 1), u.flatten(0, 1), logs.flatten(0, 1)
    weights_BST = torch.stack([step.phi.sum(1) for step in saved], -1)
    return (
        x,
        torch.stack(contexts).flatten(0, 1).t() @ flat_x,
        before.t() @ flat_u,
        flat_u.sum(0),
        flat_logs.t() @ after,
        flat_logs.sum(0),
        torch.bmm(weights_BST, total_context_grads.transpose(0, 1)),
        *carried,
    )


def _window_backward(
    context_grad: Tensor,
    kappa_grad: Tensor,
    saved: WindowStep,
    char_positions: Tensor,
    values: Tensor,
    logs: Tensor,
) -> Tensor:
    """Gradient of κ before the step, from those of the context (B, V) and of κ after it.

    With e = log α − β d², d = κ − u: ∂ log α = Σ e', ∂β = −Σ e' d², ∂κ = −2 β Σ e' d. The
    gradients of the logarithms are written to `logs` (B, 3 K).
    """
    distance = saved.kappa[..., None] - char_positions
    grad = torch.bmm(values, context_grad[..., None]).transpose(1, 2) * saved.phi
    num = kappa_grad.shape[-1]
    torch.sum(grad, -1, out=logs[:, :num])
    grad.mul_(distance)
    kappa_grad = kappa_grad - grad.sum(-1).mul_(saved.beta).mul_(2)
    torch.mul(grad.mul_(distance).sum(-1), saved.beta, out=logs[:, num : 2 * num]).neg_()
    torch.mul(kappa_grad, saved.step, out=logs[:, 2 * num :])
    logs.mul_(saved.unclamped)
    return kappa_grad
