"""The layer that holds Graves' window, over a whole line at once: the loop, and the loop back.

At every step t, with h and w the state and the context before it,

    h' = cell(x_t + C w, U h)        (α, β, κ) from W h', κ moved on        w' = Σ_u φ(u) value_u

The window of this step waits for its state and the next step for the window, so there must be a
loop; all that can be done for every step at once is done outside of it: the points' share x before,
and on the way back the gradients of all matrices after. What is computed is what `Graves` computes
(a test holds it to that).

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


class Parts(NamedTuple):
    """All that the loop is made of.

    x        (T, B, E)  the points' share of the gates
    context  (V, E)     matrix of the context's share, C
    weight   (D, E)     matrix of the state's share, U
    bias     (E,)       its bias
    window   (3 K, D)   matrix of the window, W
    offset   (3 K,)     its bias
    values   (B, S, V)  the characters, zero where there is none
    """

    x: Tensor
    context: Tensor
    weight: Tensor
    bias: Tensor
    window: Tensor
    offset: Tensor
    values: Tensor


class Kept(NamedTuple):
    """What one step leaves for the way back."""

    cell: States
    low: Tensor  # (B, 3 K): 1 where a logarithm is not held back
    beta: Tensor
    step: Tensor
    kappa: Tensor
    phi: Tensor  # (B, K, S)


def windowed_steps(
    cell: RecurrentCell, parts: Parts, stride: float, state: States
) -> tuple[Tensor, Tensor]:
    """States (T, B, D) and contexts (T, B, V) of all steps, from `state` and no context."""
    if torch.is_grad_enabled():
        # torch gives `Function.apply` no types
        answer: tuple[Tensor, Tensor] = _Loop.apply(cell, stride, *parts, *state)  # type: ignore[no-untyped-call]  # torch's
        return answer
    states, contexts, _ = _forward(cell, parts, stride, state)
    return torch.stack([s[0] for s in states[1:]]), torch.stack(contexts[1:])


def _forward(
    cell: RecurrentCell, parts: Parts, stride: float, state: States
) -> tuple[list[States], list[Tensor], list[Kept]]:
    """States and contexts before and after every step, and what each step keeps."""
    values = parts.values
    contexts = [values.new_zeros(len(values), values.shape[-1])]
    states, kept = [state], []
    places, into_window = positions(values.shape[1], values), parts.window.t()
    kappa: Tensor | float = 0.0
    for share in parts.x:
        x = torch.addmm(share, contexts[-1], parts.context)
        u = torch.addmm(parts.bias, states[-1][0], parts.weight)
        after, of_cell = cell.step(x, u, states[-1])
        logs = torch.addmm(parts.offset, after[0], into_window)
        low = logs < HIGHEST
        log_alpha, log_beta, log_step = logs.clamp_(max=HIGHEST).chunk(3, -1)
        beta, step = log_beta.exp(), log_step.exp().mul_(stride)
        kappa = kappa + step
        away = (kappa[..., None] - places).square_().mul_(beta[..., None])
        phi = torch.sub(log_alpha[..., None], away).exp_()
        contexts.append(torch.bmm(phi.sum(1, keepdim=True), values)[:, 0])
        states.append(after)
        kept.append(Kept(of_cell, low, beta, step, kappa, phi))
    return states, contexts, kept


class _Loop(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, cell: RecurrentCell, stride: float, *tensors: Tensor
    ) -> tuple[Tensor, Tensor]:
        count = len(Parts._fields)
        parts, state = Parts(*tensors[:count]), tensors[count:]
        states, contexts, kept = _forward(cell, parts, stride, state)
        ctx.cell, ctx.kept, ctx.states, ctx.contexts = cell, kept, states, contexts[:-1]
        ctx.save_for_backward(*parts[1:])
        return torch.stack([s[0] for s in states[1:]]), torch.stack(contexts[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        parts = Parts(grads[0], *ctx.saved_tensors)
        with as_given(grads[0].device):
            found = _backward(ctx.cell, parts, ctx.states, ctx.contexts, ctx.kept, grads)
        ctx.states = ctx.contexts = ctx.kept = None
        return None, None, *found


def _backward(
    cell: RecurrentCell,
    parts: Parts,
    states: list[States],
    contexts: list[Tensor],
    kept: list[Kept],
    grads: tuple[Tensor, ...],
) -> tuple[Tensor, ...]:
    """Gradients of all `Parts` and of the first state."""
    of_states, of_contexts = grads
    steps = len(kept)
    into_context, into_state = parts.context.t().contiguous(), parts.weight.t().contiguous()
    x = parts.weight.new_empty(steps, *contexts[0].shape[:1], parts.weight.shape[-1])
    u = x if cell.summed else torch.empty_like(x)
    logs = x.new_empty(steps, x.shape[1], len(parts.offset))
    looks = torch.empty_like(of_contexts)
    carried: States = tuple(torch.zeros_like(h) for h in states[0])
    kappa, context = torch.zeros_like(kept[0].kappa), torch.zeros_like(contexts[0])
    places = positions(parts.values.shape[1], parts.values)
    for n in reversed(range(steps)):
        look = torch.add(context, of_contexts[n], out=looks[n])
        kappa = _window_back(look, kappa, kept[n], places, parts.values, logs[n])
        hidden = torch.addmm(carried[0] + of_states[n], logs[n], parts.window)
        way, *others = cell.backward(
            (hidden, *carried[1:]), states[n], states[n + 1], kept[n].cell, x[n], u[n]
        )
        through = u[n] @ into_state if way is None else way.addmm_(u[n], into_state)
        carried = (through, *[h for h in others if h is not None])
        context = x[n] @ into_context
    before = torch.stack([s[0] for s in states[:-1]]).flatten(0, 1)
    after = torch.stack([s[0] for s in states[1:]]).flatten(0, 1)
    flat_x, flat_u, flat_logs = x.flatten(0, 1), u.flatten(0, 1), logs.flatten(0, 1)
    weights_BST = torch.stack([k.phi.sum(1) for k in kept], -1)
    return (
        x,
        torch.stack(contexts).flatten(0, 1).t() @ flat_x,
        before.t() @ flat_u,
        flat_u.sum(0),
        flat_logs.t() @ after,
        flat_logs.sum(0),
        torch.bmm(weights_BST, looks.transpose(0, 1)),
        *carried,
    )


def _window_back(
    look: Tensor, kappa: Tensor, kept: Kept, places: Tensor, values: Tensor, logs: Tensor
) -> Tensor:
    """From the context's gradient (B, V) and that of κ after it to that of κ before it.

    With e = log α − β d², d = κ − u: ∂ log α = Σ e', ∂β = −Σ e' d², ∂κ = −2 β Σ e' d. The
    gradients of the logarithms are written to `logs` (B, 3 K).
    """
    distance = kept.kappa[..., None] - places
    each = torch.bmm(values, look[..., None]).transpose(1, 2) * kept.phi
    number = kappa.shape[-1]
    torch.sum(each, -1, out=logs[:, :number])
    each.mul_(distance)
    kappa = kappa - each.sum(-1).mul_(kept.beta).mul_(2)
    torch.mul(each.mul_(distance).sum(-1), kept.beta, out=logs[:, number : 2 * number]).neg_()
    torch.mul(kappa, kept.step, out=logs[:, 2 * number :])
    logs.mul_(kept.low)
    return kappa
