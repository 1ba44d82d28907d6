"""Other tokens at one position of an output, and how the output would continue from there."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from regard.config import SearchOptions
from regard.decoding.hypothesis import Hypothesis, make_hypothesis
from regard.decoding.ranking import IMPOSSIBLE, log_probabilities, top_k
from regard.decoding.request import SourceBatch, StepModel, prepare_request
from regard.decoding.search import search
from regard.decoding.step_loop import forced_logs
from regard.errors import InputError
from regard.text import BOS, EOS, UNK


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
    for position in range(len(prefix) + 1):
        logits, state, _ = model.step(state, token)
        all_logs = log_probabilities(logits)
        if position < len(prefix):
            token = request.prefix[:, position]
            logs.append(float(forced_logs(all_logs, token)))
    values, ids = top_k(all_logs.index_fill_(1, request.suppressed, IMPOSSIBLE), count)
    candidates = zip(ids[0].tolist(), values[0].tolist(), strict=True)
    return logs, [(token, log) for token, log in candidates if log > IMPOSSIBLE]
