"""Search by CTranslate2, with the options that it has; all others are for `search`.

A hypothesis has no log-probabilities of its tokens: `token_log_probabilities` computes them for
those that need them. T target tokens with EOS, S source tokens with EOS.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.config import SearchOptions
from regard.config.search import EnginePrecision
from regard.cores import note_threads
from regard.decoding.hypothesis import Hypothesis, make_hypothesis
from regard.decoding.length_groups import length_groups
from regard.text import BOS, EOS, MASK, PAD, UNK

SUPPRESSED = frozenset({PAD, BOS, MASK, UNK})
SCORED_TOGETHER = 16  # sentences; with more, the logits of all positions exceed the caches
FORCED_TOGETHER = 64
CPU_TOKENS = 512  # padded source tokens times the beam; on a processor larger batches are slower
COMPUTE_TYPES: dict[EnginePrecision, str] = {"int8": "int8", "fp32": "float32"}

OPTIONS = frozenset(
    {
        "beam",
        "length_penalty",
        "n_best",
        "max_length",
        "batch_tokens",
        "deterministic",
        "temperature",
        "top_k",
        "top_p",
        "seed",
        "diversity_penalty",
    }
)
"""Options of a search that CTranslate2 takes, or that have no effect without `sample` and
`beam_groups`; others must have their default values."""

if TYPE_CHECKING:  # the commands' help must not wait for numpy
    import numpy as np
    from numpy.typing import NDArray

    Attention = NDArray[np.float32]
    """(T, S) weights of a hypothesis, by the head for alignment."""


class ExplainedHypothesis(NamedTuple):
    """A hypothesis with the log-probabilities of its tokens, and its attention."""

    hypothesis: Hypothesis
    attention: Attention


class AttendedHypothesis(Hypothesis):
    """The best hypothesis of a search whose result has its attention.

    result     of CTranslate2
    has_first  whether the first row of the attention is that of this sentence
    """

    result: Any
    has_first: bool

    @property
    def attention(self) -> Attention:
        """The weights of each token, and of EOS if it is finished."""
        return _weights(self.result, len(self.tokens) + self.finished)


class _Batch(NamedTuple):
    """Sentences that are searched together, and what is pending of them.

    suppress  whether tokens that are never generated were left out
    alone     whether each sentence is searched by itself
    attention whether results have attention
    """

    rows: Sequence[int]
    limit: int
    suppress: bool
    alone: bool
    attention: bool
    results: Sequence[Any]


class CTranslate2Engine:
    """A model folder of CTranslate2 and its vocabularies."""

    def __init__(
        self,
        folder: Path,
        source: Sequence[str],
        target: Sequence[str],
        *,
        max_length: int,
        threads: int = 1,
        precision: EnginePrecision = "fp32",
        device: str = "cpu",
    ) -> None:
        from ctranslate2 import Translator

        note_threads("ctranslate2")
        self._translator = Translator(
            str(folder),
            device,
            compute_type=COMPUTE_TYPES[precision],
            inter_threads=threads,
            intra_threads=1,
            max_queued_batches=-1,
        )
        self.precision, self.max_length, self.threads = precision, max_length, threads
        self._max_tokens = CPU_TOKENS if device == "cpu" else None
        self._source, self._target = source, target
        self._ids = {token: number for number, token in enumerate(target)}

    @staticmethod
    def can_search(options: SearchOptions) -> bool:
        """Whether CTranslate2 has all options that differ from their default values."""
        return options.n_best <= options.beam and all(
            field.name in OPTIONS or getattr(options, field.name) == field.default
            for field in fields(options)
        )

    def tokens_at_once(self, options: SearchOptions) -> int | None:
        """Source tokens of as many sentences as all cores search at once; None: any number."""
        return self._max_tokens and max(1, self._max_tokens * self.threads // options.beam)

    def search(
        self, sources: Sequence[Sequence[int]], options: SearchOptions
    ) -> list[list[Hypothesis] | None]:
        """The results of sentences, given as ids without EOS; None for those that are too long."""
        found: list[list[Hypothesis] | None] = [None] * len(sources)
        for row, result in self.results(sources, options):
            found[row] = result
        return found

    def results(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        *,
        attention: bool = False,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The results as they are done, each with its row; none for sentences that are too long.

        With `attention`, the best keep their attention for `explain`, which costs nothing here.

        The search begins at once, whenever the results are read: batches of similar length wait in
        CTranslate2's queue.

        CTranslate2 has one length limit for a batch: a beam that exceeded the limit of its sentence
        is searched again within it, and a greedy output is cut.

        CTranslate2 leaves tokens that are never generated out of the softmax. A greedy search
        without them first gives the right log-probabilities wherever it does not choose one.
        """
        rows = [row for row, ids in enumerate(sources) if len(ids) < self.max_length]
        limits = {row: self._limit(len(sources[row]) + 1, options.max_length) for row in rows}
        greedy = options.beam == 1
        groups = self._groups([len(sources[row]) for row in rows], options)

        def submit(
            chosen: Sequence[int], limit: int, suppress: bool, alone: bool = False
        ) -> _Batch:
            chosen_ids = [sources[row] for row in chosen]
            results = self._submit(
                chosen_ids,
                options,
                limit,
                suppress=suppress,
                attention=attention,
                alone=alone,
            )
            return _Batch(chosen, limit, suppress, alone, attention, results)

        queue: deque[_Batch] = deque()
        single = all(len(group) == 1 for group in groups)
        if single:  # one call for all of a length is less work than one for each
            groups = [list(of) for _, of in groupby(chain(*groups), lambda n: limits[rows[n]])]
        for group in filter(None, groups):
            chosen = [rows[number] for number in group]
            queue.append(submit(chosen, max(limits[row] for row in chosen), not greedy, single))

        def collect() -> Iterator[tuple[int, list[Hypothesis]]]:
            cut: dict[int, list[Hypothesis]] = {}
            while queue:
                batch = queue.popleft()
                again: dict[tuple[int, bool], list[int]] = {}
                for row, result in zip(batch.rows, self._collected(batch, options), strict=True):
                    exceeds = _exceeds(result, limits[row])
                    never = not SUPPRESSED.isdisjoint(result[0].tokens)
                    if not batch.suppress and never:
                        again.setdefault((batch.limit, True), []).append(row)
                    elif exceeds and greedy:
                        cut[row] = _cut(result, limits[row], options)
                    elif exceeds and limits[row] < batch.limit:
                        again.setdefault((limits[row], batch.suppress), []).append(row)
                    else:
                        yield row, result
                queue.extend(submit(chosen, *how, batch.alone) for how, chosen in again.items())
            best = [result[0] for result in cut.values()]
            scored = self.token_log_probabilities([sources[row] for row in cut], best, options)
            for row, hypothesis in zip(cut, scored, strict=True):
                yield row, [hypothesis]

        return collect()

    def explain(
        self,
        sources: Sequence[Sequence[int]],
        hypotheses: Sequence[Hypothesis],
        options: SearchOptions,
        *,
        first_rows: bool = True,
    ) -> Iterator[tuple[int, ExplainedHypothesis]]:
        """Given hypotheses with the log-probabilities of their tokens and their attention.

        They are given with their rows as they are done, in the order of the sources' lengths; what
        must be computed for that begins at once. The first row of the attention, in which BOS is
        the input, may be any numbers without `first_rows`.

        Hypotheses that have no attention are forced as prefixes of a greedy search. In the first
        step of a beam, CTranslate2 mixes up the attention of the sentences of a batch, so that step
        is repeated.
        """
        order = sorted(
            range(len(sources)), key=lambda row: (len(sources[row]), len(hypotheses[row].tokens))
        )  # for batches
        ids, given = [sources[row] for row in order], [hypotheses[row] for row in order]
        forced = self._force(ids, given, options, first_rows=first_rows)
        scores = self._score(ids, given, options)

        def collect() -> Iterator[tuple[int, ExplainedHypothesis]]:
            for row, hypothesis, force, score in zip(order, given, forced, scores, strict=True):
                if isinstance(hypothesis, AttendedHypothesis):
                    weights = hypothesis.attention
                    if force is not None:
                        weights[:1] = _weights(force.result(), 1)
                else:
                    weights = _weights(force.result(), len(hypothesis.tokens) + hypothesis.finished)
                scored = Hypothesis(*hypothesis)  # without the result, which no pickle takes
                if score is not None:
                    scored = self._scored(hypothesis, score, options)
                yield row, ExplainedHypothesis(scored, weights)

        return collect()

    def continued(
        self,
        sources: Sequence[Sequence[int]],
        beginnings: Sequence[Sequence[int]],
        options: SearchOptions,
    ) -> list[Hypothesis]:
        """The best hypothesis that begins with the given tokens, for each sentence."""
        groups = self._groups([len(ids) for ids in sources], options)
        limit = max((self._limit(len(ids) + 1, options.max_length) for ids in sources), default=0)
        pending = [
            self._submit(
                [sources[row] for row in rows],
                options,
                limit,
                suppress=True,
                beginnings=[beginnings[row] for row in rows],
            )
            for rows in groups
        ]
        done = {
            row: self._result(result.result(), options)[0]
            for row, result in zip(chain(*groups), chain(*pending), strict=True)
        }
        return [done[row] for row in range(len(sources))]

    def _submit(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        limit: int,
        *,
        suppress: bool,
        alone: bool = False,
        attention: bool = False,
        beginnings: Sequence[Sequence[int]] | None = None,
    ) -> list[Any]:
        """Search a batch in the background, or each of its sentences by itself."""
        target = self._target
        pending: list[Any] = self._translator.translate_batch(
            self._tokens(sources, self._source),
            [[target[number] for number in ids] for ids in beginnings] if beginnings else None,
            asynchronous=True,
            beam_size=options.beam,
            num_hypotheses=options.n_best,
            length_penalty=options.length_penalty,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
            suppress_sequences=[[target[never]] for never in SUPPRESSED if suppress],
            return_scores=True,
            return_end_token=True,
            return_attention=attention,
            max_batch_size=1 if alone else 0,
        )
        return pending

    def _collected(self, batch: _Batch, options: SearchOptions) -> Iterator[list[Hypothesis]]:
        """The results of a batch's sentences, once they are done."""
        has_first = options.beam == 1 or batch.alone or len(batch.rows) == 1
        for pending in batch.results:
            result = pending.result()
            hypotheses = self._result(result, options)
            if batch.attention:
                hypotheses[0] = attended = AttendedHypothesis(*hypotheses[0])
                attended.result, attended.has_first = result, has_first
            yield hypotheses

    def token_log_probabilities(
        self,
        sources: Sequence[Sequence[int]],
        hypotheses: Sequence[Hypothesis],
        options: SearchOptions,
    ) -> list[Hypothesis]:
        """The hypotheses with the log-probabilities of their tokens, where they are missing."""
        scores = self._score(sources, hypotheses, options)
        return [
            self._scored(hypothesis, score, options) if score is not None else hypothesis
            for hypothesis, score in zip(hypotheses, scores, strict=True)
        ]

    def _score(
        self,
        sources: Sequence[Sequence[int]],
        hypotheses: Sequence[Hypothesis],
        options: SearchOptions,
    ) -> list[Any]:
        """Score in the background the hypotheses without log-probabilities; None for others."""
        rows = [row for row, found in enumerate(hypotheses) if not found.token_log_probabilities]
        scores: list[Any] = [None] * len(hypotheses)
        if rows:
            pending = self._translator.score_batch(
                self._tokens([sources[row] for row in rows], self._source),
                [self._beginning(hypotheses[row]) for row in rows],
                asynchronous=True,
                max_input_length=0,
                max_batch_size=1 if options.deterministic else SCORED_TOGETHER,
            )
            for row, score in zip(rows, pending, strict=True):
                scores[row] = score
        return scores

    def _scored(self, hypothesis: Hypothesis, score: Any, options: SearchOptions) -> Hypothesis:
        """The hypothesis with the log-probabilities of its tokens, and its score by these."""
        tokens = hypothesis.tokens
        ids = [*tokens, EOS] if hypothesis.finished else tokens
        found: list[float] = score.result().log_probs[: len(ids)]
        if (
            len(tokens) == self.max_length
        ):  # the last was not scored: it has the rest of the search's
            found[-1] = min(0.0, hypothesis.log_probability - sum(found[:-1]))
        return make_hypothesis(ids, found, options.length_penalty)

    def _force(
        self,
        sources: Sequence[Sequence[int]],
        hypotheses: Sequence[Hypothesis],
        options: SearchOptions,
        *,
        first_rows: bool,
    ) -> list[Any]:
        """Generate hypotheses without attention in the background, for it; None for others.

        Of those that only lack the first row, one token.
        """
        without, incomplete = [], []
        for row, hypothesis in enumerate(hypotheses):
            if not isinstance(hypothesis, AttendedHypothesis):
                without.append(row)
            elif first_rows and not hypothesis.has_first:
                incomplete.append(row)
        forced: list[Any] = [None] * len(hypotheses)
        for rows, beginnings in (
            (without, [self._beginning(hypotheses[row]) for row in without]),
            (incomplete, [[] for _ in incomplete]),
        ):
            if not rows:
                continue
            pending = self._translator.translate_batch(
                self._tokens([sources[row] for row in rows], self._source),
                beginnings,
                asynchronous=True,
                beam_size=1,
                max_input_length=0,
                max_decoding_length=max(map(len, beginnings)) + 1,
                return_end_token=True,
                return_attention=True,
                max_batch_size=1 if options.deterministic else FORCED_TOGETHER,
            )
            for row, result in zip(rows, pending, strict=True):
                forced[row] = result
        return forced

    def _beginning(self, hypothesis: Hypothesis) -> list[str]:
        """The tokens that can be read: what follows the last one has a position of its own."""
        return [self._target[token] for token in hypothesis.tokens[: self.max_length - 1]]

    def _groups(self, lengths: Sequence[int], options: SearchOptions) -> list[list[int]]:
        tokens = min(options.batch_tokens, self._max_tokens or options.batch_tokens)
        return length_groups(lengths, replace(options, batch_tokens=tokens), self.threads)

    def _limit(self, length: int, max_length: int | None) -> int:
        return min(2 * length + 10 if max_length is None else max_length, self.max_length)

    def _tokens(
        self, sentences: Sequence[Sequence[int]], vocabulary: Sequence[str]
    ) -> list[list[str]]:
        end = vocabulary[EOS]
        return [[*map(vocabulary.__getitem__, ids), end] for ids in sentences]

    def _result(self, result: Any, options: SearchOptions) -> list[Hypothesis]:
        ids, end = self._ids, self._target[EOS]
        hypotheses = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            length, finished = len(tokens), bool(tokens) and tokens[-1] == end
            hypotheses.append(
                Hypothesis(
                    tuple(map(ids.__getitem__, tokens[:-1] if finished else tokens)),
                    score,
                    score * max(length, 1) ** options.length_penalty,
                    (),
                    finished,
                )
            )
        return hypotheses


def _weights(result: Any, num_rows: int) -> Attention:
    """The first rows of the attention of a result's best hypothesis."""
    import numpy as np

    attention = result.attention  # a copy
    rows: list[list[float]] = attention[0][:num_rows] if attention else []
    width = len(rows[0]) if rows else 0
    flat = np.fromiter(chain.from_iterable(rows), np.float32, len(rows) * width)
    return flat.reshape(-1, width) if width else np.zeros((0, 0), np.float32)


def _exceeds(result: list[Hypothesis], limit: int) -> bool:
    """Whether a hypothesis has more tokens than its sentence's limit, EOS included."""
    return any(len(hypothesis.tokens) + hypothesis.finished > limit for hypothesis in result)


def _cut(result: list[Hypothesis], limit: int, options: SearchOptions) -> list[Hypothesis]:
    """A greedy result within a limit, as if the search had ended there."""
    (best,) = result
    return [make_hypothesis(best.tokens[:limit], (), options.length_penalty)]
