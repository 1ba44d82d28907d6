"""Greedy search, and the loop over rows that do not compete, which sampling and streams share.

R rows still being generated, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis, make_hypothesis
from regard.decoding.ranking import IMPOSSIBLE, log_probabilities, top_k
from regard.decoding.request import FREE, SearchRequest, StepModel
from regard.errors import InputError
from regard.text import BOS, EOS

ChooseTokens = Callable[[Tensor, Sequence[int]], Tensor]
"""From log-probabilities (R, V), -inf where suppressed, and the rows' indices to tokens (R,)."""


class StepOutput(NamedTuple):
    """The tokens of one step: for each live row its index in the request, token and log p."""

    rows: Sequence[int]
    tokens: Sequence[int]
    log_probabilities: Sequence[float]
    maps: Sequence[Any]


@torch.inference_mode()
def decode_steps(
    model: StepModel, request: SearchRequest, choose: ChooseTokens, *, attention: bool = False
) -> Iterator[StepOutput]:
    """Generate all rows to their ends, one step at a time; finished rows leave the batch.

    A row all of whose tokens have probability 0 ends without a token.
    """
    if not len(request):
        return
    state, limits, prefix = request.state, request.limits.tolist(), request.prefix
    rows = list(range(len(request)))
    tokens_R = torch.full((len(rows),), BOS, device=request.device)
    length = 0
    while True:
        logits_RV, state, maps = model.step(state, tokens_R, attention)
        forced_R = prefix[:, length] if length < prefix.shape[1] else None
        tokens_R, logs_R = _next_tokens(logits_RV, request.suppressed, forced_R, choose, rows)
        tokens, logs = tokens_R.tolist(), logs_R.tolist()
        length += 1
        possible = [i for i, log in enumerate(logs) if log > IMPOSSIBLE]
        yield StepOutput(
            [rows[i] for i in possible],
            [tokens[i] for i in possible],
            [logs[i] for i in possible],
            maps,
        )
        live = [i for i in possible if tokens[i] != EOS and length < limits[rows[i]]]
        if not live:
            return
        if len(live) < len(rows):
            live_R = torch.tensor(live, device=request.device)
            state = model.select(state, live_R)
            tokens_R, prefix = tokens_R[live_R], prefix[live_R]
            rows = [rows[i] for i in live]


def _next_tokens(
    logits_RV: Tensor,
    suppressed_N: Tensor,
    forced_R: Tensor | None,
    choose: ChooseTokens,
    rows: Sequence[int],
) -> tuple[Tensor, Tensor]:
    """Return each row's token, forced or chosen, and its log-probability."""
    logs_RV = log_probabilities(logits_RV)
    forced_logs_R = None if forced_R is None else forced_logs(logs_RV, forced_R)
    logs_RV.index_fill_(1, suppressed_N, IMPOSSIBLE)
    tokens_R = choose(logs_RV, rows)
    logs_R = logs_RV.gather(1, tokens_R[:, None])[:, 0]
    if forced_R is None or forced_logs_R is None:
        return tokens_R, logs_R
    free_R = forced_R == FREE
    return torch.where(free_R, tokens_R, forced_R), torch.where(free_R, logs_R, forced_logs_R)


def forced_logs(logs_RV: Tensor, forced_R: Tensor) -> Tensor:
    """Return the log-probabilities (R,) of forced tokens (undefined where FREE).

    Raises InputError for a token outside the vocabulary or of probability 0.
    """
    vocab_size = logs_RV.shape[1]
    largest = int(forced_R.max())
    if largest >= vocab_size:
        raise InputError(
            f"prefix ids must be below {vocab_size}, the model's vocabulary size, got {largest}; "
            "use the model's own tokenizer."
        )
    logs_R = logs_RV.gather(1, forced_R.clamp(min=0)[:, None])[:, 0]
    impossible_R = (logs_R == IMPOSSIBLE) & (forced_R != FREE)
    if bool(impossible_R.any()):
        raise InputError(
            f"the prefix has the id {int(forced_R[impossible_R][0])} where the model gives it "
            "probability 0; use another prefix."
        )
    return logs_R


def collect(
    outputs: Iterable[StepOutput], num_rows: int, length_penalty: float
) -> list[Hypothesis]:
    """Collect the outputs of all steps into one hypothesis per row."""
    tokens: list[list[int]] = [[] for _ in range(num_rows)]
    logs: list[list[float]] = [[] for _ in range(num_rows)]
    for output in outputs:
        for row, token, log in zip(
            output.rows, output.tokens, output.log_probabilities, strict=True
        ):
            tokens[row].append(token)
            logs[row].append(log)
    return [make_hypothesis(*row, length_penalty) for row in zip(tokens, logs, strict=True)]


def argmax(logs_RV: Tensor, rows: Sequence[int]) -> Tensor:
    """(R,): each row's most probable token; of equal ones the lower id."""
    return top_k(logs_RV, 1)[1][:, 0]


def greedy(
    model: StepModel, request: SearchRequest, *, length_penalty: float = 1.0
) -> list[Hypothesis]:
    """Return one hypothesis per sentence; the length penalty affects its score only."""
    return collect(decode_steps(model, request, argmax), len(request), length_penalty)
