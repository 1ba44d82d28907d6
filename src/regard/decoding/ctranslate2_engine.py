"""Search by CTranslate2, with the options that it has; all others are for `search`.

A hypothesis has no log-probabilities of its tokens: `token_log_probabilities` computes them for
those that need them. T target tokens with EOS, S source tokens with EOS.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import SearchOptions
from regard.config.run import EnginePrecision
from regard.cores import note_threads
from regard.decoding.hypothesis import Hypothesis, make_hypothesis
from regard.decoding.length_groups import length_groups
from regard.text import BOS, EOS, MASK, PAD, UNK

SUPPRESSED = frozenset({PAD, BOS, MASK, UNK})
SCORED_TOGETHER = 16  # sentences; with more, the logits of all positions exceed the caches
FORCED_TOGETHER = 64
CPU_TOKENS = 512  # padded source tokens times the beam; on a processor larger batches are slower
COMPUTE_TYPES: dict[EnginePrecision, str] = {"int8": "int8", "fp32": "float32"}

OPTIONS = frozenset({
    "beam", "length_penalty", "n_best", "max_length", "batch_tokens", "deterministic",
    "temperature", "top_k", "top_p", "seed", "diversity_penalty",
})  # fmt: skip
"""Options of a search that CTranslate2 takes, or that have no effect without `sample` and
`beam_groups`; others must have their default values."""


Attention = Sequence[Sequence[float]]
"""(T, S) weights of a hypothesis, by the head for alignment."""


class EngineResult(NamedTuple):
    """The hypotheses of a sentence, best first, and the attention of the best if asked for."""

    hypotheses: list[Hypothesis]
    attention: Attention | None


class _Batch(NamedTuple):
    """Sentences that are searched together, and what is pending of them.

    suppress  whether tokens that are never generated were left out
    logs      log-probabilities of the tokens of each, if they are noted
    """

    rows: Sequence[int]
    limit: int
    suppress: bool
    results: Sequence[Any]
    logs: list[list[float]]


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

    def search(
        self, sources: Sequence[Sequence[int]], options: SearchOptions, *, attention: bool = False
    ) -> list[EngineResult | None]:
        """The results of sentences, given as ids without EOS; None for those that are too long."""
        found: list[EngineResult | None] = [None] * len(sources)
        for row, result in self.results(sources, options, attention=attention):
            found[row] = result
        return found

    def results(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        *,
        attention: bool = False,
        log_probabilities: bool = False,
    ) -> Iterator[tuple[int, EngineResult]]:
        """The results as they are done, each with its row; none for sentences that are too long.

        The search begins at once, whenever the results are read.

        With `attention`, that of the best hypotheses, and the log-probabilities of their tokens;
        with `log_probabilities` only these.
        """
        explained = attention or log_probabilities
        found = self._searched(sources, options, attention, explained)
        return self._explained(sources, found, options, attention) if explained else found

    def _searched(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        attention: bool,
        log_probabilities: bool,
    ) -> Iterator[tuple[int, EngineResult]]:
        """Search batches of similar length, all of which wait in CTranslate2's queue.

        CTranslate2 has one length limit for a batch: a beam that exceeded the limit of its sentence
        is searched again within it, and a greedy output is cut.

        CTranslate2 leaves tokens that are never generated out of the softmax. A greedy search
        without them first gives the right log-probabilities wherever it does not choose one.
        """
        rows = [row for row, ids in enumerate(sources) if len(ids) < self.max_length]
        limits = {row: self._limit(len(sources[row]) + 1, options.max_length) for row in rows}
        greedy = options.beam == 1
        tokens = min(options.batch_tokens, self._max_tokens or options.batch_tokens)
        groups = length_groups(
            [len(sources[row]) for row in rows], replace(options, batch_tokens=tokens), self.threads
        )

        def submit(chosen: Sequence[int], limit: int, suppress: bool) -> _Batch:
            logs: list[list[float]] = [[] for _ in chosen]
            results = self._submit(
                [sources[row] for row in chosen], options, limit, suppress=suppress,
                attention=attention and greedy,
                logs=logs if log_probabilities and greedy and not suppress else None,
            )  # fmt: skip
            return _Batch(chosen, limit, suppress, results, logs)

        queue = deque(
            submit(chosen, max(limits[row] for row in chosen), not greedy)
            for group in groups
            if (chosen := [rows[number] for number in group])
        )

        def collect() -> Iterator[tuple[int, EngineResult]]:
            cut: dict[int, EngineResult] = {}
            while queue:
                batch = queue.popleft()
                again: dict[tuple[int, bool], list[int]] = {}
                for row, pending, logs in zip(batch.rows, batch.results, batch.logs, strict=True):
                    result = self._result(pending.result(), logs, options)
                    exceeds = _exceeds(result, limits[row])
                    never = not SUPPRESSED.isdisjoint(result.hypotheses[0].tokens)
                    if not batch.suppress and never:
                        again.setdefault((batch.limit, True), []).append(row)
                    elif exceeds and greedy:
                        cut[row] = _cut(result, limits[row], options)
                    elif exceeds and limits[row] < batch.limit:
                        again.setdefault((limits[row], batch.suppress), []).append(row)
                    else:
                        yield row, result
                queue.extend(submit(chosen, *how) for how, chosen in again.items())
            best = [result.hypotheses[0] for result in cut.values()]
            scored = self.token_log_probabilities([sources[row] for row in cut], best, options)
            for (row, result), hypothesis in zip(cut.items(), scored, strict=True):
                yield row, result._replace(hypotheses=[hypothesis])

        return collect()

    def _explained(
        self,
        sources: Sequence[Sequence[int]],
        found: Iterator[tuple[int, EngineResult]],
        options: SearchOptions,
        attention: bool,
    ) -> Iterator[tuple[int, EngineResult]]:
        """The results with log-probabilities and perhaps attention, where the search gave none.

        CTranslate2 does not reorder attention with the hypotheses of a beam, so the best ones are
        forced as prefixes of a greedy search.
        """
        incomplete: dict[int, EngineResult] = {}
        for row, result in found:
            known = result.hypotheses[0].token_log_probabilities
            if known and (result.attention is not None or not attention):
                yield row, result
            else:
                incomplete[row] = result
        rows, best = list(incomplete), [r.hypotheses[0] for r in incomplete.values()]
        ids = [sources[row] for row in rows]
        scores = self._score(ids, best, options)
        if attention and options.beam > 1:
            forced = self._force(ids, best, options)
        else:
            forced = [None] * len(rows)
        for row, score, force in zip(rows, scores, forced, strict=True):
            (first, *others), weights = incomplete[row]
            if score is not None:
                first = _scored(first, score.result().log_probs, options.length_penalty)
            if force is not None:
                weights = force.result().attention[0][: len(first.tokens) + first.finished]
            yield row, EngineResult([first, *others], weights)

    def explain(
        self, sources: Sequence[Sequence[int]], hypotheses: Sequence[Hypothesis]
    ) -> list[EngineResult]:
        """Given hypotheses with the log-probabilities of their tokens and their attention."""
        given = ((row, EngineResult([found], None)) for row, found in enumerate(hypotheses))
        done = dict(self._explained(sources, given, SearchOptions(beam=2), attention=True))
        return [done[row] for row in range(len(hypotheses))]

    def _submit(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        limit: int,
        *,
        suppress: bool,
        attention: bool,
        logs: list[list[float]] | None,
    ) -> list[Any]:
        """Search a batch in the background; `logs` receives its tokens' log-probabilities."""

        def step(token: Any) -> bool:
            assert logs is not None
            logs[token.batch_id].append(token.log_prob)
            return False

        pending: list[Any] = self._translator.translate_batch(
            self._tokens(sources, self._source),
            asynchronous=True,
            beam_size=options.beam,
            num_hypotheses=options.n_best,
            length_penalty=options.length_penalty,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
            suppress_sequences=[[self._target[token]] for token in SUPPRESSED if suppress],
            return_scores=True,
            return_end_token=True,
            return_attention=attention,
            callback=None if logs is None else step,
        )
        return pending

    def token_log_probabilities(
        self,
        sources: Sequence[Sequence[int]],
        hypotheses: Sequence[Hypothesis],
        options: SearchOptions,
    ) -> list[Hypothesis]:
        """The hypotheses with the log-probabilities of their tokens, where they are missing."""
        scores = self._score(sources, hypotheses, options)
        return [
            _scored(hypothesis, score.result().log_probs, options.length_penalty)
            if score is not None
            else hypothesis
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
                [[self._target[token] for token in hypotheses[row].tokens] for row in rows],
                asynchronous=True,
                max_input_length=0,
                max_batch_size=1 if options.deterministic else SCORED_TOGETHER,
            )
            for row, score in zip(rows, pending, strict=True):
                scores[row] = score
        return scores

    def _force(
        self,
        sources: Sequence[Sequence[int]],
        hypotheses: Sequence[Hypothesis],
        options: SearchOptions,
    ) -> list[Any]:
        """Generate the given hypotheses in the background, for their attention."""
        if not hypotheses:
            return []
        pending: list[Any] = self._translator.translate_batch(
            self._tokens(sources, self._source),
            [[self._target[token] for token in hypothesis.tokens] for hypothesis in hypotheses],
            asynchronous=True,
            beam_size=1,
            max_input_length=0,
            max_decoding_length=max(len(hypothesis.tokens) for hypothesis in hypotheses) + 1,
            return_end_token=True,
            return_attention=True,
            max_batch_size=1 if options.deterministic else FORCED_TOGETHER,
        )
        return pending

    def _limit(self, length: int, max_length: int | None) -> int:
        return min(2 * length + 10 if max_length is None else max_length, self.max_length)

    def _tokens(
        self, sentences: Sequence[Sequence[int]], vocabulary: Sequence[str]
    ) -> list[list[str]]:
        end = vocabulary[EOS]
        return [[*map(vocabulary.__getitem__, ids), end] for ids in sentences]

    def _result(self, result: Any, logs: Sequence[float], options: SearchOptions) -> EngineResult:
        ids, end = self._ids, self._target[EOS]
        hypotheses = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            length, finished = len(tokens), bool(tokens) and tokens[-1] == end
            hypotheses.append(
                Hypothesis(
                    tuple(map(ids.__getitem__, tokens[:-1] if finished else tokens)),
                    score,
                    score * max(length, 1) ** options.length_penalty,
                    tuple(logs),
                    finished,
                )
            )
        return EngineResult(hypotheses, result.attention[0] if result.attention else None)


def _exceeds(result: EngineResult, limit: int) -> bool:
    """Whether a hypothesis has more tokens than its sentence's limit, EOS included."""
    return any(
        len(hypothesis.tokens) + hypothesis.finished > limit for hypothesis in result.hypotheses
    )


def _cut(result: EngineResult, limit: int, options: SearchOptions) -> EngineResult:
    """A greedy result within a limit, as if the search had ended there."""
    (best,) = result.hypotheses
    logs = best.token_log_probabilities[:limit]
    cut = make_hypothesis(best.tokens[:limit], logs, options.length_penalty)
    return EngineResult([cut], result.attention and result.attention[:limit])


def _scored(
    hypothesis: Hypothesis, log_probabilities: Sequence[float], length_penalty: float
) -> Hypothesis:
    """The hypothesis with the log-probabilities of its tokens, and its score by these."""
    tokens = hypothesis.tokens
    ids = [*tokens, EOS] if hypothesis.finished else tokens
    return make_hypothesis(ids, log_probabilities[: len(ids)], length_penalty)
