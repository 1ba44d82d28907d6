"""Attention whose weights are products of features, summed chunk by chunk.

A kernel φ(q)·φ(k) needs no scores: with the sums S = Σ_j φ(k_j) v_jᵀ and z = Σ_j φ(k_j)
(Katharopoulos 2020),

    context_i = φ(q_i)ᵀ S / φ(q_i)ᵀ z

costs the same for every query. Causally, S and z are those of the tokens up to i: a chunk takes the
sums of the chunks before it, adds the triangle of its own pairs, and adds its tokens to the sums.
The backward pass goes through the chunks in reverse and recomputes each from the sums at its start,
so memory is that of the input.

A kernel may give its keys' features a level a_j: φ(k_j) = e^{a_j} f_j with f_j of modest size. Sums
are then relative to the highest level so far, as in the online softmax; a later level changes
nothing in the tokens before it.

Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv), features (B, H, T, M),
level (B, H, T, 1), hidden (B, 1, K, 1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attention.engines.precision import accumulated, as_given

CHUNK = 128  # tokens of a causal step, whose pairs are computed one by one
BLOCK = 512  # tokens of a step without pairs


class Kernel(Protocol):
    """A feature map, of queries and of keys."""

    def query_features(self, query: Tensor) -> Tensor:
        """φ(q), (B, H, T, M), up to a factor for each query."""
        ...

    def key_features(self, key: Tensor) -> tuple[Tensor, Tensor | None]:
        """f of φ(k) = e^a f, (B, H, T, M), and the level a, (B, H, T, 1); None: zero."""
        ...


class KernelState(NamedTuple):
    """The sums of all tokens read: S (B, H, M, Dv), z (B, H, M) and their level (B, H, 1, 1)."""

    sums: Tensor
    mass: Tensor
    level: Tensor | None


class ScanStep(NamedTuple):
    """Queries that are answered, keys that are summed, or a chunk of tokens with both."""

    rows: slice | None
    cols: slice | None


def empty_state(key: Tensor, value: Tensor, num_features: int, has_level: bool) -> KernelState:
    """The sums of no tokens, for heads like these."""
    like = accumulated(key.new_empty(0))
    batch = key.shape[:2]
    return KernelState(
        like.new_zeros(*batch, num_features, value.shape[-1]),
        like.new_zeros(*batch, num_features),
        like.new_full((*batch, 1, 1), -math.inf) if has_level else None,
    )


def scan(
    kernel: Kernel,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    state: KernelState,
    *,
    causal: bool,
    hidden: Tensor | None = None,
) -> tuple[Tensor, KernelState]:
    """The context (B, H, Q, Dv) and the sums after all keys, beginning with those of `state`.

    Causally, the queries are the last of the keys: at most as many as these.
    """
    steps = _steps(query.shape[-2], key.shape[-2], causal)
    inputs = (query, key, value, hidden, *state)
    with as_given(value.device):
        graph = torch.is_grad_enabled() and any(
            x is not None and x.requires_grad for x in inputs
        )  # a single step or a compiled graph is left to autograd
        if graph and len(steps) > 1 and not torch.compiler.is_compiling():
            context, *after = _KernelScan.apply(kernel, steps, *inputs)  # type: ignore[no-untyped-call]  # untyped in torch
            return context, KernelState(*after)
        parts, states = _walk(kernel, steps, query, key, value, hidden, state, keep=False)
        return _joined(parts, value), states[-1]


def _steps(num_queries: int, num_keys: int, causal: bool) -> tuple[ScanStep, ...]:
    if not causal:
        summed = (ScanStep(None, cols) for cols in _slices(0, num_keys, BLOCK))
        return (*summed, *(ScanStep(rows, None) for rows in _slices(0, num_queries, BLOCK)))
    offset = num_keys - num_queries
    before = (ScanStep(None, cols) for cols in _slices(0, offset, BLOCK))
    pairs = (
        ScanStep(rows, slice(rows.start + offset, rows.stop + offset))
        for rows in _slices(0, num_queries, CHUNK)
    )
    return (*before, *pairs)


def _slices(start: int, stop: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def _walk(
    kernel: Kernel,
    steps: tuple[ScanStep, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    hidden: Tensor | None,
    state: KernelState,
    *,
    keep: bool,
) -> tuple[list[Tensor], list[KernelState]]:
    """The contexts of all steps, and the sums before each (`keep`) or only the last ones."""
    parts, states = [], [state]
    for step in steps:
        context, state = _step(kernel, state, *_taken(step, query, key, value, hidden))
        if context is not None:
            parts.append(context.to(value.dtype))
        states = [*states, state] if keep else [state]
    return parts, states


def _joined(parts: list[Tensor], value: Tensor) -> Tensor:
    if not parts:
        return value.new_zeros(*value.shape[:2], 0, value.shape[-1])
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-2)


def _taken(
    step: ScanStep, query: Tensor, key: Tensor, value: Tensor, hidden: Tensor | None
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """Query, key, value and hidden of one step."""
    rows, cols = step
    return (
        None if rows is None else query[..., rows, :],
        None if cols is None else key[..., cols, :],
        None if cols is None else value[..., cols, :],
        None if cols is None or hidden is None else hidden[..., cols, :],
    )


def _step(
    kernel: Kernel,
    state: KernelState,
    query: Tensor | None,
    key: Tensor | None,
    value: Tensor | None,
    hidden: Tensor | None,
) -> tuple[Tensor | None, KernelState]:
    """The context of the step's queries, if it has any, and the sums after its keys."""
    queries = None if query is None else kernel.query_features(accumulated(query))
    if key is None or value is None:
        return None if queries is None else _read(queries, state), state
    features, level, value = _summands(kernel, key, value, hidden)
    after = _absorbed(state, features, level, value)
    if queries is None:
        return None, after
    pairs = queries @ features.transpose(-2, -1)
    if level is None or state.level is None:
        pairs = pairs.tril()
    else:
        base = based(torch.maximum(level.cummax(dim=-2).values, state.level))
        later = torch.ones(pairs.shape[-2:], dtype=torch.bool, device=pairs.device).triu(1)
        pairs = pairs * (level.transpose(-2, -1) - base).masked_fill(later, -math.inf).exp()
        queries = queries * (state.level - base).exp()
    total = pairs @ value + queries @ state.sums
    mass = pairs.sum(dim=-1, keepdim=True) + queries @ state.mass[..., None]
    return divided(total, mass), after


