"""Beam search over all sentences of a batch at once.

A sentence has `beam` slots. At every step the best continuations of its live hypotheses, ranked
together, take the free slots. A hypothesis that ends with EOS is finished and keeps its slot, so
the live ones become fewer, until none is left or none can win any more. Only live hypotheses are
rows of the batch: finished sentences and freed slots cost nothing.

Tensors rank the continuations; the bookkeeping of the few that are taken is plain Python: an
operation of torch costs as much on one number as on hundreds.

B live sentences, R live hypotheses (rows, sentence by sentence, the more probable first), W the
most live hypotheses of any sentence, K best continuations, V tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from regard.cancellation import check_cancelled
from regard.decoding.constraints import apply_bans
from regard.decoding.hypothesis import Hypothesis, make_hypothesis, ranked
from regard.decoding.ranking import IMPOSSIBLE, log_probabilities, top_k
from regard.decoding.request import FREE, SearchRequest, StepModel
from regard.decoding.step_loop import forced_logs
from regard.text import BOS, EOS


class LiveHypothesis(NamedTuple):
    """A hypothesis that is continued.

    sentence    number of its sentence
    parent_row  row of the hypothesis that it continues, at the step before
    total       log-probability
    token, log  the last token and its log-probability
    before      the hypothesis that it continues; None for BOS
    """

    sentence: int
    parent_row: int
    total: float
    token: int
    log: float
    before: LiveHypothesis | None

    def tokens(self) -> tuple[list[int], list[float]]:
        """All tokens but BOS, and their log-probabilities."""
        tokens, logs, last = [], [], self
        while last.before is not None:
            tokens.append(last.token)
            logs.append(last.log)
            last = last.before
        return tokens[::-1], logs[::-1]


class Candidates(NamedTuple):
    """The best continuations of each live sentence, best first.

    total       for each sentence, log-probabilities with the new token; -inf if there are no more
    row, token  for each of these the row that is continued, and the column of its new token
    tokens      for each row its most probable tokens
    logs        log-probabilities of these
    """

    total: list[list[float]]
    row: list[list[int]]
    column: list[list[int]]
    tokens: list[list[int]]
    logs: list[list[float]]


@dataclass
class FinishedHypotheses:
    """The finished and cut off hypotheses of a sentence.

    num_slots  slots that the finished ones occupy
    threshold  the score that a live one must exceed: the `n_best`th; -inf while there are fewer
    """

    n_best: int
    length_penalty: float
    hypotheses: list[Hypothesis] = field(default_factory=list)
    num_slots: int = 0
    threshold: float = IMPOSSIBLE

    def add(self, hypothesis: LiveHypothesis) -> None:
        """Add a hypothesis."""
        made = make_hypothesis(*hypothesis.tokens(), self.length_penalty)
        self.hypotheses.append(made)
        if made.finished:
            self.num_slots += 1
            if len(self.hypotheses) >= self.n_best:
                self.threshold = ranked(self.hypotheses)[self.n_best - 1].score


@torch.inference_mode()
def beam_search(
    model: StepModel,
    request: SearchRequest,
    *,
    beam: int,
    n_best: int = 1,
    length_penalty: float = 1.0,
) -> list[list[Hypothesis]]:
    """Return the `n_best` best hypotheses of each sentence, best first, all different.

    With a length penalty α ≥ 0 a live hypothesis of log-probability l can at best reach
    l / limit ** α, since every further token lowers l. A sentence stops when that is no more than
    its `n_best`th finished score, which does not change the result.
    """
    finished = [FinishedHypotheses(n_best, length_penalty) for _ in range(len(request))]
    live = [LiveHypothesis(number, number, 0.0, BOS, 0.0, None) for number in range(len(request))]
    limits, device, state, length = request.limits.tolist(), request.device, request.state, 0
    while live:
        check_cancelled()
        tokens_R = torch.tensor([hypothesis.token for hypothesis in live], device=device)
        logits_RV, state, _ = model.step(state, tokens_R)
        candidates = _candidates(logits_RV, live, request, length, beam)
        length += 1
        num_rows, live = len(live), _advance(live, candidates, limits, length, beam, finished)
        parents = [hypothesis.parent_row for hypothesis in live]
        if live and parents != list(range(num_rows)):
            state = model.select(state, torch.tensor(parents, device=device))
    return [ranked(sentence.hypotheses)[:n_best] for sentence in finished]


def _candidates(
    logits_RV: Tensor,
    live: Sequence[LiveHypothesis],
    request: SearchRequest,
    length: int,
    beam: int,
) -> Candidates:
    """Return the `beam` best continuations of each live sentence.

    Each row's best K tokens suffice, because no more than K continuations of one row are taken.
    """
    logs_RV, device = log_probabilities(logits_RV), logits_RV.device
    sentences = [hypothesis.sentence for hypothesis in live]
    forced_R = forced_logs_R = None
    if length < request.prefix.shape[1]:
        forced_R = request.prefix[torch.tensor(sentences, device=device), length]
        forced_logs_R = forced_logs(logs_RV, forced_R)
    logs_RV.index_fill_(1, request.suppressed, IMPOSSIBLE)
    if request.bans:
        apply_bans(logs_RV, [hypothesis.tokens()[0] for hypothesis in live], request.bans)
    logs_RK, tokens_RK = top_k(logs_RV, beam)
    if forced_R is not None and forced_logs_R is not None:
        logs_RK, tokens_RK = _force(forced_R, forced_logs_R, logs_RK, tokens_RK)

    # rows arranged by sentence, so that each sentence's candidates are in one row
    counts = [len(list(rows)) for _, rows in groupby(sentences)]
    size, width, num_tokens = len(counts), max(counts), tokens_RK.shape[1]
    totals_R = torch.tensor([hypothesis.total for hypothesis in live], device=device)
    totals_RK = totals_R[:, None] + logs_RK
    if len(live) < size * width:
        places = [row * width + rank for row, count in enumerate(counts) for rank in range(count)]
        slots = totals_RK.new_full((size * width, num_tokens), IMPOSSIBLE)
        totals_RK = slots.index_copy_(0, torch.tensor(places, device=device), totals_RK)
    ordered = totals_RK.view(size, width * num_tokens).sort(dim=1, descending=True, stable=True)
    order_BK = ordered.indices[:, :beam]
    return Candidates(
        ordered.values[:, :beam].tolist(),
        (order_BK // num_tokens).tolist(),
        (order_BK % num_tokens).tolist(),
        tokens_RK.tolist(),
        logs_RK.tolist(),
    )


def _force(
    forced_R: Tensor, forced_logs_R: Tensor, logs_RK: Tensor, tokens_RK: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the candidates, with the forced token alone in rows that have one."""
    forced_R1 = (forced_R != FREE)[:, None]
    first_K = torch.arange(tokens_RK.shape[1], device=tokens_RK.device) == 0
    forced_logs_RK = torch.where(first_K, forced_logs_R[:, None], IMPOSSIBLE)
    return (
        torch.where(forced_R1, forced_logs_RK, logs_RK),
        torch.where(forced_R1, forced_R.clamp(min=0)[:, None], tokens_RK),
    )


