"""Sampling, with temperature, top-k and top-p.

Each row has its own random generator, seeded by (seed, sample id of the sentence, number of the
sample), so that a sentence's samples do not depend on the batch. A token is drawn with one uniform
number u: the first token whose cumulative probability exceeds u.

R rows, V tokens of the vocabulary, K tokens that may be drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor

from regard.config import SearchOptions
from regard.decoding.hypothesis import Hypothesis, ranked
from regard.decoding.ranking import top_k as best_k
from regard.decoding.request import SearchRequest, StepModel
from regard.decoding.step_loop import ChooseTokens, collect, decode_steps
from regard.errors import InputError

FEW = 256
"""Number of most probable tokens among which the nucleus is searched for first."""


def sample(
    model: StepModel,
    request: SearchRequest,
    options: SearchOptions,
    *,
    sample_ids: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Return `n_best` samples of each sentence, by score; samples may be equal.

    `sample_ids` are integers that seed each sentence's sampling; by default its index.
    """
    count = options.n_best
    sample_ids = range(len(request)) if sample_ids is None else sample_ids
    if len(sample_ids) != len(request):
        raise InputError(
            f"sample_ids must have one integer for each of {len(request)} sentences, "
            f"got {len(sample_ids)}."
        )
    rows = torch.arange(len(request), device=request.device).repeat_interleave(count)
    repeated = request if count == 1 or not len(request) else request.select(model, rows)
    choose = sampler(
        options, [(sample_id, nth) for sample_id in sample_ids for nth in range(count)]
    )
    samples = collect(decode_steps(model, repeated, choose), len(repeated), options.length_penalty)
    return [ranked(samples[first : first + count]) for first in range(0, len(samples), count)]


def sampler(options: SearchOptions, rows: Sequence[tuple[int, int]]) -> ChooseTokens:
    """Return the function that draws tokens; row r is sample rows[r][1] of sentence rows[r][0]."""
    temperature, top_k, top_p = options.temperature, options.top_k, options.top_p
    if not temperature > 0:
        raise InputError(
            f"decoding.temperature must be above 0, got {temperature}; for the most probable "
            "tokens leave decoding.sample out and set decoding.beam to 1."
        )
    if not 0 < top_p <= 1:
        raise InputError(f"decoding.top_p must be above 0 and at most 1, got {top_p}.")
    generators = [Random(f"{options.seed} {sample_id} {nth}") for sample_id, nth in rows]

    def choose(logs_RV: Tensor, live: Sequence[int]) -> Tensor:
        uniform = torch.tensor([generators[row].random() for row in live], dtype=torch.float32)
        return draw(logs_RV, uniform.to(logs_RV.device), temperature, top_k, top_p)

    return choose


def draw(
    logs_RV: Tensor, uniform_R: Tensor, temperature: float, top_k: int, top_p: float
) -> Tensor:
    """(R,): tokens drawn from softmax(logs / temperature), limited to top-k, then to top-p.

    Top-p keeps the fewest of the most probable tokens whose probabilities sum to at least p
    (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1).
    """
    tokens_RK = None
    if 0 < top_k < logs_RV.shape[1]:
        logs_RV, tokens_RK = best_k(logs_RV, top_k)
    probs_RK = (logs_RV / temperature).softmax(-1)
    if top_p < 1:
        probs_RK, indices_RK = _nucleus(logs_RV, probs_RK, top_p)
        tokens_RK = indices_RK if tokens_RK is None else tokens_RK.gather(1, indices_RK)
    cumulative_RK = probs_RK.cumsum(1)
    threshold_R1 = uniform_R[:, None] * cumulative_RK[:, -1:]
    index_R1 = torch.searchsorted(cumulative_RK, threshold_R1, right=True)
    last_R1 = cumulative_RK.argmax(1, keepdim=True)  # rounding may exceed the last token
    index_R1 = torch.minimum(index_R1, last_R1)
    return (index_R1 if tokens_RK is None else tokens_RK.gather(1, index_R1))[:, 0]


def _nucleus(logs_RV: Tensor, probs_RV: Tensor, top_p: float) -> tuple[Tensor, Tensor]:
    """Return the probabilities of the tokens that reach p, 0 for others, and their ids.

    A few tokens nearly always reach it, so the whole vocabulary is sorted only when they do not.
    """
    for count in (FEW, logs_RV.shape[1]):
        indices_RK = best_k(logs_RV, count)[1]
        sorted_RK = probs_RV.gather(1, indices_RK)
        before_RK = sorted_RK.cumsum(1) - sorted_RK
        if bool((before_RK[:, -1] >= top_p).all()):
            break
    return torch.where(before_RK < top_p, sorted_RK, 0.0), indices_RK
