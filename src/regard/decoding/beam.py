"""Beam search: the most promising beginnings of each sentence, side by side, in one batch.

A sentence has `beam` places. At every step the best continuations of its live hypotheses, over all
of them together, take its places. One that ends in EOS is finished and keeps its place for good, so
the live ones become fewer, until none is left or none can win any more. Only live hypotheses are
rows of the batch: those of finished sentences, and places given up, cost nothing.

B sentences, R live hypotheses (rows, sentence by sentence, the more probable first), W the most
that any sentence has, K places of a sentence (the beam), V tokens, T tokens written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis, hypothesis, ranked
from regard.decoding.ranking import NOTHING, best, log_probabilities
from regard.decoding.request import FREE, Request
from regard.decoding.walk import forced_logs
from regard.decoding.writer import BOS, EOS, Writer


class Live(NamedTuple):
    """The hypotheses that go on.

    sentence (R,), place (R,)  whose it is, and its rank there
    total    (R,)              its log-probability
    tokens   (R, T + 1)        BOS and what is written
    logs     (R, T)            log-probabilities of these
    """

    sentence: Tensor
    place: Tensor
    total: Tensor
    tokens: Tensor
    logs: Tensor


class Candidates(NamedTuple):
    """The continuations that take the places of each sentence, best first; all (B, K).

    total   log-probability with the new token; -inf where there is none
    parent  the row that is continued
    token, log  the new token and its log-probability
    """

    total: Tensor
    parent: Tensor
    token: Tensor
    log: Tensor


@dataclass
class Found:
    """What is finished of each sentence, and from what score on it could be improved.

    kept   each sentence's hypotheses
    taken  (B,)  how many places they hold
    bar    (B,)  the score of the last of those asked for; -inf while there are fewer
    """

    kept: list[list[Hypothesis]]
    taken: Tensor
    bar: Tensor
    n_best: int
    length_penalty: float

    def add(self, sentences: Tensor, tokens: Tensor, logs: Tensor) -> None:
        """Keep hypotheses: tokens (N, T + 1) with their BOS, logs (N, T)."""
        for sentence, written, log in zip(
            sentences.tolist(), tokens[:, 1:].tolist(), logs.tolist(), strict=True
        ):
            kept = self.kept[sentence]
            kept.append(hypothesis(written, log, self.length_penalty))
            if kept[-1].finished:
                self.taken[sentence] += 1
                if len(kept) >= self.n_best:
                    scores = sorted((one.score for one in kept), reverse=True)
                    self.bar[sentence] = scores[self.n_best - 1]


@torch.inference_mode()
def beam(
    writer: Writer, request: Request, *, beam: int, n_best: int = 1, length_penalty: float = 1.0
) -> list[list[Hypothesis]]:
    """The `n_best` best hypotheses found of each sentence, best first, all different.

    With a length penalty α ≥ 0 a live hypothesis of log-probability l can at best reach
    l / limit ** α, finished or cut off: every further token costs. A sentence stops when that is
    no more than its `n_best`th finished score, which changes nothing in what is returned.
    """
    if not len(request):
        return []
    size, device = len(request), request.device
    found = Found(
        [[] for _ in range(size)],
        torch.zeros(size, dtype=torch.int64, device=device),
        torch.full((size,), NOTHING, dtype=torch.float64, device="cpu"),
        n_best,
        length_penalty,
    )
    state, live = request.state, _beginning(size, device)
    reach_B = request.limits.cpu().double() ** length_penalty
    while len(live.total):
        logits_RV, state, _ = writer.step(state, live.tokens[:, -1])
        chosen = _candidates(logits_RV, live, request, beam, found.taken)
        live, parents_R = _settle(live, chosen, request.limits, reach_B, found)
        state = _moved(writer, state, parents_R, len(logits_RV))
    return [ranked(kept)[:n_best] for kept in found.kept]


def _beginning(size: int, device: torch.device) -> Live:
    return Live(
        sentence=torch.arange(size, device=device),
        place=torch.zeros(size, dtype=torch.int64, device=device),
        total=torch.zeros(size, device=device),
        tokens=torch.full((size, 1), BOS, device=device),
        logs=torch.zeros(size, 0, device=device),
    )


def _candidates(
    logits_RV: Tensor, live: Live, request: Request, beam: int, taken_B: Tensor
) -> Candidates:
    """The best continuations of each sentence, as many as it has places that are not taken.

    Each row's best K tokens are enough, because no more than K can be taken of one row.
    """
    logs_RV, written = log_probabilities(logits_RV), live.logs.shape[1]
    forced_R = obliged_R = None
    if written < request.prefix.shape[1]:
        forced_R = request.prefix[live.sentence, written]
        obliged_R = forced_logs(logs_RV, forced_R)
    logs_RK, tokens_RK = best(logs_RV.index_fill_(1, request.never, NOTHING), beam)
    if forced_R is not None and obliged_R is not None:
        logs_RK, tokens_RK = _obeying(forced_R, obliged_R, logs_RK, tokens_RK)

    # the rows, laid out by sentence and place, so that each sentence's candidates are in one row
    size, width, each = len(taken_B), int(live.place.max()) + 1, tokens_RK.shape[1]
    at_R = live.sentence * width + live.place
    laid_out = torch.full((size * width, each), NOTHING, device=logits_RV.device)
    laid_out[at_R] = live.total[:, None] + logs_RK
    row_of = torch.zeros(size * width, dtype=torch.int64, device=logits_RV.device)
    row_of[at_R] = torch.arange(len(at_R), device=logits_RV.device)
    ordered = laid_out.view(size, width * each).sort(dim=1, descending=True, stable=True)
    total_BK, where_BK = ordered.values[:, :beam], ordered.indices[:, :beam]

    places_K = torch.arange(total_BK.shape[1], device=total_BK.device)
    total_BK = total_BK.masked_fill(places_K >= (beam - taken_B)[:, None], NOTHING)
    sentence_B1 = torch.arange(size, device=total_BK.device)[:, None]
    parent_BK = row_of[sentence_B1 * width + where_BK // each]
    which_BK = where_BK % each
    return Candidates(
        total_BK, parent_BK, tokens_RK[parent_BK, which_BK], logs_RK[parent_BK, which_BK]
    )


def _obeying(
    forced_R: Tensor, obliged_R: Tensor, logs_RK: Tensor, tokens_RK: Tensor
) -> tuple[Tensor, Tensor]:
    """The candidates; where a token is forced, that one alone."""
    forced_R1 = (forced_R != FREE)[:, None]
    first_K = torch.arange(tokens_RK.shape[1], device=tokens_RK.device) == 0
    alone_RK = torch.where(first_K, obliged_R[:, None], NOTHING)
    return (
        torch.where(forced_R1, alone_RK, logs_RK),
        torch.where(forced_R1, forced_R.clamp(min=0)[:, None], tokens_RK),
    )


def _settle(
    live: Live, chosen: Candidates, limits_B: Tensor, reach_B: Tensor, found: Found
) -> tuple[Live, Tensor]:
    """Put by what is finished or cut off; the hypotheses that go on, and their parents (R',)."""
    written = live.logs.shape[1] + 1
    valid_BK = chosen.total > NOTHING
    ended_BK = valid_BK & (chosen.token == EOS)
    if bool(ended_BK.any()):
        ended, _ = _continued(live, chosen, ended_BK)
        found.add(ended.sentence, ended.tokens, ended.logs)
    going_BK = valid_BK & ~ended_BK

    # a sentence without any candidate keeps what it has: its last live ones, cut off
    stuck_R = ~valid_BK.any(1)[live.sentence]
    if bool(stuck_R.any()):
        found.add(live.sentence[stuck_R], live.tokens[stuck_R], live.logs[stuck_R])

    full_B = written >= limits_B
    cut_BK = going_BK & full_B[:, None]
    if bool(cut_BK.any()):
        cut, _ = _continued(live, chosen, cut_BK)
        found.add(cut.sentence, cut.tokens, cut.logs)

    promise_B = chosen.total.masked_fill(~going_BK, NOTHING).amax(1).cpu().double() / reach_B
    over_B = full_B | (promise_B <= found.bar).to(full_B.device)
    return _continued(live, chosen, going_BK & ~over_B[:, None])


def _continued(live: Live, chosen: Candidates, which_BK: Tensor) -> tuple[Live, Tensor]:
    """The chosen continuations as hypotheses, sentence by sentence, and their parents."""
    sentence, _ = which_BK.nonzero(as_tuple=True)
    parent = chosen.parent[which_BK]
    hypotheses = Live(
        sentence=sentence,
        place=(which_BK.cumsum(1) - 1)[which_BK],
        total=chosen.total[which_BK],
        tokens=torch.cat([live.tokens[parent], chosen.token[which_BK][:, None]], 1),
        logs=torch.cat([live.logs[parent], chosen.log[which_BK][:, None]], 1),
    )
    return hypotheses, parent


def _moved(writer: Writer, state: Any, parents_R: Tensor, before: int) -> Any:
    """The state of the rows that go on; untouched when they are the rows that were there."""
    if not len(parents_R):
        return state
    if len(parents_R) == before:
        stayed = torch.arange(before, device=parents_R.device)
        if torch.equal(parents_R, stayed):
            return state
    return writer.select(state, parents_R)
