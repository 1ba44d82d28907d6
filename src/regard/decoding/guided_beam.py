"""Beam search with groups, a coverage penalty and required phrases.

Without any of them it gives the results of `beam_search`, but hypotheses are Python objects here,
which is slower.

    groups    search one after another at each step; a token costs `diversity_penalty` for each time
              that an earlier group has just chosen it (Vijayakumar et al. 2018, "Diverse Beam
              Search", with Hamming diversity)
    coverage  β · Σ_i log(min(Σ_j a_ij, 1)) is added to the score of an output, where a_ij is the
              attention of its step j to source token i (Wu et al. 2016, "Google's Neural Machine
              Translation System", equation 14)
    phrases   that an output must have: every step also tries their tokens, and hypotheses with more
              and with fewer of these have equal shares of the slots, of which there is one more for
              each token of the phrases (Post and Vilar 2018, "Fast Lexically Constrained Decoding
              with Dynamic Beam Allocation"). A phrase has its place where the model attends to what
              it translates: log a, a being the share of attention there as the phrase is complete,
              counts like a token's log-probability in comparisons and in the score

R rows (live hypotheses), V tokens of the vocabulary, K most probable tokens.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from regard.cancellation import check_cancelled
from regard.config import SearchOptions
from regard.decoding.constraints import apply_bans
from regard.decoding.coverage import AttentionSum
from regard.decoding.hypothesis import Hypothesis, make_hypothesis
from regard.decoding.phrases import RequiredPhrase
from regard.decoding.ranking import IMPOSSIBLE, log_probabilities, top_k
from regard.decoding.request import FREE, SearchRequest, StepModel
from regard.decoding.step_loop import forced_logs
from regard.text import BOS, EOS


class GuidedHypothesis(NamedTuple):
    """A live hypothesis.

    parent        row of the last step that it continues
    total         log-probability, and for complete phrases `places`, the log attention
    tokens, logs  generated tokens and their log-probabilities
    text          the tokens' characters, if there are phrases
    """

    parent: int
    total: float
    places: float
    tokens: list[int]
    logs: list[float]
    text: str


class GuidedCandidate(NamedTuple):
    """A token that may continue the hypothesis of a row; `total` and `places` are with it."""

    row: int
    token: int
    log: float
    total: float
    places: float


@dataclass
class GuidedGroup:
    """The hypotheses of one group of a sentence.

    slots    for live and finished hypotheses
    limit    most tokens
    phrases  that the output must have
    live     hypotheses that are continued, the more probable first
    done     finished and cut off outputs
    """

    slots: int
    limit: int
    phrases: Sequence[RequiredPhrase]
    live: list[GuidedHypothesis]
    done: list[Hypothesis] = field(default_factory=list)

    def missing(self, text: str) -> list[RequiredPhrase]:
        """The phrases that a text does not have."""
        return [phrase for phrase in self.phrases if not phrase.occurs(text)]

    def bank(self, tokens: Sequence[int], text: str, missing: Sequence[RequiredPhrase]) -> int:
        """The number of tokens of phrases that an output has, those of a begun phrase included."""
        had = sum(map(len, self.phrases)) - sum(map(len, missing))
        return had + max((phrase.progress(tokens, text) for phrase in missing), default=0)


@torch.inference_mode()
def guided_beam_search(
    model: StepModel,
    request: SearchRequest,
    options: SearchOptions,
    *,
    coverage: AttentionSum | None = None,
    phrases: Sequence[Sequence[RequiredPhrase]] = (),
) -> list[list[Hypothesis]]:
    """Return the `n_best` best hypotheses of each sentence, all different.

    coverage  sums the attention of the rows, one for each group of a sentence at first
    phrases   of each sentence; outputs that have all of them come first

    With groups the best of every group come before the second of any.
    """
    if not len(request):
        return []
    num_groups = options.beam_groups
    if num_groups > 1:
        rows = torch.arange(len(request), device=request.device)
        request = request.select(model, rows.repeat_interleave(num_groups))
    beam = _GuidedBeam(request, options, coverage, phrases)
    state = request.state
    while beam.rows:
        check_cancelled()
        logits_RV, state, maps = model.step(state, beam.last_tokens(), coverage is not None)
        if coverage is not None:
            coverage.add(maps)
        parents = beam.advance(logits_RV)
        if parents and parents != list(range(len(logits_RV))):
            parents_R = torch.tensor(parents, device=request.device)
            state = model.select(state, parents_R)
            if coverage is not None:
                coverage.select(parents_R)
    return [beam.results(first, first + num_groups) for first in range(0, len(request), num_groups)]


class _GuidedBeam:
    """The groups of all sentences, sentence by sentence, and the rows of their hypotheses."""

    def __init__(
        self,
        request: SearchRequest,
        options: SearchOptions,
        coverage: AttentionSum | None,
        phrases: Sequence[Sequence[RequiredPhrase]],
    ) -> None:
        self.request, self.options, self.coverage = request, options, coverage
        self.texts = next((phrase.texts for own in phrases for phrase in own), None)
        self.groups: list[GuidedGroup] = []
        share, more = divmod(options.beam, options.beam_groups)
        for row, limit in enumerate(request.limits.tolist()):
            sentence, number = divmod(row, options.beam_groups)
            own = [phrase for phrase in phrases[sentence] if len(phrase)] if phrases else []
            slots = share + (number < more) + sum(map(len, own))
            start = GuidedHypothesis(row, 0.0, 0.0, [], [], "")
            self.groups.append(GuidedGroup(slots, limit, own, [start]))
        self._number_rows()

    def last_tokens(self) -> Tensor:
        """(R,): the tokens that the next step reads."""
        last = [row.tokens[-1] if row.tokens else BOS for row in self.rows]
        return torch.tensor(last, device=self.request.device)

    def advance(self, logits_RV: Tensor) -> list[int]:
        """Continue all hypotheses by one token; return the parent of each row that remains."""
        candidates = self._candidates(log_probabilities(logits_RV))
        penalties = [0.0] * len(self.rows) if self.coverage is None else self.coverage.penalties()
        chosen: Counter[int] = Counter()
        for number, (group, rows) in enumerate(zip(self.groups, self.group_rows, strict=True)):
            if number % self.options.beam_groups == 0:
                chosen.clear()
            if rows:
                pool = [candidate for row in rows for candidate in candidates[row]]
                taken = self._take(group, pool, chosen)
                chosen.update(candidate.token for candidate in taken)
                self._extend(group, taken, rows, penalties)
        self._number_rows()
        return [row.parent for row in self.rows]

    def results(self, first: int, last: int) -> list[Hypothesis]:
        """The best different outputs of a sentence, whose groups are numbered `first` to `last`."""
        ranked: list[tuple[int, int, float, Hypothesis]] = []
        for group in self.groups[first:last]:
            done = [(len(group.missing(self._text(h.tokens))), -h.score, h) for h in group.done]
            done.sort(key=lambda entry: entry[:2])
            ranked += [(lacks, rank, cost, h) for rank, (lacks, cost, h) in enumerate(done)]
        ranked.sort(key=lambda entry: entry[:3])
        distinct = {(h.tokens, h.finished): h for *_, h in reversed(ranked)}
        order = dict.fromkeys((h.tokens, h.finished) for *_, h in ranked)
        return [distinct[output] for output in order][: self.options.n_best]

    def _number_rows(self) -> None:
        """Number the live hypotheses: the rows of the next step."""
        self.rows = [row for group in self.groups for row in group.live]
        number = iter(range(len(self.rows)))
        self.group_rows = [[next(number) for _ in group.live] for group in self.groups]

    @property
    def _num_choices(self) -> int:
        """Most probable tokens of each row: the beam, and a row's share of the slots for phrases.

        One more, as EOS may come too early. With the same number for every row, however many there
        are, a step would take time with the square of the phrases' tokens.
        """
        extra = [
            -(-(group.slots - self.options.beam) // len(rows))
            for group, rows in zip(self.groups, self.group_rows, strict=True)
            if rows
        ]
        return self.options.beam + max(0, *extra, 0) + 1

    def _text(self, tokens: Iterable[int]) -> str:
        return "" if self.texts is None else self.texts.join(tokens)

    def _candidates(self, logs_RV: Tensor) -> list[list[GuidedCandidate]]:
        """The continuations of each row: its most probable tokens, and those of phrases."""
        request, length, device = self.request, len(self.rows[0].tokens), logs_RV.device
        forced, forced_log = [FREE] * len(self.rows), [0.0] * len(self.rows)
        if length < request.prefix.shape[1]:
            groups = [n for n, rows in enumerate(self.group_rows) for _ in rows]
            forced_R = request.prefix[torch.tensor(groups, device=device), length]
            forced, forced_log = forced_R.tolist(), forced_logs(logs_RV, forced_R).tolist()
        logs_RV.index_fill_(1, request.suppressed, IMPOSSIBLE)
        if request.bans:
            apply_bans(logs_RV, [row.tokens for row in self.rows], request.bans)
        total_R1 = torch.tensor([[row.total] for row in self.rows], device=device)
        logs_RK, tokens_RK = top_k(logs_RV, self._num_choices)
        tokens, logs, totals = tokens_RK.tolist(), logs_RK.tolist(), (total_R1 + logs_RK).tolist()
        for group, rows in zip(self.groups, self.group_rows, strict=True):
            for number in rows if group.phrases else ():
                row = self.rows[number]
                for phrase in group.missing(row.text):
                    for token in phrase.next_tokens(row.tokens, row.text) - set(tokens[number]):
                        log_1 = logs_RV[number, token]
                        tokens[number].append(token)
                        logs[number].append(float(log_1))
                        totals[number].append(float(total_R1[number, 0] + log_1))
        for number, token in enumerate(forced):
            if token != FREE:
                log = forced_log[number]
                total = float(total_R1[number, 0] + torch.tensor(log))
                tokens[number], logs[number], totals[number] = [token], [log], [total]
        return [
            [
                GuidedCandidate(row, *candidate, self.rows[row].places)
                for candidate in zip(tokens[row], logs[row], totals[row], strict=True)
                if candidate[1] > IMPOSSIBLE
            ]
            for row in range(len(self.rows))
        ]

    def _take(
        self, group: GuidedGroup, pool: list[GuidedCandidate], chosen: Counter[int]
    ) -> list[GuidedCandidate]:
        """The candidates that take a group's free slots, best first."""
        slots = group.slots - sum(hypothesis.finished for hypothesis in group.done)
        penalty = self.options.diversity_penalty

        def cost(candidate: GuidedCandidate) -> float:
            return penalty * chosen[candidate.token] - candidate.total

        if not group.phrases:
            return sorted(pool, key=cost)[:slots]
        banks = self._banks(group, pool)
        queues = [sorted(banks[bank], key=cost) for bank in sorted(banks, reverse=True)]
        rounds = itertools.zip_longest(*queues)
        taken = [c for candidates in rounds for c in candidates if c is not None][:slots]
        return sorted(taken, key=lambda candidate: -candidate.total)

    def _banks(
        self, group: GuidedGroup, pool: Sequence[GuidedCandidate]
    ) -> dict[int, list[GuidedCandidate]]:
        """The candidates by the number of tokens of phrases that they have.

        None ends before it has all phrases. Those without room for the rest are left out, unless
        there are no others.
        """
        num_tokens = sum(map(len, group.phrases))
        banks: dict[int, list[GuidedCandidate]] = {}
        late: dict[int, list[GuidedCandidate]] = {}
        for candidate in pool:
            row = self.rows[candidate.row]
            tokens = [*row.tokens, candidate.token]
            text = row.text + self._text([candidate.token])
            missing = group.missing(text)
            if candidate.token == EOS and missing:
                continue
            bank = group.bank(tokens, text, missing)
            place = (
                0.0
                if self.coverage is None
                else sum(
                    self.coverage.log_share(candidate.row, phrase.positions)
                    for phrase in group.missing(row.text)
                    if phrase not in missing
                )
            )
            placed = candidate._replace(
                total=candidate.total + place, places=candidate.places + place
            )
            room = group.limit - len(tokens) >= num_tokens - bank
            (banks if room else late).setdefault(bank, []).append(placed)
        return banks or late

    def _extend(
        self,
        group: GuidedGroup,
        taken: Sequence[GuidedCandidate],
        rows: Sequence[int],
        penalties: Sequence[float],
    ) -> None:
        """Continue a group's hypotheses; keep finished and cut off outputs."""
        if not taken:  # nothing is possible: the live hypotheses are cut off
            for number in rows:
                row = self.rows[number]
                group.done.append(self._output(row.tokens, row.logs, row.places, penalties[number]))
        group.live = []
        for candidate in taken:
            row = self.rows[candidate.row]
            tokens, logs = [*row.tokens, candidate.token], [*row.logs, candidate.log]
            if candidate.token == EOS or len(tokens) >= group.limit:
                penalty = penalties[candidate.row]
                group.done.append(self._output(tokens, logs, candidate.places, penalty))
            else:
                text = row.text + self._text([candidate.token])
                group.live.append(
                    GuidedHypothesis(
                        candidate.row, candidate.total, candidate.places, tokens, logs, text
                    )
                )
        wanted = -(-self.options.n_best // self.options.beam_groups)
        if group.live and len(group.done) >= wanted:  # whether a live one can still win
            worst = sorted((output.score for output in group.done), reverse=True)[wanted - 1]
            most = max(live.total for live in group.live)
            if most / group.limit**self.options.length_penalty <= worst:
                group.live = []

    def _output(
        self, tokens: Sequence[int], logs: Sequence[float], places: float, penalty: float
    ) -> Hypothesis:
        """An output whose score counts the places of phrases and the coverage."""
        alpha = self.options.length_penalty
        output = make_hypothesis(tokens, logs, alpha)
        if not places and not penalty:
            return output
        return output._replace(score=output.score + places / len(tokens) ** alpha + penalty)
