"""Validation of translation models: loss, and BLEU and chrF of greedy translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

import torch

from regard.config import SearchOptions
from regard.corpus.pairs import Pair
from regard.decoding import Hypothesis, search
from regard.evaluation import corpus_scores
from regard.folder import Tokenizers
from regard.models.batch import source_of
from regard.models.fast import for_inference
from regard.tasks.text.encoded_corpus import TextDevelopmentSet
from regard.tasks.translation.tagged_pairs import encode_sources, target_of
from regard.tasks.translation.validation.samples import TranslationSampler
from regard.training.logs.samples import ValidationSample
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool

MEANINGFUL_BLEU = 5.0  # below it, BLEU and chrF of a few hundred sentences are noise


@dataclass(frozen=True)
class TranslationResult(ValidationResult):
    """Figures of the development set.

    bleu, chrf  of greedy translations, from 0 to 100; None if no sentence was translated
    exact       share of sentences that greedy search translates exactly
    """

    bleu: float | None = None
    chrf: float | None = None
    exact: float | None = None

    @property
    def goodness(self) -> tuple[float, float]:
        """chrF; while BLEU says nothing yet, the loss."""
        if self.chrf is None or self.bleu is None or self.bleu < MEANINGFUL_BLEU:
            return 0.0, -self.loss
        return 1.0, self.chrf

    @property
    def compared_by(self) -> str:
        if self.chrf is None:
            return "the loss"
        return f"chrF, and by the loss while BLEU is below {MEANINGFUL_BLEU:g}"

    @property
    def exact_match(self) -> float | None:
        return self.exact

    def summary(self) -> list[str]:
        if self.bleu is not None and self.chrf is not None:
            return [*super().summary(), f"BLEU {self.bleu:.1f}", f"chrF {self.chrf:.1f}"]
        exact = [] if self.exact is None else [f"exact {100 * self.exact:.1f} %"]
        return [*super().summary(), *exact]


@dataclass(frozen=True)
class TranslationDevelopmentSet(TextDevelopmentSet):
    """The development set as ids and as text; `shown` pairs are translated at each validation."""

    pairs: Sequence[Pair]
    shown: int
    tokenizers: Tokenizers
    target_language: str
    source_language: str = ""

    @cached_property
    def sampler(self) -> TranslationSampler:
        """Shows some of the translations."""
        languages = self.source_language, self.target_language
        return TranslationSampler(self.pairs, self.shown, self.tokenizers, languages)

    def validate(self, network: Any, device: torch.device, pool: WorkerPool) -> TranslationResult:
        loss, accuracy, exact = self.measure(network, device, pool)
        bleu = chrf = None
        samples: tuple[ValidationSample, ...] = ()
        shown = self.pairs[: self.shown]
        if shown:
            hypotheses = greedy_search(network, shown, self.tokenizers, device, pool)
            outputs = [self.tokenizers.target.decode(best.tokens) for best in hypotheses]
            bleu, chrf = mean_scores(outputs, shown, self.target_language)
            samples = self.sampler.samples(network, device, hypotheses)
        figures = loss, perplexity(loss), accuracy, bleu, chrf, exact
        return TranslationResult(*figures, samples=samples)


def mean_scores(
    outputs: Sequence[str], pairs: Sequence[Pair], language: str
) -> tuple[float, float]:
    """Return BLEU and chrF; of several target languages, their means over the languages."""
    parts: dict[str, list[int]] = {}
    for row, pair in enumerate(pairs):
        parts.setdefault(target_of(pair, language), []).append(row)
    scores = [
        corpus_scores([outputs[n] for n in rows], [pairs[n].target for n in rows], asked)
        for asked, rows in parts.items()
    ]
    return fmean(score.bleu for score in scores), fmean(score.chrf for score in scores)


def greedy_texts(
    network: Any,
    sources: Sequence[str],
    tokenizers: Tokenizers,
    device: torch.device,
    pool: WorkerPool,
) -> list[str]:
    """Translate sentences by greedy search, in batches of similar length."""
    pairs = [Pair(source, "") for source in sources]
    hypotheses = greedy_search(network, pairs, tokenizers, device, pool)
    return [tokenizers.target.decode(best.tokens) for best in hypotheses]


def greedy_search(
    network: Any,
    pairs: Sequence[Pair],
    tokenizers: Tokenizers,
    device: torch.device,
    pool: WorkerPool,
) -> list[Hypothesis]:
    """Return what greedy search finds for the source of each pair, in batches of similar length."""
    ids = [row[: network.max_length - 1] for row in encode_sources(pairs, tokenizers)]
    order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
    size = min(128, -(-len(order) // pool.num_workers) or 1)
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    model = for_inference(network)

    def translate(rows: list[int]) -> list[list[Hypothesis]]:
        source = source_of([ids[n] for n in rows]).to(device)
        return search(model, source, SearchOptions(beam=1))

    found: dict[int, Hypothesis] = {}
    for rows, batch in zip(parts, pool.map(translate, parts), strict=True):
        found.update((row, hypotheses[0]) for row, hypotheses in zip(rows, batch, strict=True))
    return [found[row] for row in range(len(ids))]
