"""Tokens that must not come next, which depends on the output so far.

A `Ban` is a function from an output's tokens to ids. It is called for every row at every step, so
a search without bans does nothing here. Tokens forced by a prefix are never banned.

R rows still being generated, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

from regard.config import SearchOptions
from regard.decoding.ranking import IMPOSSIBLE
from regard.decoding.request import FREE, Ban, SearchRequest
from regard.text import EOS

ChooseTokens = Callable[[Tensor, Sequence[int]], Tensor]
"""From log-probabilities (R, V), -inf where suppressed, and the rows' indices to tokens (R,)."""


def option_bans(options: SearchOptions) -> tuple[Ban, ...]:
    """Return the bans of a minimum length and of repeated n-grams, as far as they are set."""
    bans: list[Ban] = []
    if getattr(options, "min_length", 0) > 0:
        bans.append(early_end(getattr(options, "min_length", 0)))
    if getattr(options, "no_repeat_ngram", 0) > 0:
        bans.append(repeated_ngram(getattr(options, "no_repeat_ngram", 0)))
    return tuple(bans)


def early_end(min_length: int) -> Ban:
    """Ban EOS before an output has `min_length` tokens.

    >>> early_end(2)([7]), early_end(2)([7, 7])
    ((3,), ())
    """
    return lambda tokens: (EOS,) if len(tokens) < min_length else ()


def repeated_ngram(size: int) -> Ban:
    """Ban the tokens that would repeat a sequence of `size` tokens.

    >>> repeated_ngram(2)([5, 6, 5]), repeated_ngram(1)([5, 6])
    ([6], [5, 6])
    """

    def ban(tokens: Sequence[int]) -> Collection[int]:
        start = len(tokens) - size + 1
        last = tokens[start:] if size > 1 else tokens[:0]
        return [
            tokens[first + size - 1]
            for first in range(start)
            if tokens[first : first + size - 1] == last
        ]

    return ban


def apply_bans(logs_RV: Tensor, outputs: Sequence[Sequence[int]], bans: Sequence[Ban]) -> None:
    """Set the log-probabilities of banned tokens to -inf, in place; `outputs` are the rows'."""
    rows: list[int] = []
    ids: list[int] = []
    for row, tokens in enumerate(outputs):
        for ban in bans:
            banned = ban(tokens)
            rows += [row] * len(banned)
            ids += banned
    if ids:
        device = logs_RV.device
        logs_RV[torch.tensor(rows, device=device), torch.tensor(ids, device=device)] = IMPOSSIBLE


def constrained(choose: ChooseTokens, request: SearchRequest) -> ChooseTokens:
    """Return `choose` with the request's bans, applied before it chooses; itself without bans."""
    if not request.bans:
        return choose
    outputs: list[list[int]] = [[] for _ in range(len(request))]
    prefix = request.prefix.tolist()

    def choose_allowed(logs_RV: Tensor, rows: Sequence[int]) -> Tensor:
        apply_bans(logs_RV, [outputs[row] for row in rows], request.bans)
        tokens_R = choose(logs_RV, rows)
        for row, token in zip(rows, tokens_R.tolist(), strict=True):
            length = len(outputs[row])
            forced = prefix[row][length] if length < len(prefix[row]) else FREE
            outputs[row].append(token if forced == FREE else forced)
        return tokens_R

    return choose_allowed
