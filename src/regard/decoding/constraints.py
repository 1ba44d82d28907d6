"""Tokens that may come next: `constrain` is the hook of every search, before it chooses.

    suppressed  ids that are never generated
    bans        ids that must not follow an output: forbidden phrases, n-grams that would repeat,
                an end that comes too early. A `Ban` is a function from an output's tokens to ids,
                called for every row at every step
    prefix      ids that an output begins with, whatever else is forbidden

R rows still being generated, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

from regard.config import SearchOptions
from regard.decoding.ranking import IMPOSSIBLE
from regard.decoding.request import FREE, Ban, SearchRequest
from regard.errors import InputError
from regard.text import EOS


def option_bans(options: SearchOptions) -> tuple[Ban, ...]:
    """Return the bans of a minimum length and of repeated n-grams, as far as they are set."""
    bans: list[Ban] = []
    if options.min_length > 0:
        bans.append(early_end(options.min_length))
    if options.no_repeat_ngram > 0:
        bans.append(repeated_ngram(options.no_repeat_ngram))
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


def constrain(
    logs_RV: Tensor,
    request: SearchRequest,
    sentences: Sequence[int],
    length: int,
    outputs: Callable[[], Sequence[Sequence[int]]],
) -> None:
    """Set the log-probabilities of tokens that may not come next to -inf, in place.

    A row that is still in its prefix is left with the prefix's token alone, which nothing else
    forbids: whatever chooses by these log-probabilities chooses that.

    sentences  number of each row's sentence in the request
    length     tokens that every output has so far
    outputs    returns these tokens of each row; called only if there are bans
    """
    forced_R = forced_logs_R = None
    if length < request.prefix.shape[1]:
        forced_R = request.prefix[torch.tensor(sentences, device=request.device), length]
        forced_logs_R = _forced_logs(logs_RV, forced_R)
    logs_RV.index_fill_(1, request.suppressed, IMPOSSIBLE)
    if request.bans:
        _apply_bans(logs_RV, outputs(), request.bans)
    if forced_R is not None and forced_logs_R is not None:
        rows = (forced_R != FREE).nonzero()[:, 0]
        logs_RV[rows] = IMPOSSIBLE
        logs_RV[rows, forced_R[rows]] = forced_logs_R[rows]


def _apply_bans(logs_RV: Tensor, outputs: Sequence[Sequence[int]], bans: Sequence[Ban]) -> None:
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


def _forced_logs(logs_RV: Tensor, forced_R: Tensor) -> Tensor:
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
