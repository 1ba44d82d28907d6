"""Beam search over all sentences of a batch at once.

A sentence has `beam` slots. At every step the best continuations of its live hypotheses, ranked
together, take the free slots. A hypothesis that ends with EOS is finished and keeps its slot, so
the live ones become fewer, until none is left or none can win any more. Only live hypotheses are
rows of the batch: finished sentences and freed slots cost nothing.

A sentence may have several groups of hypotheses, each with its share of the slots. What else an
output must have, or should have, is the business of a `Guide`, a hook of every step: diversity of
the groups, coverage of the source, required phrases.

Tensors rank the continuations; the bookkeeping of the few that are taken is plain Python: an
operation of torch costs as much on one number as on hundreds.

G groups with live hypotheses, R live hypotheses (rows, group by group, the more probable first),
W the most live hypotheses of any group, K best continuations, V tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from regard.cancellation import check_cancelled
from regard.config import SearchOptions
from regard.decoding.constraints import constrain
from regard.decoding.hypothesis import Hypothesis, make_hypothesis, ranked
from regard.decoding.ranking import IMPOSSIBLE, log_probabilities, top_k
from regard.decoding.request import SearchRequest, StepModel
from regard.text import BOS, EOS

if TYPE_CHECKING:
    from regard.decoding.guide import Guide


class LiveHypothesis(NamedTuple):
    """A hypothesis that is continued, or that may be.

    group       number of its group
    parent_row  row of the hypothesis that it continues, at the step before
    total       log-probability and bonus, by which hypotheses are ranked
    token, log  the last token and its log-probability
    before      the hypothesis that it continues; None for BOS
    bonus       what the guide adds to the log-probability
    """

    group: int
    parent_row: int
    total: float
    token: int
    log: float
    before: LiveHypothesis | None
    bonus: float = 0.0

    def tokens(self) -> tuple[list[int], list[float]]:
        """All tokens but BOS, and their log-probabilities."""
        tokens, logs, last = [], [], self
        while last.before is not None:
            tokens.append(last.token)
            logs.append(last.log)
            last = last.before
        return tokens[::-1], logs[::-1]


@dataclass
class BeamGroup:
    """The slots of a group of hypotheses, and its finished and cut off outputs.

    slots         of live and finished hypotheses
    limit         most tokens
    num_wanted    outputs that are returned
    num_finished  slots that finished ones occupy
    threshold     the score that a live one must exceed: that of the last wanted; -inf while there
                  are fewer
    """

    number: int
    slots: int
    limit: int
    num_wanted: int
    length_penalty: float
    outputs: list[Hypothesis] = field(default_factory=list)
    num_finished: int = 0
    threshold: float = IMPOSSIBLE

    @property
    def free_slots(self) -> int:
        """Slots that no finished hypothesis occupies."""
        return self.slots - self.num_finished

    def add(self, hypothesis: LiveHypothesis, adjustment: float = 0.0) -> None:
        """Add an output; `adjustment` is what the guide adds to its score."""
        tokens, logs = hypothesis.tokens()
        output = make_hypothesis(tokens, logs, self.length_penalty)
        if hypothesis.bonus or adjustment:
            bonus = hypothesis.bonus / len(tokens) ** self.length_penalty
            output = output._replace(score=output.score + bonus + adjustment)
        self.outputs.append(output)
        if output.finished:
            self.num_finished += 1
            if len(self.outputs) >= self.num_wanted:
                self.threshold = ranked(self.outputs)[self.num_wanted - 1].score

    def can_win(self, live: Sequence[LiveHypothesis]) -> bool:
        """Whether a live hypothesis can still be among the outputs that are returned.

        With a length penalty α ≥ 0, one of log-probability l can at best reach l / limit ** α,
        since every further token lowers l.
        """
        best = max(hypothesis.total for hypothesis in live)
        bound: float = best / self.limit**self.length_penalty
        return bound > self.threshold


@torch.inference_mode()
def beam_search(
    model: StepModel, request: SearchRequest, options: SearchOptions, guide: Guide | None = None
) -> list[list[Hypothesis]]:
    """Return the `n_best` best hypotheses of each sentence, best first, all different.

    A group of a sentence stops when none of its live hypotheses can win any more, which does not
    change the result. With several groups, the best of every group come before the second of any.
    """
    num_groups, num_sentences = options.beam_groups, len(request)
    if num_groups > 1 and num_sentences:
        rows = torch.arange(num_sentences, device=request.device)
        request = request.select(model, rows.repeat_interleave(num_groups))
    groups = _groups(request, options, guide)
    live = [LiveHypothesis(group.number, group.number, 0.0, BOS, 0.0, None) for group in groups]
    device, state, length = request.device, request.state, 0
    while live:
        check_cancelled()
        tokens_R = torch.tensor([hypothesis.token for hypothesis in live], device=device)
        logits_RV, state, maps = model.step(state, tokens_R, guide is not None and guide.attends)
        if guide is not None:
            guide.begin_step(live, maps)
        logs_RV = log_probabilities(logits_RV)
        constrain(
            logs_RV,
            request,
            [hypothesis.group for hypothesis in live],
            length,
            lambda: [hypothesis.tokens()[0] for hypothesis in live],  # noqa: B023
        )
        pools = _continuations(logs_RV, live, groups, options.beam, guide)
        length += 1
        num_rows, live = len(live), _advance(live, pools, groups, length, guide)
        parents = [hypothesis.parent_row for hypothesis in live]
        if live and parents != list(range(num_rows)):
            parents_R = torch.tensor(parents, device=device)
            state = model.select(state, parents_R)
            if guide is not None:
                guide.select(parents_R)
    return [
        _best_outputs(groups[first : first + num_groups], options.n_best, guide)
        for first in range(0, len(groups), num_groups)
    ]


def _groups(request: SearchRequest, options: SearchOptions, guide: Guide | None) -> list[BeamGroup]:
    """Return the groups of all sentences, sentence by sentence."""
    share, more = divmod(options.beam, options.beam_groups)
    num_wanted = -(-options.n_best // options.beam_groups)
    groups = []
    for number, limit in enumerate(request.limits.tolist()):
        slots = share + (number % options.beam_groups < more)
        if guide is not None:
            slots += guide.num_phrase_tokens(number)
        groups.append(BeamGroup(number, slots, limit, num_wanted, options.length_penalty))
    return groups


def _continuations(
    logs_RV: Tensor,
    live: Sequence[LiveHypothesis],
    groups: Sequence[BeamGroup],
    beam: int,
    guide: Guide | None,
) -> list[list[LiveHypothesis]]:
    """Return the continuations of each live group from which it may choose, best first.

    Without a guide they are as many as the free slots. Each row's best K tokens suffice, because no
    more than K continuations of one row are taken.
    """
    device = logs_RV.device
    numbers = [(number, len(list(rows))) for number, rows in groupby(h.group for h in live)]
    counts = [count for _, count in numbers]
    num_tokens = beam
    if guide is not None:
        num_tokens += guide.num_more_tokens([(groups[n].slots, count) for n, count in numbers])
    logs_RK, tokens_RK = top_k(logs_RV, num_tokens)

    # rows arranged by group, so that each group's continuations are in one row
    size, width, num_tokens = len(counts), max(counts), tokens_RK.shape[1]
    totals_R = torch.tensor([hypothesis.total for hypothesis in live], device=device)
    totals_RK = totals_R[:, None] + logs_RK
    if len(live) < size * width:
        places = [row * width + rank for row, count in enumerate(counts) for rank in range(count)]
        slots = totals_RK.new_full((size * width, num_tokens), IMPOSSIBLE)
        totals_RK = slots.index_copy_(0, torch.tensor(places, device=device), totals_RK)
    ordered = totals_RK.view(size, width * num_tokens).sort(dim=1, descending=True, stable=True)
    num_ordered = beam if guide is None else width * num_tokens
    totals, order = (part[:, :num_ordered].tolist() for part in ordered)
    tokens, logs = tokens_RK.tolist(), logs_RK.tolist()

    pools, first = [], 0
    for place, (number, count) in enumerate(numbers):
        pool: list[LiveHypothesis] = []
        most = groups[number].free_slots if guide is None else num_ordered
        for total, index in zip(totals[place][:most], order[place], strict=False):
            if total == IMPOSSIBLE:
                break
            rank, column = divmod(index, num_tokens)
            row = first + rank
            parent = live[row]
            pool.append(
                LiveHypothesis(
                    number, row, total, tokens[row][column], logs[row][column], parent, parent.bonus
                )
            )
        first += count
        pools.append(pool)
    if guide is not None:
        guide.propose(pools, logs_RV, totals_R)
    return pools


def _advance(
    live: Sequence[LiveHypothesis],
    pools: Sequence[Sequence[LiveHypothesis]],
    groups: Sequence[BeamGroup],
    length: int,
    guide: Guide | None,
) -> list[LiveHypothesis]:
    """Store hypotheses of `length` tokens that are finished or cut off; return the live ones."""
    continued: list[LiveHypothesis] = []
    first = 0
    for (number, rows), pool in zip(groupby(live, key=lambda h: h.group), pools, strict=True):
        group, parents = groups[number], list(rows)
        taken = pool if guide is None else guide.choose(group, pool)
        if not taken:  # without continuations, the last live hypotheses are kept, cut off
            for row, parent in enumerate(parents, first):
                group.add(parent, 0.0 if guide is None else guide.adjustment(row))
        open_hypotheses = []
        for hypothesis in taken:
            if hypothesis.token != EOS and length < group.limit:
                open_hypotheses.append(hypothesis)
            else:
                row = hypothesis.parent_row
                group.add(hypothesis, 0.0 if guide is None else guide.adjustment(row))
        if open_hypotheses and group.can_win(open_hypotheses):
            continued += open_hypotheses
        first += len(parents)
    return continued


def _best_outputs(
    groups: Sequence[BeamGroup], n_best: int, guide: Guide | None
) -> list[Hypothesis]:
    """Return the best different outputs of a sentence's groups: of each its best, then its second.

    Those that lack fewer of the phrases that a guide requires come first.
    """
    if guide is None:
        (group,) = groups
        return ranked(group.outputs)[:n_best]
    entries: list[tuple[int, int, float, Hypothesis]] = []
    for group in groups:
        outputs = [
            (guide.num_missing(group.number, output.tokens), -output.score, output)
            for output in group.outputs
        ]
        outputs.sort(key=lambda entry: entry[:2])
        entries += [
            (missing, rank, cost, output) for rank, (missing, cost, output) in enumerate(outputs)
        ]
    entries.sort(key=lambda entry: entry[:3])
    distinct: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
    for *_, output in entries:
        distinct.setdefault((output.tokens, output.finished), output)
    return list(distinct.values())[:n_best]
