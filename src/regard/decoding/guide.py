"""What a beam search heeds besides log-probabilities: groups that differ, coverage, phrases.

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

R rows (live hypotheses), V tokens of the vocabulary.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.config import SearchOptions
from regard.decoding.beam import BeamGroup, LiveHypothesis
from regard.decoding.coverage import AttentionSum
from regard.decoding.phrases import RequiredPhrase
from regard.decoding.ranking import IMPOSSIBLE
from regard.text import EOS


class WrittenOutput(NamedTuple):
    """The tokens of a live hypothesis, the characters that they write, and phrases not in these."""

    tokens: list[int]
    text: str
    missing: list[RequiredPhrase]


class Guide:
    """The hook of a beam search.

    attention  sums the attention of the rows, one for each group at first; None if none is read
    phrases    of each sentence; outputs that have all of them come first
    """

    def __init__(
        self,
        options: SearchOptions,
        attention: AttentionSum | None = None,
        phrases: Sequence[Sequence[RequiredPhrase]] = (),
    ) -> None:
        self._num_groups, self._beam = options.beam_groups, options.beam
        self._diversity_penalty = options.diversity_penalty
        self._attention = attention
        self._phrases = [[phrase for phrase in required if len(phrase)] for required in phrases]
        self._texts = next((phrase.texts for required in phrases for phrase in required), None)
        self._chosen: Counter[tuple[int, int]] = Counter()  # (sentence, token), at this step
        self._written: dict[int, WrittenOutput] = {}  # of rows whose group has phrases
        self._penalties: list[float] = []

    @property
    def attends(self) -> bool:
        """Whether the model's attention is read."""
        return self._attention is not None

    def num_phrase_tokens(self, group: int) -> int:
        """The tokens of all phrases of a group, for each of which it has one more slot."""
        return sum(map(len, self._required(group)))

    def num_more_tokens(self, groups: Iterable[tuple[int, int]]) -> int:
        """Tokens of each row to consider besides `beam`; `groups` are of (slots, rows).

        A row's share of the slots for phrases, and one more, as EOS may come too early. With the
        same number for every row, however many there are, a step would take time with the square
        of the phrases' tokens.
        """
        return max(0, *(-(-(slots - self._beam) // num_rows) for slots, num_rows in groups), 0) + 1

    def begin_step(self, live: Sequence[LiveHypothesis], maps: Sequence[Any]) -> None:
        """Read the attention maps of a step, and what the live hypotheses have written."""
        self._chosen.clear()
        self._penalties = []
        if self._attention is not None:
            self._attention.add(maps)
            self._penalties = self._attention.penalties()
        self._written = {}
        for row, hypothesis in enumerate(live):
            if self._required(hypothesis.group):
                tokens = hypothesis.tokens()[0]
                text = self._text(tokens)
                missing = self._missing(hypothesis.group, text)
                self._written[row] = WrittenOutput(tokens, text, missing)

    def select(self, rows: Tensor) -> None:
        """Keep the attention of the given rows, in that order."""
        if self._attention is not None:
            self._attention.select(rows)

    def propose(
        self, pools: Sequence[list[LiveHypothesis]], logs_RV: Tensor, totals_R: Tensor
    ) -> None:
        """Add the continuations to the groups' pools that phrases need."""
        wanted: list[tuple[list[LiveHypothesis], int, int, LiveHypothesis]] = []
        for pool in pools:
            present = {(hypothesis.parent_row, hypothesis.token) for hypothesis in pool}
            parents = {hypothesis.parent_row: hypothesis.before for hypothesis in pool}
            for row, parent in parents.items():
                if row not in self._written or parent is None:
                    continue
                tokens, text, missing = self._written[row]
                for phrase in missing:
                    for token in phrase.next_tokens(tokens, text):
                        if (row, token) not in present:
                            present.add((row, token))
                            wanted.append((pool, row, token, parent))
        if not wanted:
            return
        index = [[row for _, row, _, _ in wanted], [token for _, _, token, _ in wanted]]
        rows, ids = torch.tensor(index, device=logs_RV.device)
        logs = logs_RV[rows, ids]
        totals = (totals_R[rows] + logs).tolist()
        for (pool, row, token, parent), total, log in zip(
            wanted, totals, logs.tolist(), strict=True
        ):
            if log > IMPOSSIBLE:
                pool.append(
                    LiveHypothesis(parent.group, row, total, token, log, parent, parent.bonus)
                )

    def choose(self, group: BeamGroup, pool: Sequence[LiveHypothesis]) -> list[LiveHypothesis]:
        """Return the continuations that take a group's free slots, best first."""
        sentence = group.number // self._num_groups

        def cost(hypothesis: LiveHypothesis) -> float:
            return (
                self._diversity_penalty * self._chosen[sentence, hypothesis.token]
                - hypothesis.total
            )

        if self._required(group.number):
            banks = self._banks(group, pool)
            queues = [sorted(banks[bank], key=cost) for bank in sorted(banks, reverse=True)]
            rounds = itertools.zip_longest(*queues)
            taken = [h for equal in rounds for h in equal if h is not None][: group.free_slots]
            taken.sort(key=lambda hypothesis: -hypothesis.total)
        else:
            taken = sorted(pool, key=cost)[: group.free_slots]
        self._chosen.update((sentence, hypothesis.token) for hypothesis in taken)
        return taken

    def adjustment(self, row: int) -> float:
        """What is added to the score of an output that ends at a row: the coverage penalty."""
        return self._penalties[row] if self._penalties else 0.0

    def num_missing(self, group: int, tokens: Iterable[int]) -> int:
        """The number of a group's phrases that an output does not have."""
        return len(self._missing(group, self._text(tokens))) if self._required(group) else 0

    def _required(self, group: int) -> Sequence[RequiredPhrase]:
        return self._phrases[group // self._num_groups] if self._phrases else ()

    def _missing(self, group: int, text: str) -> list[RequiredPhrase]:
        return [phrase for phrase in self._required(group) if not phrase.occurs(text)]

    def _text(self, tokens: Iterable[int]) -> str:
        return "" if self._texts is None else self._texts.join(tokens)

    def _banks(
        self, group: BeamGroup, pool: Sequence[LiveHypothesis]
    ) -> dict[int, list[LiveHypothesis]]:
        """The continuations by the number of tokens of phrases that they have.

        None ends before it has all phrases. Those without room for the rest are left out, unless
        there are no others.
        """
        num_tokens = self.num_phrase_tokens(group.number)
        banks: dict[int, list[LiveHypothesis]] = {}
        late: dict[int, list[LiveHypothesis]] = {}
        for hypothesis in pool:
            parent = self._written[hypothesis.parent_row]
            tokens = [*parent.tokens, hypothesis.token]
            text = parent.text + self._text([hypothesis.token])
            missing = self._missing(group.number, text)  # a word that goes on is another word
            if hypothesis.token == EOS and missing:
                continue
            bank = num_tokens - sum(map(len, missing))
            bank += max((phrase.progress(tokens, text) for phrase in missing), default=0)
            completed = [phrase for phrase in parent.missing if phrase not in missing]
            bonus = self._log_share(hypothesis.parent_row, completed)
            placed = hypothesis._replace(
                total=hypothesis.total + bonus, bonus=hypothesis.bonus + bonus
            )
            has_room = group.limit - len(tokens) >= num_tokens - bank
            (banks if has_room else late).setdefault(bank, []).append(placed)
        return banks or late

    def _log_share(self, row: int, phrases: Sequence[RequiredPhrase]) -> float:
        """Log attention to what phrases translate, at a row's step."""
        if self._attention is None:
            return 0.0
        return sum(self._attention.log_share(row, phrase.positions) for phrase in phrases)
