"""Sampling: tokens drawn at random, as probable as the model holds them, or only likely ones.

Each row has its own stream of chance, seeded by (seed, sentence's number, which of its samples), so
that a sentence's samples do not depend on the batch around it. A token is drawn by one uniform
number u: it is the first whose cumulated probability exceeds u.

R rows, V tokens of the vocabulary, K tokens that may be drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor

from regard.config import SearchOptions
from regard.decoding.hypothesis import Hypothesis, ranked
from regard.decoding.ranking import best
from regard.decoding.request import Request
from regard.decoding.walk import Choose, collected, walk
from regard.decoding.writer import Writer
from regard.errors import InputError

FEW = 256
"""Tokens among which the nucleus is sought first."""


def sample(
    writer: Writer,
    request: Request,
    settings: SearchOptions,
    *,
    numbers: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """`n_best` samples of each sentence, by score; two of them may be equal.

    `numbers` are the sentences' numbers, from which chance is seeded; without them their places.
    """
    count = settings.n_best
    numbers = range(len(request)) if numbers is None else numbers
    if len(numbers) != len(request):
        raise InputError(
            f"there are {len(numbers)} numbers for {len(request)} sentences; give one for each."
        )
    rows = torch.arange(len(request), device=request.device).repeat_interleave(count)
    repeated = request if count == 1 or not len(request) else request.select(writer, rows)
    choose = drawing(settings, [(number, nth) for number in numbers for nth in range(count)])
    found = collected(walk(writer, repeated, choose), len(repeated), settings.length_penalty)
    return [ranked(found[first : first + count]) for first in range(0, len(found), count)]


def drawing(settings: SearchOptions, rows: Sequence[tuple[int, int]]) -> Choose:
    """The choice of a walk whose row r is sample rows[r][1] of sentence number rows[r][0]."""
    temperature, top_k, top_p = settings.temperature, settings.top_k, settings.top_p
    if not temperature > 0:
        raise InputError(
            f"decoding.temperature must be above 0, but {temperature} came; "
            "for the most probable tokens leave decoding.sample out and set decoding.beam to 1."
        )
    if not 0 < top_p <= 1:
        raise InputError(f"decoding.top_p must be above 0 and at most 1, but {top_p} came.")
    chances = [Random(f"{settings.seed} {number} {nth}") for number, nth in rows]

    def choose(scores_RV: Tensor, live: Sequence[int]) -> Tensor:
        uniform = torch.tensor([chances[row].random() for row in live], dtype=torch.float32)
        return drawn(scores_RV, uniform.to(scores_RV.device), temperature, top_k, top_p)

    return choose


def drawn(
    logs_RV: Tensor, uniform_R: Tensor, temperature: float, top_k: int, top_p: float
) -> Tensor:
    """(R,): tokens drawn by softmax(logs / temperature), top-k taken first and top-p of those.

    Top-p keeps the fewest of the most probable tokens whose probabilities reach p together
    (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1).
    """
    tokens_RK = None
    if 0 < top_k < logs_RV.shape[1]:
        logs_RV, tokens_RK = best(logs_RV, top_k)
    shares_RK = (logs_RV / temperature).softmax(-1)
    if top_p < 1:
        shares_RK, places_RK = _nucleus(logs_RV, shares_RK, top_p)
        tokens_RK = places_RK if tokens_RK is None else tokens_RK.gather(1, places_RK)
    summed_RK = shares_RK.cumsum(1)
    wanted_R1 = uniform_R[:, None] * summed_RK[:, -1:]
    places_R1 = torch.searchsorted(summed_RK, wanted_R1, right=True)
    last_R1 = summed_RK.argmax(1, keepdim=True)  # where rounding would run over the end
    places_R1 = torch.minimum(places_R1, last_R1)
    return (places_R1 if tokens_RK is None else tokens_RK.gather(1, places_R1))[:, 0]


def _nucleus(logs_RV: Tensor, shares_RV: Tensor, top_p: float) -> tuple[Tensor, Tensor]:
    """The shares of the most probable tokens that reach p, 0 for others, and their places.

    A few tokens nearly always reach it, so that all are sorted only when these do not.
    """
    for count in (FEW, logs_RV.shape[1]):
        places_RK = best(logs_RV, count)[1]
        sorted_RK = shares_RV.gather(1, places_RK)
        before_RK = sorted_RK.cumsum(1) - sorted_RK
        if bool((before_RK[:, -1] >= top_p).all()):
            break
    kept_RK = before_RK < top_p
    return torch.where(kept_RK, sorted_RK, 0.0), places_RK
