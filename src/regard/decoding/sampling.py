"""Greedy search, sampling and streams: rows that do not compete, one step at a time.

Each sampled row has its own random generator, seeded by (seed, sample id of the sentence, number
of the sample), so that a sentence's samples do not depend on the batch. A token is drawn with one
uniform number u: the first token whose cumulative probability exceeds u.

R rows still being generated, V tokens of the vocabulary, K tokens that may be drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.cancellation import check_cancelled
from regard.config import SearchOptions
from regard.decoding.constraints import constrain, option_bans
from regard.decoding.hypothesis import Hypothesis, make_hypothesis, ranked
from regard.decoding.ranking import IMPOSSIBLE, first_argmax, log_probabilities
from regard.decoding.ranking import top_k as best_k
from regard.decoding.request import (
    Ban,
    SearchRequest,
    SourceBatch,
    StepModel,
    prepare_request,
)
from regard.errors import InputError
from regard.text import BOS, EOS, UNK

ChooseTokens = Callable[[Tensor, Sequence[int]], Tensor]
"""From log-probabilities (R, V), -inf where forbidden, and the rows' indices to tokens (R,)."""


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
    state, limits = request.state, request.limits.tolist()
    rows = list(range(len(request)))
    outputs: list[list[int]] = [[] for _ in rows]
    tokens_R = torch.full((len(rows),), BOS, device=request.device)
    length = 0
    while True:
        check_cancelled()
        logits_RV, state, maps = model.step(state, tokens_R, attention)
        logs_RV = log_probabilities(logits_RV)
        constrain(logs_RV, request, rows, length, lambda: [outputs[row] for row in rows])  # noqa: B023
        tokens_R = choose(logs_RV, rows)
        tokens, logs = tokens_R.tolist(), logs_RV.gather(1, tokens_R[:, None])[:, 0].tolist()
        length += 1
        possible = [i for i, log in enumerate(logs) if log > IMPOSSIBLE]
        for i in possible:
            outputs[rows[i]].append(tokens[i])
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
            tokens_R = tokens_R[live_R]
            rows = [rows[i] for i in live]


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
    return first_argmax(logs_RV)


def greedy(
    model: StepModel, request: SearchRequest, *, length_penalty: float = 1.0
) -> list[Hypothesis]:
    """Return one hypothesis per sentence; the length penalty affects its score only."""
    return collect(decode_steps(model, request, argmax), len(request), length_penalty)


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
    outputs = decode_steps(model, repeated, choose)
    samples = collect(outputs, len(repeated), options.length_penalty)
    return [ranked(samples[first : first + count]) for first in range(0, len(samples), count)]


def sampler(options: SearchOptions, rows: Sequence[tuple[int, int]]) -> ChooseTokens:
    """Return the function that draws tokens; row r is sample rows[r][1] of sentence rows[r][0]."""
    temperature, top_k, top_p = options.temperature, options.top_k, options.top_p
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


class StreamedToken(NamedTuple):
    """One generated token.

    token            its id; EOS at the end of a finished output
    log_probability  under the model
    forced           whether it belongs to the prefix
    maps             with `attention`, this step's row of every layer and head
    """

    token: int
    log_probability: float
    forced: bool
    maps: Sequence[Any]

    @property
    def finished(self) -> bool:
        """Whether it is EOS. A stream that ends without EOS was cut off at its length limit."""
        return self.token == EOS


def stream(
    model: StepModel,
    source: SourceBatch | None,
    options: SearchOptions,
    *,
    prefix: Sequence[int] = (),
    suppress_tokens: Collection[int] = (UNK,),
    bans: Sequence[Ban] = (),
    sample_id: int = 0,
    attention: bool = False,
) -> Iterator[StreamedToken]:
    """Generate one sentence greedily or by sampling, the prefix first.

    The source is encoded, and errors are raised, at once; each token is computed when requested.
    The tokens are those of `search` with beam 1, or of the first sample of sentence `sample_id`.
    """
    if source is not None and len(source.tokens) != 1:
        raise InputError(f"stream takes one sentence, got {len(source.tokens)}.")
    request = prepare_request(
        model,
        source,
        max_length=options.max_length,
        prefix=[prefix],
        suppress_tokens=suppress_tokens,
        bans=(*option_bans(options), *bans),
    )
    choose = sampler(options, [(sample_id, 0)]) if options.sample else argmax
    return _tokens(decode_steps(model, request, choose, attention=attention), len(prefix))


def _tokens(outputs: Iterator[StepOutput], num_forced: int) -> Iterator[StreamedToken]:
    for position, output in enumerate(outputs):
        for token, log in zip(output.tokens, output.log_probabilities, strict=True):
            yield StreamedToken(token, log, position < num_forced, output.maps)
