"""One token at a time for rows that do not compete: the loop of greedy, sampling and streams.

R rows still writing, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.decoding.ranking import NOTHING, log_probabilities
from regard.decoding.request import FREE, Request
from regard.decoding.writer import BOS, EOS, Writer
from regard.errors import InputError

Choose = Callable[[Tensor, Sequence[int]], Tensor]
"""From log-probabilities (R, V), -inf where not allowed, and the rows' numbers to tokens (R,)."""


class Moment(NamedTuple):
    """What one step wrote: for each row that still writes, its number, token and log p."""

    rows: Sequence[int]
    tokens: Sequence[int]
    log_probabilities: Sequence[float]
    maps: Sequence[Any]


@torch.inference_mode()
def walk(
    writer: Writer, request: Request, choose: Choose, *, look: bool = False
) -> Iterator[Moment]:
    """Write all rows to their ends, step by step; rows that are done leave the batch.

    A row that has no token left to write (all have probability 0) ends without one.
    """
    if not len(request):
        return
    state, limits, prefix = request.state, request.limits.tolist(), request.prefix
    rows = list(range(len(request)))
    tokens_R = torch.full((len(rows),), BOS, device=request.device)
    written = 0
    while True:
        logits_RV, state, maps = writer.step(state, tokens_R, look)
        forced_R = prefix[:, written] if written < prefix.shape[1] else None
        tokens_R, logs_R = _chosen(logits_RV, request.never, forced_R, choose, rows)
        tokens, logs = tokens_R.tolist(), logs_R.tolist()
        written += 1
        able = [place for place, log in enumerate(logs) if log > NOTHING]
        yield Moment(
            [rows[place] for place in able],
            [tokens[place] for place in able],
            [logs[place] for place in able],
            maps,
        )
        going = [place for place in able if tokens[place] != EOS and written < limits[rows[place]]]
        if not going:
            return
        if len(going) < len(rows):
            kept_R = torch.tensor(going, device=request.device)
            state = writer.select(state, kept_R)
            tokens_R, prefix = tokens_R[kept_R], prefix[kept_R]
            rows = [rows[place] for place in going]


def _chosen(
    logits_RV: Tensor,
    never_N: Tensor,
    forced_R: Tensor | None,
    choose: Choose,
    rows: Sequence[int],
) -> tuple[Tensor, Tensor]:
    """Each row's token, the prefix's or a chosen one, and its log-probability."""
    logs_RV = log_probabilities(logits_RV)
    obliged_R = None if forced_R is None else forced_logs(logs_RV, forced_R)
    logs_RV.index_fill_(1, never_N, NOTHING)
    tokens_R = choose(logs_RV, rows)
    logs_R = logs_RV.gather(1, tokens_R[:, None])[:, 0]
    if forced_R is None or obliged_R is None:
        return tokens_R, logs_R
    free_R = forced_R == FREE
    return torch.where(free_R, tokens_R, forced_R), torch.where(free_R, logs_R, obliged_R)


def forced_logs(logs_RV: Tensor, forced_R: Tensor) -> Tensor:
    """Log-probabilities (R,) of the prefixes' tokens, of any token at FREE.

    A token that the model does not have, or holds impossible, is an error.
    """
    vocabulary = logs_RV.shape[1]
    largest = int(forced_R.max())
    if largest >= vocabulary:
        raise InputError(
            f"a prefix has the id {largest}, but the model's vocabulary has {vocabulary} tokens; "
            "use the model's own tokeniser."
        )
    logs_R = logs_RV.gather(1, forced_R.clamp(min=0)[:, None])[:, 0]
    impossible_R = (logs_R == NOTHING) & (forced_R != FREE)
    if bool(impossible_R.any()):
        raise InputError(
            f"a prefix has the id {int(forced_R[impossible_R][0])} where the model holds it "
            "impossible; give another prefix."
        )
    return logs_R


def collected(moments: Iterator[Moment], count: int, length_penalty: float) -> list[Hypothesis]:
    """The hypotheses of a walk over `count` rows."""
    tokens: list[list[int]] = [[] for _ in range(count)]
    logs: list[list[float]] = [[] for _ in range(count)]
    for moment in moments:
        for row, token, log in zip(
            moment.rows, moment.tokens, moment.log_probabilities, strict=True
        ):
            tokens[row].append(token)
            logs[row].append(log)
    return [hypothesis(*row, length_penalty) for row in zip(tokens, logs, strict=True)]
