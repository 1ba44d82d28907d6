"""What else could stand at a place of a translation, and how it would go on from there."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from regard.config import SearchOptions
from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.decoding.ranking import NOTHING, best, log_probabilities
from regard.decoding.request import Prefixes, request
from regard.decoding.search import search
from regard.decoding.walk import forced_logs
from regard.decoding.writer import BOS, EOS, UNK, Reading, Writer
from regard.errors import InputError


class Alternative(NamedTuple):
    """Another token at a place.

    token         its id; EOS is the alternative of ending there
    probability   the model's own, after the same beginning
    continuation  the whole output with it, if asked for
    """

    token: int
    probability: float
    continuation: Hypothesis | None


def alternatives(
    writer: Writer,
    source: Reading | None,
    tokens: Sequence[int],
    position: int,
    count: int,
    *,
    settings: SearchOptions | None = None,
    never: Collection[int] = (UNK,),
) -> list[Alternative]:
    """The `count` most probable other tokens at a position of one sentence's output, best first.

    What stands before the position is kept; position `len(tokens)` is that of EOS. With `settings`
    every alternative is completed, all in one batch, by the search that they ask for.

    There are fewer when the vocabulary has no more.
    """
    if not 0 <= position <= len(tokens):
        raise InputError(
            f"position {position} is not in an output of {len(tokens)} tokens; "
            f"give one from 0 to {len(tokens)}."
        )
    if count < 1:
        raise InputError(f"count is {count}; ask for at least 1 alternative.")
    if source is not None and len(source.tokens) != 1:
        raise InputError(
            f"alternatives are those of one sentence, but {len(source.tokens)} came; "
            "ask for them in turn."
        )
    if position >= writer.max_length:
        raise InputError(
            f"position {position} is beyond the {writer.max_length} tokens that the model writes."
        )
    begin = list(tokens[:position])
    given = EOS if position == len(tokens) else tokens[position]
    logs, found = _next(writer, source, begin, {*never, given}, count)
    if settings is None:
        return [Alternative(token, math.exp(log), None) for token, log in found]
    prefixes = [[*begin, token] for token, _ in found if token != EOS]
    completed = iter(_completed(writer, source, prefixes, settings, never))
    return [
        Alternative(
            token,
            math.exp(log),
            hypothesis([*begin, EOS], [*logs, log], settings.length_penalty)
            if token == EOS
            else next(completed),
        )
        for token, log in found
    ]


@torch.inference_mode()
def _next(
    writer: Writer, source: Reading | None, begin: list[int], never: Collection[int], count: int
) -> tuple[list[float], list[tuple[int, float]]]:
    """Log-probabilities of a beginning, and the most probable tokens after it with theirs."""
    wanted = request(writer, source, max_length=writer.max_length, prefix=[begin], never=never)
    token, state, logs = torch.tensor([BOS], device=wanted.device), wanted.state, []
    for place in range(len(begin) + 1):
        logits, state, _ = writer.step(state, token)
        all_logs = log_probabilities(logits)
        if place < len(begin):
            token = wanted.prefix[:, place]
            logs.append(float(forced_logs(all_logs, token)))
    values, places = best(all_logs.index_fill_(1, wanted.never, NOTHING), count)
    found = zip(places[0].tolist(), values[0].tolist(), strict=True)
    return logs, [(token, log) for token, log in found if log > NOTHING]


def _completed(
    writer: Writer,
    source: Reading | None,
    prefixes: Prefixes,
    settings: SearchOptions,
    never: Collection[int],
) -> list[Hypothesis]:
    """The best output with each beginning."""
    if not prefixes:
        return []
    one = replace(settings, n_best=1)
    return [found[0] for found in search(writer, source, one, prefix=prefixes, never=never)]