def _advance(
    live: Sequence[LiveHypothesis],
    candidates: Candidates,
    limits: Sequence[int],
    length: int,
    beam: int,
    finished: Sequence[FinishedHypotheses],
) -> list[LiveHypothesis]:
    """Store hypotheses of `length` tokens that are finished or cut off; return the live ones."""
    continued: list[LiveHypothesis] = []
    first = 0
    for number, (sentence, rows) in enumerate(groupby(live, key=lambda one: one.sentence)):
        parents, done = list(rows), finished[sentence]
        taken = []
        for total, rank, column in zip(
            candidates.total[number][: beam - done.num_slots],
            candidates.row[number],
            candidates.column[number],
            strict=False,
        ):
            if total == IMPOSSIBLE:
                break
            row = first + rank
            token, log = candidates.tokens[row][column], candidates.logs[row][column]
            taken.append(LiveHypothesis(sentence, row, total, token, log, parents[rank]))
        first += len(parents)

        for hypothesis in taken:
            if hypothesis.token == EOS:
                done.add(hypothesis)
        going_on = [hypothesis for hypothesis in taken if hypothesis.token != EOS]
        if not taken:  # without candidates, the last live hypotheses are kept, cut off
            going_on = parents
        if not taken or length >= limits[sentence]:
            for hypothesis in going_on:
                done.add(hypothesis)
        elif going_on:
            bound = going_on[0].total / limits[sentence] ** done.length_penalty
            if bound > done.threshold:
                continued += going_on
    return continued