def _read(queries: Tensor, state: KernelState) -> Tensor:
    """φ(q) S / φ(q) z, in which a level cancels."""
    return divided(queries @ state.sums, queries @ state.mass[..., None])


def divided(total: Tensor, mass: Tensor) -> Tensor:
    """total / mass, and exactly zero where all keys are masked."""
    return total / mass.masked_fill(mass == 0, 1.0)


def based(level: Tensor) -> Tensor:
    """The level that exponents are relative to: zero where there is none yet."""
    return level.masked_fill(level == -math.inf, 0.0)


def _summands(
    kernel: Kernel, key: Tensor, value: Tensor, hidden: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor]:
    """The keys' features and level, and the values; zero for hidden ones."""
    key, value = accumulated(key), accumulated(value)
    if hidden is not None:
        key, value = key.masked_fill(hidden, 0.0), value.masked_fill(hidden, 0.0)
    features, level = kernel.key_features(key)
    if hidden is not None:
        features = features.masked_fill(hidden, 0.0)
        level = None if level is None else level.masked_fill(hidden, -math.inf)
    return features, level, value


def _absorbed(
    state: KernelState, features: Tensor, level: Tensor | None, value: Tensor
) -> KernelState:
    """The sums with these tokens added."""
    sums, mass, before = state
    higher = None
    if level is not None and before is not None:
        higher = torch.maximum(before, level.amax(dim=-2, keepdim=True))
        base = based(higher)
        features, fade = features * (level - base).exp(), (before - base).exp()
        sums, mass = sums * fade, mass * fade[..., 0]
    return KernelState(
        sums + features.transpose(-2, -1) @ value, mass + features.sum(dim=-2), higher
    )


class _KernelScan(torch.autograd.Function):
    """`_walk` that saves only the sums before each step."""

    @staticmethod
    def forward(
        ctx: Any,
        kernel: Kernel,
        steps: tuple[ScanStep, ...],
        query: Tensor,
        key: Tensor,
        value: Tensor,
        hidden: Tensor | None,
        *start: Tensor | None,
    ) -> tuple[Tensor | None, ...]:
        sums, mass, level = start
        assert sums is not None and mass is not None
        state = KernelState(sums, mass, level)
        parts, states = _walk(kernel, steps, query, key, value, hidden, state, keep=True)
        ctx.kernel, ctx.steps = kernel, steps
        ctx.save_for_backward(query, key, value, hidden, *(x for state in states for x in state))
        last = states[-1]
        if last.level is not None:
            ctx.mark_non_differentiable(last.level)
        return _joined(parts, value), *last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        grad_context, grad_sums, grad_mass = gradients[:3]
        query, key, value, hidden, *borders = ctx.saved_tensors
        grads = tuple(torch.empty_like(x) for x in (query, key, value))
        with as_given(value.device):
            for number, step in reversed(tuple(enumerate(ctx.steps))):
                state = KernelState(*borders[3 * number : 3 * number + 3])
                grad_sums, grad_mass = _step_backward(
                    ctx.kernel,
                    step,
                    state,
                    (query, key, value, hidden),
                    (grad_context, grad_sums, grad_mass),
                    grads,
                )
        return None, None, *grads, None, grad_sums, grad_mass, None


def _step_backward(
    kernel: Kernel,
    step: ScanStep,
    state: KernelState,
    inputs: tuple[Tensor, Tensor, Tensor, Tensor | None],
    gradients: tuple[Tensor, Tensor, Tensor],
    into: tuple[Tensor, ...],
) -> tuple[Tensor, Tensor]:
    """Recompute one step, write its inputs' gradients, and return those of the sums before it."""
    *parts, hidden = _taken(step, *inputs)
    with torch.enable_grad():
        leaves = [None if x is None else x.detach().requires_grad_() for x in parts]
        query, key, value = leaves
        sums, mass = (x.detach().requires_grad_() for x in state[:2])
        context, after = _step(
            kernel, KernelState(sums, mass, state.level), query, key, value, hidden
        )
    outputs = {}  # output of the step ▶ its gradient
    grad_context, grad_sums, grad_mass = gradients
    if context is not None:
        outputs[context] = grad_context[..., step.rows, :].to(context.dtype)
    if step.cols is not None:
        outputs[after.sums], outputs[after.mass] = grad_sums, grad_mass
    wanted = [x for x in (*leaves, sums, mass) if x is not None]
    *own, back_sums, back_mass = torch.autograd.grad(list(outputs), wanted, list(outputs.values()))
    indices = (step.rows, step.cols, step.cols)
    used = [(g, p) for g, p, x in zip(into, indices, leaves, strict=True) if x is not None]
    for grad, (target, index) in zip(own, used, strict=True):
        target[..., index, :] = grad
    if step.cols is None:  # the sums pass through unchanged
        return grad_sums + back_sums, grad_mass + back_mass
    return back_sums, back_mass
