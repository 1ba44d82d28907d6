"""Beam search over all sentences of a batch at once.

A sentence has `beam` slots. At every step the best continuations of its live hypotheses, ranked
together, take the free slots. A hypothesis that ends with EOS is finished and keeps its slot, so
the live ones become fewer, until none is left or none can win any more. Only live hypotheses are
rows of the batch: finished sentences and freed slots cost nothing.

B sentences, R live hypotheses (rows, sentence by sentence, the more probable first), W the most
live hypotheses of any sentence, K slots of a sentence (the beam), V tokens, T tokens generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.decoding.constraints import apply_bans
from regard.decoding.hypothesis import Hypothesis, make_hypothesis, ranked
from regard.decoding.ranking import IMPOSSIBLE, log_probabilities, top_k
from regard.decoding.request import FREE, SearchRequest, StepModel
from regard.decoding.step_loop import forced_logs
from regard.text import BOS, EOS


class LiveHypotheses(NamedTuple):
    """The hypotheses that are continued.

    sentence (R,), rank (R,)  the sentence of each, and its rank there
    total    (R,)             log-probability
    tokens   (R, T + 1)       BOS and the generated tokens
    logs     (R, T)           log-probabilities of these
    """

    sentence: Tensor
    rank: Tensor
    total: Tensor
    tokens: Tensor
    logs: Tensor


class Candidates(NamedTuple):
    """The continuations that take the slots of each sentence, best first; all (B, K).

    total       log-probability with the new token; -inf in unused slots
    parent      the row that is continued
    token, log  the new token and its log-probability
    """

    total: Tensor
    parent: Tensor
    token: Tensor
    log: Tensor


@dataclass
class FinishedHypotheses:
    """The finished hypotheses of each sentence, and the score that a live one must exceed.

    hypotheses  of each sentence
    num_slots   (B,)  slots that they occupy
    threshold   (B,)  the `n_best`th score; -inf while there are fewer
    """

    hypotheses: list[list[Hypothesis]]
    num_slots: Tensor
    threshold: Tensor
    n_best: int
    length_penalty: float

    def add(self, sentences: Tensor, tokens: Tensor, logs: Tensor) -> None:
        """Add hypotheses: tokens (N, T + 1) with BOS, logs (N, T)."""
        for sentence, ids, log in zip(
            sentences.tolist(), tokens[:, 1:].tolist(), logs.tolist(), strict=True
        ):
            hypotheses = self.hypotheses[sentence]
            hypotheses.append(make_hypothesis(ids, log, self.length_penalty))
            if hypotheses[-1].finished:
                self.num_slots[sentence] += 1
                if len(hypotheses) >= self.n_best:
                    self.threshold[sentence] = ranked(hypotheses)[self.n_best - 1].score


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
    if not len(request):
        return []
    size, device = len(request), request.device
    finished = FinishedHypotheses(
        [[] for _ in range(size)],
        torch.zeros(size, dtype=torch.int64, device=device),
        torch.full((size,), IMPOSSIBLE, dtype=torch.float64, device="cpu"),
        n_best,
        length_penalty,
    )
    state, live = request.state, _first_hypotheses(size, device)
    divisor_B = request.limits.cpu().double() ** length_penalty
    while len(live.total):
        logits_RV, state, _ = model.step(state, live.tokens[:, -1])
        candidates = _candidates(logits_RV, live, request, beam, finished.num_slots)
        live, parents_R = _advance(live, candidates, request.limits, divisor_B, finished)
        state = _select(model, state, parents_R, len(logits_RV))
    return [ranked(hypotheses)[:n_best] for hypotheses in finished.hypotheses]


def _first_hypotheses(size: int, device: torch.device) -> LiveHypotheses:
    return LiveHypotheses(
        sentence=torch.arange(size, device=device),
        rank=torch.zeros(size, dtype=torch.int64, device=device),
        total=torch.zeros(size, device=device),
        tokens=torch.full((size, 1), BOS, device=device),
        logs=torch.zeros(size, 0, device=device),
    )


def _candidates(
    logits_RV: Tensor, live: LiveHypotheses, request: SearchRequest, beam: int, num_slots_B: Tensor
) -> Candidates:
    """Return the best continuations of each sentence, as many as it has free slots.

    Each row's best K tokens suffice, because no more than K continuations of one row are taken.
    """
    logs_RV, length = log_probabilities(logits_RV), live.logs.shape[1]
    forced_R = forced_logs_R = None
    if length < request.prefix.shape[1]:
        forced_R = request.prefix[live.sentence, length]
        forced_logs_R = forced_logs(logs_RV, forced_R)
    logs_RV.index_fill_(1, request.suppressed, IMPOSSIBLE)
    if request.bans:
        apply_bans(logs_RV, live.tokens[:, 1:].tolist(), request.bans)
    logs_RK, tokens_RK = top_k(logs_RV, beam)
    if forced_R is not None and forced_logs_R is not None:
        logs_RK, tokens_RK = _force(forced_R, forced_logs_R, logs_RK, tokens_RK)

    # rows arranged by sentence and rank, so that each sentence's candidates are in one row
    size, width, num_tokens = len(num_slots_B), int(live.rank.max()) + 1, tokens_RK.shape[1]
    index_R = live.sentence * width + live.rank
    totals = torch.full((size * width, num_tokens), IMPOSSIBLE, device=logits_RV.device)
    totals[index_R] = live.total[:, None] + logs_RK
    row_of = torch.zeros(size * width, dtype=torch.int64, device=logits_RV.device)
    row_of[index_R] = torch.arange(len(index_R), device=logits_RV.device)
    ordered = totals.view(size, width * num_tokens).sort(dim=1, descending=True, stable=True)
    total_BK, order_BK = ordered.values[:, :beam], ordered.indices[:, :beam]

    slots_K = torch.arange(total_BK.shape[1], device=total_BK.device)
    total_BK = total_BK.masked_fill(slots_K >= (beam - num_slots_B)[:, None], IMPOSSIBLE)
    sentence_B1 = torch.arange(size, device=total_BK.device)[:, None]
    parent_BK = row_of[sentence_B1 * width + order_BK // num_tokens]
    token_BK = order_BK % num_tokens
    return Candidates(
        total_BK, parent_BK, tokens_RK[parent_BK, token_BK], logs_RK[parent_BK, token_BK]
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
    live: LiveHypotheses,
    candidates: Candidates,
    limits_B: Tensor,
    divisor_B: Tensor,
    finished: FinishedHypotheses,
) -> tuple[LiveHypotheses, Tensor]:
    """Store finished and cut off hypotheses; return the live ones and their parents (R',)."""
    length = live.logs.shape[1] + 1
    valid_BK = candidates.total > IMPOSSIBLE
    ended_BK = valid_BK & (candidates.token == EOS)
    if bool(ended_BK.any()):
        ended, _ = _extend(live, candidates, ended_BK)
        finished.add(ended.sentence, ended.tokens, ended.logs)
    open_BK = valid_BK & ~ended_BK

    # a sentence without candidates keeps its last live hypotheses, cut off
    stuck_R = ~valid_BK.any(1)[live.sentence]
    if bool(stuck_R.any()):
        finished.add(live.sentence[stuck_R], live.tokens[stuck_R], live.logs[stuck_R])

    full_B = length >= limits_B
    cut_BK = open_BK & full_B[:, None]
    if bool(cut_BK.any()):
        cut, _ = _extend(live, candidates, cut_BK)
        finished.add(cut.sentence, cut.tokens, cut.logs)

    bound_B = candidates.total.masked_fill(~open_BK, IMPOSSIBLE).amax(1).cpu().double() / divisor_B
    done_B = full_B | (bound_B <= finished.threshold).to(full_B.device)
    return _extend(live, candidates, open_BK & ~done_B[:, None])


def _extend(
    live: LiveHypotheses, candidates: Candidates, chosen_BK: Tensor
) -> tuple[LiveHypotheses, Tensor]:
    """Return the chosen continuations as hypotheses, sentence by sentence, and their parents."""
    sentence, _ = chosen_BK.nonzero(as_tuple=True)
    parent = candidates.parent[chosen_BK]
    hypotheses = LiveHypotheses(
        sentence=sentence,
        rank=(chosen_BK.cumsum(1) - 1)[chosen_BK],
        total=candidates.total[chosen_BK],
        tokens=torch.cat([live.tokens[parent], candidates.token[chosen_BK][:, None]], 1),
        logs=torch.cat([live.logs[parent], candidates.log[chosen_BK][:, None]], 1),
    )
    return hypotheses, parent


def _select(model: StepModel, state: Any, parents_R: Tensor, num_rows: int) -> Any:
    """Return the state of the parents; unchanged when they are all rows in order."""
    every_row = torch.arange(num_rows, device=parents_R.device)
    if not len(parents_R) or torch.equal(parents_R, every_row):
        return state
    return model.select(state, parents_R)
