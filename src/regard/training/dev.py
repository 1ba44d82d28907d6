"""Looks at the development set: loss, and BLEU and chrF of translations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from regard.config import MaskedLanguageModelSettings, Run, SearchOptions
from regard.corpus.pairs import Pair
from regard.decoding import Hypothesis, search
from regard.evaluation import corpus_scores
from regard.folder import Tokenizers
from regard.models.batch import Batch, source_of
from regard.models.build import Network, Translating
from regard.text import PAD, UNK
from regard.training.examples import Examples, is_paired, masked
from regard.training.loss import label_loss
from regard.training.shards import Crew

MEANINGFUL_BLEU = 5.0  # below it, BLEU and chrF of a few hundred sentences are noise


@dataclass(frozen=True)
class Look:
    """What a look at the development set found.

    loss        cross-entropy of a token, in nats, without smoothing
    perplexity  e^loss
    accuracy    share of tokens guessed right, given what stands before them
    bleu, chrf  of greedy translations, from 0 to 100; None for models that do not translate
    exact       share of sentences that greedy search translates exactly; None likewise
    """

    loss: float
    perplexity: float
    accuracy: float
    bleu: float | None = None
    chrf: float | None = None
    exact: float | None = None

    @property
    def goodness(self) -> tuple[float, float]:
        """What is compared between validations: chrF, and before BLEU says anything the loss."""
        if self.chrf is None or self.bleu is None or self.bleu < MEANINGFUL_BLEU:
            return 0.0, -self.loss
        return 1.0, self.chrf

    @property
    def compared_by(self) -> str:
        """What `goodness` goes by, in words."""
        if self.chrf is None:
            return "the loss"
        return f"chrF, and by the loss while BLEU is below {MEANINGFUL_BLEU:g}"

    def said(self) -> list[str]:
        """The figures that are told while training."""
        parts = [f"dev loss {self.loss:.3f}", f"perplexity {self.perplexity:.2f}"]
        if self.bleu is not None and self.chrf is not None:
            parts += [f"BLEU {self.bleu:.1f}", f"chrF {self.chrf:.1f}"]
        elif self.exact is not None:
            parts.append(f"exact {100 * self.exact:.1f} %")
        return parts


class Looking(Protocol):
    """A development set of any kind of model: all that the loop asks of it is a look."""

    def look(
        self, network: Any, run: Run, tokenizers: Tokenizers, device: torch.device, crew: Crew
    ) -> Look:
        """Measure the network as it is."""
        ...


@dataclass(frozen=True)
class Dev:
    """The development set: its sentences as ids for the loss, and as text.

    shown is how many of the pairs are translated at every look.
    """

    examples: Examples
    pairs: Sequence[Pair] = ()
    shown: int = 0

    def look(
        self,
        network: Network,
        run: Run,
        tokenizers: Tokenizers,
        device: torch.device,
        crew: Crew,
    ) -> Look:
        """Measure the network as it is."""
        was = network.training
        network.eval()
        try:
            loss, accuracy, exact = self._loss(network, run, len(tokenizers.target), device, crew)
            bleu = chrf = None
            shown = self.pairs[: self.shown]
            if shown and isinstance(network, Translating):
                sources = [p.source for p in shown]
                outputs = greedy_texts(network, sources, tokenizers, device, crew)
                scores = corpus_scores(outputs, [p.target for p in shown], run.target_language)
                bleu, chrf = scores.bleu, scores.chrf
        finally:
            network.train(was)
        share = exact if is_paired(run.model) else None
        return Look(loss, math.exp(min(loss, 50.0)), accuracy, bleu, chrf, share)

    def _loss(
        self, network: Network, run: Run, vocab: int, device: torch.device, crew: Crew
    ) -> tuple[float, float, float]:
        """The mean loss of a token, the share of tokens guessed right, and that of sentences.

        A sentence whose every token is guessed right after the right tokens before it is what
        greedy search writes: the exact matches are found without a search.
        """

        @torch.inference_mode()
        def measure(numbered: tuple[int, Batch]) -> tuple[float, int, int, int, int]:
            number, batch = numbered
            if isinstance(run.model, MaskedLanguageModelSettings):
                batch = masked(batch, run.model, vocab, 0, number)
            batch = batch.to(device)
            features = network.features(batch)
            loss = float(label_loss(features, network.output, batch.labels))
            asked = batch.labels != PAD
            guesses = network.output(features[asked]).argmax(-1)
            right = guesses == batch.labels[asked]
            wrong = asked.clone()
            wrong[asked] = ~right | (guesses == UNK)  # which no search writes
            exact = int((~wrong.any(1)).sum())
            return loss, int(right.sum()), len(right), exact, len(wrong)

        parts = crew.map(measure, enumerate(self.examples.every()))
        loss, right, count, exact, rows = (sum(column) for column in zip(*parts, strict=True))
        return loss / max(1, count), right / max(1, count), exact / max(1, rows)


def greedy_texts(
    network: Translating,
    sources: Sequence[str],
    tokenizers: Tokenizers,
    device: torch.device,
    crew: Crew,
) -> list[str]:
    """Greedy translations of sentences, in batches of similar length."""
    ids = [tokenizers.source.encode(text)[: network.max_length - 1] for text in sources]
    order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
    size = min(128, -(-len(order) // crew.number) or 1)
    parts = [order[start : start + size] for start in range(0, len(order), size)]

    def translate(rows: list[int]) -> list[list[Hypothesis]]:
        source = source_of([ids[n] for n in rows]).to(device)
        return search(network, source, SearchOptions(beam=1))

    outputs = [""] * len(ids)
    for rows, found in zip(parts, crew.map(translate, parts), strict=True):
        for row, hypotheses in zip(rows, found, strict=True):
            outputs[row] = tokenizers.target.decode(hypotheses[0].tokens)
    return outputs
