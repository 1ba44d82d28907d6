"""Search by CTranslate2, with the options that it has; all others are for `search`.

A hypothesis has no log-probabilities of its tokens: `token_log_probabilities` computes them for
those that need them. T target tokens with EOS, S source tokens with EOS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import SearchOptions
from regard.config.run import EnginePrecision
from regard.decoding.hypothesis import Hypothesis, make_hypothesis
from regard.text import BOS, EOS, MASK, PAD, UNK

SUPPRESSED = frozenset({PAD, BOS, MASK, UNK})
SCORED_TOGETHER = 16  # sentences; with more, the logits of all positions exceed the caches
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

        self._translator = Translator(
            str(folder),
            device,
            compute_type=COMPUTE_TYPES[precision],
            inter_threads=threads,
            intra_threads=1,
        )
        self.precision, self.max_length = precision, max_length
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
        """The results of sentences, given as ids without EOS; None for those that are too long.

        With `attention`, that of the best hypotheses, and the log-probabilities of their tokens.
        """
        rows = [row for row, ids in enumerate(sources) if len(ids) < self.max_length]
        limits = {row: self._limit(len(sources[row]) + 1, options.max_length) for row in rows}
        found: list[EngineResult | None] = [None] * len(sources)
        largest = max(limits.values(), default=0)
        while rows:  # CTranslate2 has one limit for a batch: search again where it is too large
            chosen = [sources[row] for row in rows]
            for row, result in zip(
                rows, self._search(chosen, options, largest, attention), strict=True
            ):
                found[row] = result
            limits = {
                row: limit
                for row, limit in limits.items()
                if limit < largest and _exceeds(found[row], limit)
            }
            largest = max(limits.values(), default=0)
            rows = [row for row in limits if limits[row] == largest]
        if attention and options.beam > 1:  # CTranslate2 does not reorder it with the hypotheses
            return self._with_attention(sources, found, options)
        return found

    def _search(
        self, sources: Sequence[Sequence[int]], options: SearchOptions, limit: int, attention: bool
    ) -> list[EngineResult]:
        """The results of sentences within one length limit.

        CTranslate2 leaves tokens that are never generated out of the softmax. A greedy search
        without them first gives the right log-probabilities wherever it does not choose one.
        """
        if options.beam > 1:
            return self._search_batch(sources, options, limit, suppress=True)
        results = self._search_batch(sources, options, limit, attention=attention)
        wrong = [
            row
            for row, result in enumerate(results)
            if not SUPPRESSED.isdisjoint(result.hypotheses[0].tokens)
        ]
        if wrong:
            again = self._search_batch(
                [sources[row] for row in wrong], options, limit, suppress=True, attention=attention
            )
            for row, result in zip(wrong, again, strict=True):
                results[row] = result
        return results

    def _search_batch(
        self,
        sources: Sequence[Sequence[int]],
        options: SearchOptions,
        limit: int,
        *,
        suppress: bool = False,
        attention: bool = False,
    ) -> list[EngineResult]:
        logs: list[list[float]] = [[] for _ in sources]

        def step(token: Any) -> bool:
            logs[token.batch_id].append(token.log_prob)
            return False

        results = self._translator.translate_batch(
            self._tokens(sources, self._source),
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
            callback=step if attention and not suppress else None,
            **self._batches(options),
        )
        return [
            self._result(result, tokens, options)
            for result, tokens in zip(results, logs, strict=True)
        ]

    def token_log_probabilities(
        self,
        sources: Sequence[Sequence[int]],
        hypotheses: Sequence[Hypothesis],
        options: SearchOptions,
    ) -> list[Hypothesis]:
        """The hypotheses with the log-probabilities of their tokens, where they are missing."""
        rows = [row for row, found in enumerate(hypotheses) if not found.token_log_probabilities]
        complete = list(hypotheses)
        if not rows:
            return complete
        scored = self._translator.score_batch(
            self._tokens([sources[row] for row in rows], self._source),
            [[self._target[token] for token in hypotheses[row].tokens] for row in rows],
            max_input_length=0,
            max_batch_size=1 if options.deterministic else SCORED_TOGETHER,
        )
        for row, scores in zip(rows, scored, strict=True):
            complete[row] = _scored(hypotheses[row], scores.log_probs, options.length_penalty)
        return complete

    def _with_attention(
        self,
        sources: Sequence[Sequence[int]],
        results: Sequence[EngineResult | None],
        options: SearchOptions,
    ) -> list[EngineResult | None]:
        """The results with the attention of their best hypotheses, which are forced as prefixes."""
        rows = [row for row, result in enumerate(results) if result is not None]
        best = [result.hypotheses[0] for result in results if result is not None]
        complete = list(results)
        if not rows:
            return complete
        forced = self._translator.translate_batch(
            self._tokens([sources[row] for row in rows], self._source),
            [[self._target[token] for token in hypothesis.tokens] for hypothesis in best],
            beam_size=1,
            max_input_length=0,
            max_decoding_length=max(len(hypothesis.tokens) for hypothesis in best) + 1,
            return_end_token=True,
            return_attention=True,
            **self._batches(options),
        )
        for row, hypothesis, result in zip(rows, best, forced, strict=True):
            attention = result.attention[0][: len(hypothesis.tokens) + hypothesis.finished]
            found = results[row]
            assert found is not None
            complete[row] = found._replace(attention=attention)
        return complete

    def _batches(self, options: SearchOptions) -> dict[str, Any]:
        if options.deterministic:
            return {"max_batch_size": 1, "batch_type": "examples"}
        size = max(1, options.batch_tokens // options.beam)
        return {"max_batch_size": size, "batch_type": "tokens"}

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


def _exceeds(result: EngineResult | None, limit: int) -> bool:
    """Whether a hypothesis has more tokens than its sentence's limit, EOS included."""
    return result is not None and any(
        len(hypothesis.tokens) + hypothesis.finished > limit for hypothesis in result.hypotheses
    )


def _scored(
    hypothesis: Hypothesis, log_probabilities: Sequence[float], length_penalty: float
) -> Hypothesis:
    """The hypothesis with the log-probabilities of its tokens, and its score by these."""
    tokens = hypothesis.tokens
    ids = [*tokens, EOS] if hypothesis.finished else tokens
    return make_hypothesis(ids, log_probabilities[: len(ids)], length_penalty)
