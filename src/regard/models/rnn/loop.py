"""Bahdanau's decoder over a whole target at once, for training: the loop, and the loop back.

At every step t, with h the state before it,

    q = W_q h      s_j = v·tanh(q + k_j)      α = softmax(s)      c = Σ_j α_j value_j
    h' = cell(x_t + C c, U h)

The attention of the next step waits for this one's state, so there must be a loop; but all that
can be done for every step at once is done outside of it: the words' share x before, and on the way
back the gradients of all matrices after, each as one product over all steps. The sums q + k_j are
computed again on the way back, so that memory stays linear in length.

What is computed is what `attend` computes, operation by operation, so that the answer is the same
to the bit when somebody looks and the steps go through `attend` (a test holds it to that).

Shapes: T steps, B sentences, S source tokens, D features of the state, V of a value, K of a key,
E = gates · D.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.attention.engines.precision import as_given
from regard.models.rnn.cell import Cell, State


class Parts(NamedTuple):
    """All that the loop is made of.

    x        (T, B, E)  the words' share of the gates
    context  (V, E)     matrix of the context's share, C
    weight   (D, E)     matrix of the state's share, U
    bias     (E,)       its bias
    query    (K, D)     matrix of the query, W_q
    v        (K,)       of the score
    keys     (B, S, K)  projected
    values   (B, S, V)
    padding  (B, S)     True where there is no word
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


def aligned_steps(cell: Cell, parts: Parts, state: State) -> tuple[State, Tensor]:
    """All states (T, B, D) after the first `state` (B, D), and all contexts (T, B, V)."""
    if torch.is_grad_enabled():
        # torch gives `Function.apply` no types
        *states, contexts = _Loop.apply(cell, *parts, *state)  # type: ignore[no-untyped-call]  # torch's
        return tuple(states), contexts
    trace = _forward(cell, parts, state)
    return trace.stacked(), torch.stack(trace.contexts)


def joined_step(
    cell: Cell, x: Tensor, context: Tensor, state: State, parts: tuple[Tensor, Tensor, Tensor]
) -> tuple[State, State]:
    """One step of the cell (its state, and what the way back needs), given the context (B, V).

    `parts` are the matrices of the context's and the state's share and the bias of the latter.
    """
    of_context, of_state, bias = parts
    x = torch.addmm(x, context, of_context)
    return cell.step(x, torch.addmm(bias, state[0], of_state), state)


class _Trace(NamedTuple):
    """What was on the way, step by step; `states` begins with the one before the first step."""

    states: list[State]
    queries: list[Tensor]
    weights: list[Tensor]
    contexts: list[Tensor]
    kept: list[State]

    def stacked(self) -> State:
        """All states after steps, (T, B, D) each."""
        return tuple(torch.stack(part) for part in zip(*self.states[1:], strict=True))


def _forward(cell: Cell, parts: Parts, state: State) -> _Trace:
    trace = _Trace([state], [], [], [], [])
    matrices = parts.context, parts.weight, parts.bias
    buffer = torch.empty_like(parts.keys)
    for x in parts.x:
        state = trace.states[-1]
        query = F.linear(state[0], parts.query)
        tanh = torch.add(query[:, None], parts.keys, out=buffer).tanh_()
        scores = (tanh @ parts.v).masked_fill_(parts.padding, -math.inf)
        weights = torch.softmax(scores, -1)
        context = torch.bmm(weights[:, None], parts.values)[:, 0]
        after, kept = joined_step(cell, x, context, state, matrices)
        trace.states.append(after)
        trace.queries.append(query)
        trace.weights.append(weights)
        trace.contexts.append(context)
        trace.kept.append(kept)
    return trace


class _Loop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, cell: Cell, *tensors: Tensor) -> tuple[Tensor, ...]:
        count = len(Parts._fields)
        parts, state = Parts(*tensors[:count]), tensors[count:]
        trace = _forward(cell, parts, state)
        stacked, contexts = trace.stacked(), torch.stack(trace.contexts)
        kept = [x for keep in trace.kept for x in keep]
        ctx.cell = cell
        ctx.save_for_backward(
            *parts[1:], *state, *stacked, contexts, *trace.queries, *trace.weights, *kept
        )
        return *stacked, contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        with as_given(grads[0].device):
            return None, *_backward(ctx.cell, _Saved.of(ctx.cell, ctx.saved_tensors), grads)


