"""Bahdanau's decoder over a whole target at once, with its own backward pass.

At every step t, with h the previous state,

    q = W_q h      s_j = v·tanh(q + k_j)      α = softmax(s)      c = Σ_j α_j value_j
    h' = cell(x_t + C c, U h)

The attention of a step needs the state of the step before, so there is a loop; but everything that
can be done for all steps at once is outside of it: the input gates x before, and in the backward
pass the gradients of all matrices after, each as one product over all steps. The sums q + k_j are
recomputed in the backward pass, so that memory is linear in length.

The operations are those of `attend`, one by one, so that the result is bit-identical to that of
separate steps (a test checks it).

Shapes: T steps, B sentences, S source tokens, D features of the state, V of a value, K of a key,
E = num_gates · D.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.attention.engines.precision import as_given
from regard.models.rnn.cell import RecurrentCell, States


class LoopTensors(NamedTuple):
    """Inputs of the loop.

    x        (T, B, E)  input gates
    context  (V, E)     matrix C of the context
    weight   (D, E)     matrix U of the state
    bias     (E,)       its bias
    query    (K, D)     matrix W_q of the query
    v        (K,)       vector of the score
    keys     (B, S, K)  projected
    values   (B, S, V)
    padding  (B, S)     True at padding
    """

    x: Tensor
    context: Tensor
    weight: Tensor
    bias: Tensor
    query: Tensor
    v: Tensor
    keys: Tensor
    values: Tensor
    padding: Tensor


def aligned_steps(
    cell: RecurrentCell, tensors: LoopTensors, state: States
) -> tuple[States, Tensor]:
    """Return all states (T, B, D) after the initial `state` (B, D), and all contexts (T, B, V)."""
    if torch.is_grad_enabled():
        *states, contexts = _AlignedSteps.apply(cell, *tensors, *state)  # type: ignore[no-untyped-call]  # untyped in torch
        return tuple(states), contexts
    trace = _forward(cell, tensors, state)
    return trace.stacked(), torch.stack(trace.contexts)


def cell_step(
    cell: RecurrentCell,
    x: Tensor,
    context: Tensor,
    state: States,
    matrices: tuple[Tensor, Tensor, Tensor],
) -> tuple[States, States]:
    """Return the cell's next state and saved tensors, given the context (B, V).

    `matrices` are those of the context and of the state, and the bias of the latter.
    """
    context_weight, state_weight, bias = matrices
    x = torch.addmm(x, context, context_weight)
    return cell.step(x, torch.addmm(bias, state[0], state_weight), state)


class _Trace(NamedTuple):
    """The tensors of all steps; `states` begins with the initial one."""

    states: list[States]
    queries: list[Tensor]
    weights: list[Tensor]
    contexts: list[Tensor]
    saved: list[States]

    def stacked(self) -> States:
        """Return the states after all steps, (T, B, D) each."""
        return tuple(torch.stack(part) for part in zip(*self.states[1:], strict=True))


def _forward(cell: RecurrentCell, tensors: LoopTensors, state: States) -> _Trace:
    trace = _Trace([state], [], [], [], [])
    matrices = tensors.context, tensors.weight, tensors.bias
    buffer = torch.empty_like(tensors.keys)
    for x in tensors.x:
        state = trace.states[-1]
        query = F.linear(state[0], tensors.query)
        tanh = torch.add(query[:, None], tensors.keys, out=buffer).tanh_()
        scores = (tanh @ tensors.v).masked_fill_(tensors.padding, -math.inf)
        weights = torch.softmax(scores, -1)
        context = torch.bmm(weights[:, None], tensors.values)[:, 0]
        after, saved = cell_step(cell, x, context, state, matrices)
        trace.states.append(after)
        trace.queries.append(query)
        trace.weights.append(weights)
        trace.contexts.append(context)
        trace.saved.append(saved)
    return trace


class _AlignedSteps(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, cell: RecurrentCell, *inputs: Tensor) -> tuple[Tensor, ...]:
        count = len(LoopTensors._fields)
        trace = _forward(cell, LoopTensors(*inputs[:count]), inputs[count:])
        ctx.cell, ctx.trace = cell, trace
        ctx.save_for_backward(*inputs[1:count])  # x is not needed
        return *trace.stacked(), torch.stack(trace.contexts)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        tensors = LoopTensors(grads[-1], *ctx.saved_tensors)
        with as_given(grads[0].device):
            return None, *_backward(ctx.cell, tensors, ctx.trace, grads)


def _backward(
    cell: RecurrentCell, tensors: LoopTensors, trace: _Trace, grads: States
) -> tuple[Tensor | None, ...]:
    """Return the gradients of all `LoopTensors` and of the initial state."""
    *grad_states, grad_contexts = grads
    to_context, to_state = tensors.context.t().contiguous(), tensors.weight.t().contiguous()
    x = tensors.weight.new_empty(*grad_contexts.shape[:-1], tensors.weight.shape[-1])
    u = x if cell.summed else torch.empty_like(x)
    contexts, queries = [], []
    scores_backward = _ScoresBackward(tensors)
    carried: States = tuple(torch.zeros_like(h) for h in trace.states[0])
    for step in reversed(range(len(x))):
        before, after = trace.states[step : step + 2]
        grad = tuple(a + b[step] for a, b in zip(carried, grad_states, strict=True))
        hidden, *others = cell.backward(grad, before, after, trace.saved[step], x[step], u[step])
        context = torch.addmm(grad_contexts[step], x[step], to_context)
        query = scores_backward(context, trace.queries[step], trace.weights[step])
        through = u[step] @ to_state if hidden is None else hidden.addmm_(u[step], to_state)
        carried = (through.addmm_(query, tensors.query), *[h for h in others if h is not None])
        contexts.append(context)
        queries.append(query)
    states_before = torch.cat([state[0] for state in trace.states[:-1]])
    all_contexts, all_queries = torch.stack(contexts[::-1]), torch.stack(queries[::-1])
    weights_BST = torch.stack(trace.weights, -1)
    flat_x, flat_u = x.flatten(0, 1), u.flatten(0, 1)
    return (
        x,
        torch.cat(trace.contexts).t() @ flat_x,
        states_before.t() @ flat_u,
        flat_u.sum(0),
        all_queries.flatten(0, 1).t() @ states_before,
        scores_backward.grad_v,
        scores_backward.grad_keys.mul_(tensors.v),
        torch.bmm(weights_BST, all_contexts.transpose(0, 1)),
        None,
        *carried,
    )


class _ScoresBackward:
    """From a context's gradient to its query's; sums those of the keys and of v over the steps.

    With t = tanh(q + k) and g the gradient of a score: ∂q = v Σ_s g (1 − t²), ∂k = v Σ g (1 − t²)
    over the steps (the factor v is applied at the end), ∂v = Σ g t.
    """

    def __init__(self, tensors: LoopTensors) -> None:
        self.tensors = tensors
        self.grad_keys = torch.zeros_like(tensors.keys)
        self.grad_v = torch.zeros_like(tensors.v)
        self.buffer = torch.empty_like(tensors.keys)

    def __call__(self, context: Tensor, query: Tensor, weights: Tensor) -> Tensor:
        grad_weights = torch.bmm(self.tensors.values, context[..., None])[..., 0]
        scores = torch._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
        tanh = torch.add(query[:, None], self.tensors.keys, out=self.buffer).tanh_()
        self.grad_v += scores.reshape(-1) @ tanh.view(-1, tanh.shape[-1])
        slope = tanh.square_().sub_(1).mul_(scores[..., None])  # −g (1 − t²)
        self.grad_keys -= slope
        return slope.sum(1).mul_(self.tensors.v).neg_()
