"""Scores of given outputs: their log-probabilities, and other tokens at one of their positions.

B sentences, T target tokens with EOS, V tokens of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.cancellation import check_cancelled
from regard.config import SearchOptions
from regard.decoding.constraints import constrain
from regard.decoding.hypothesis import Hypothesis, make_hypothesis
from regard.decoding.ranking import IMPOSSIBLE, log_probabilities, top_k
from regard.decoding.request import SourceBatch, StepModel, device_of, prepare_request
from regard.errors import InputError
from regard.text import BOS, EOS, PAD, UNK


class ForcedBatch(NamedTuple):
    """Input of a model's `forward`: inputs (B, T) begin with BOS, labels (B, T) end in EOS."""

    source: SourceBatch | None
    inputs: Tensor
    labels: Tensor


@torch.inference_mode()
def score(
    model: StepModel,
    source: SourceBatch | None,
    targets: Sequence[Sequence[int]],
    *,
    length_penalty: float = 1.0,
) -> list[Hypothesis]:
    """Score given outputs (ids without specials), one for each sentence.

    Uses one call of the model's `forward(batch)` if it has one, else step by step.
    """
    if source is not None and len(targets) != len(source.tokens):
        raise InputError(
            f"targets must have one output for each of {len(source.tokens)} sentences, got "
            f"{len(targets)}."
        )
    if not targets:
        return []
    longest = max(map(len, targets)) + 1
    if longest > model.max_length:
        raise InputError(
            f"a target must have at most {model.max_length} tokens with EOS, the model's limit, "
            f"got {longest}; split it."
        )
    device = device_of(model, source)
    batch = ForcedBatch(
        source,
        _padded([[BOS, *target] for target in targets], longest).to(device),
        _padded([[*target, EOS] for target in targets], longest).to(device),
    )
    forward = _forward(model)
    if forward is None:
        logs_BT = _score_by_steps(model, batch)
    else:
        logs_BT = _label_logs(forward(batch).flatten(0, 1), batch.labels.flatten())
        logs_BT = logs_BT.view(batch.labels.shape)
    return [
        make_hypothesis([*target, EOS], logs[: len(target) + 1], length_penalty)
        for target, logs in zip(targets, logs_BT.tolist(), strict=True)
    ]


def _forward(model: StepModel) -> Callable[[Any], Tensor] | None:
    """Return the model's `forward`, unless it is the empty one of every torch module."""
    if getattr(type(model), "forward", None) in (None, nn.Module.forward):
        return None
    forward: Callable[[Any], Tensor] = getattr(model, "forward")  # noqa: B009 (not in the protocol)
    return forward


def _score_by_steps(model: StepModel, batch: ForcedBatch) -> Tensor:
    state, logs = model.start(batch.source, len(batch.inputs)), []
    for tokens_B, labels_B in zip(batch.inputs.unbind(1), batch.labels.unbind(1), strict=True):
        check_cancelled()
        logits_BV, state, _ = model.step(state, tokens_B)
        logs.append(_label_logs(logits_BV, labels_B))
    return torch.stack(logs, 1)


def _label_logs(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    """(N,): log-probabilities of the labels."""
    if int(labels_N.max()) >= logits_NV.shape[1]:
        raise InputError(
            f"target ids must be below {logits_NV.shape[1]}, the model's vocabulary size, got "
            f"{int(labels_N.max())}; use the model's own tokenizer."
        )
    return log_probabilities(logits_NV).gather(1, labels_N[:, None])[:, 0]


def _padded(rows: Sequence[Sequence[int]], longest: int) -> Tensor:
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


class Alternative(NamedTuple):
    """Another token at a position.

    token         its id; EOS means ending there
    probability   under the model, after the same prefix
    continuation  the whole output with it, if requested
    """

    token: int
    probability: float
    continuation: Hypothesis | None


def alternatives(
    model: StepModel,
    source: SourceBatch | None,
    tokens: Sequence[int],
    position: int,
    count: int,
    *,
    options: SearchOptions | None = None,
    suppress_tokens: Collection[int] = (UNK,),
) -> list[Alternative]:
    """Return the `count` most probable other tokens at a position of an output, best first.

    The tokens before the position are kept; position `len(tokens)` is that of EOS. With `options`
    every alternative is completed by a search with them, all in one batch. There are fewer than
    `count` when the vocabulary has no more.
    """
    if not 0 <= position <= len(tokens):
        raise InputError(
            f"position must be from 0 to {len(tokens)}, the length of the output, got {position}."
        )
    if count < 1:
        raise InputError(f"count must be at least 1, got {count}.")
    if source is not None and len(source.tokens) != 1:
        raise InputError(f"alternatives takes one sentence, got {len(source.tokens)}.")
    if position >= model.max_length:
        raise InputError(
            f"position must be below {model.max_length}, the model's length limit, got {position}."
        )
    prefix = list(tokens[:position])
    current = EOS if position == len(tokens) else tokens[position]
    logs, candidates = _next_tokens(model, source, prefix, {*suppress_tokens, current}, count)
    if options is None:
        return [Alternative(token, math.exp(log), None) for token, log in candidates]
    from regard.decoding.torch_engine import search

    prefixes = [[*prefix, token] for token, _ in candidates if token != EOS]
    completed = iter(
        search(
            model,
            source,
            replace(options, n_best=1),
            prefix=prefixes,
            suppress_tokens=suppress_tokens,
        )
        if prefixes
        else []
    )
    return [
        Alternative(
            token,
            math.exp(log),
            make_hypothesis([*prefix, EOS], [*logs, log], options.length_penalty)
            if token == EOS
            else next(completed)[0],
        )
        for token, log in candidates
    ]


@torch.inference_mode()
def _next_tokens(
    model: StepModel,
    source: SourceBatch | None,
    prefix: list[int],
    suppress_tokens: Collection[int],
    count: int,
) -> tuple[list[float], list[tuple[int, float]]]:
    """Return the prefix's log-probabilities, and the most probable next tokens with theirs."""
    request = prepare_request(
        model, source, max_length=model.max_length, prefix=[prefix], suppress_tokens=suppress_tokens
    )
    token, state, logs = torch.tensor([BOS], device=request.device), request.state, []
    for length in range(len(prefix) + 1):
        check_cancelled()
        logits, state, _ = model.step(state, token)
        next_logs = log_probabilities(logits)
        constrain(next_logs, request, [0], length, lambda: [prefix])
        if length < len(prefix):
            token = request.prefix[:, length]
            logs.append(float(next_logs[0, token]))
    values, ids = top_k(next_logs, count)
    candidates = zip(ids[0].tolist(), values[0].tolist(), strict=True)
    return logs, [(token, log) for token, log in candidates if log > IMPOSSIBLE]