class _Saved(NamedTuple):
    """What the way forward left for the way back; `states` (T + 1, B, D) each."""

    parts: Parts
    states: State
    contexts: Tensor
    queries: tuple[Tensor, ...]
    weights: tuple[Tensor, ...]
    kept: list[State]

    @staticmethod
    def of(cell: Cell, tensors: tuple[Tensor, ...]) -> _Saved:
        """Sorted out as `_Loop.forward` laid them down."""
        rest = list(tensors)

        def take(number: int) -> tuple[Tensor, ...]:
            taken = tuple(rest[:number])
            del rest[:number]
            return taken

        parts = take(len(Parts._fields) - 1)
        first, stacked = take(cell.states), take(cell.states)
        (contexts,) = take(1)
        steps = len(contexts)
        queries, weights = take(steps), take(steps)
        each = len(rest) // steps
        kept = [tuple(rest[n * each : (n + 1) * each]) for n in range(steps)]
        states = tuple(torch.cat((a[None], b)) for a, b in zip(first, stacked, strict=True))
        return _Saved(Parts(contexts, *parts), states, contexts, queries, weights, kept)


def _backward(cell: Cell, saved: _Saved, grads: State) -> tuple[Tensor | None, ...]:
    """Gradients of all `Parts` and of the first state."""
    parts, steps = saved.parts, len(saved.contexts)
    *of_states, of_contexts = grads
    into_context, into_state = parts.context.t().contiguous(), parts.weight.t().contiguous()
    x = parts.weight.new_empty(steps, *saved.contexts.shape[1:-1], parts.weight.shape[-1])
    u = x if cell.summed else torch.empty_like(x)
    contexts, queries = [], []
    way_back = _ScoresBack(parts)
    carried: State = tuple(torch.zeros_like(h[0]) for h in saved.states)
    for step in reversed(range(steps)):
        before = tuple(h[step] for h in saved.states)
        after = tuple(h[step + 1] for h in saved.states)
        grad = tuple(a + b[step] for a, b in zip(carried, of_states, strict=True))
        hidden, *others = cell.back(grad, before, after, saved.kept[step], x[step], u[step])
        context = torch.addmm(of_contexts[step], x[step], into_context)
        query = way_back(context, saved.queries[step], saved.weights[step])
        through = u[step] @ into_state if hidden is None else hidden.addmm_(u[step], into_state)
        carried = (through.addmm_(query, parts.query), *[h for h in others if h is not None])
        contexts.append(context)
        queries.append(query)
    before_all = saved.states[0][:-1].flatten(0, 1)
    all_contexts, all_queries = torch.stack(contexts[::-1]), torch.stack(queries[::-1])
    weights_BST = torch.stack(saved.weights, -1)
    flat_x, flat_u = x.flatten(0, 1), u.flatten(0, 1)
    return (
        x,
        saved.contexts.flatten(0, 1).t() @ flat_x,
        before_all.t() @ flat_u,
        flat_u.sum(0),
        all_queries.flatten(0, 1).t() @ before_all,
        way_back.for_v,
        way_back.for_keys.mul_(parts.v),
        torch.bmm(weights_BST, all_contexts.transpose(0, 1)),
        None,
        *carried,
    )


class _ScoresBack:
    """From a context's gradient to its query's, adding up those of the keys and of v on the way.

    With t = tanh(q + k) and g the gradient of a score: ∂q = v Σ_s g (1 − t²), ∂k = v Σ g (1 − t²)
    over the steps (the factor v comes at the end), ∂v = Σ g t.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.for_keys = torch.zeros_like(parts.keys)
        self.for_v = torch.zeros_like(parts.v)
        self.buffer = torch.empty_like(parts.keys)

    def __call__(self, context: Tensor, query: Tensor, weights: Tensor) -> Tensor:
        for_weights = torch.bmm(self.parts.values, context[..., None])[..., 0]
        scores = torch._softmax_backward_data(for_weights, weights, -1, weights.dtype)
        tanh = torch.add(query[:, None], self.parts.keys, out=self.buffer).tanh_()
        self.for_v += scores.reshape(-1) @ tanh.view(-1, tanh.shape[-1])
        slope = tanh.square_().sub_(1).mul_(scores[..., None])  # −g (1 − t²)
        self.for_keys -= slope
        return slope.sum(1).mul_(self.parts.v).neg_()
