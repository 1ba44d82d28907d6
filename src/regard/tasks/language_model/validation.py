"""Validation of language models: the loss, and how some texts are continued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from regard.config import SearchOptions
from regard.decoding import search
from regard.folder import Tokenizers
from regard.tasks.text.encoded_corpus import TextDevelopmentSet
from regard.training.logs.samples import ValidationSample, spread_rows
from regard.training.validation import ValidationResult, perplexity
from regard.worker_pool import WorkerPool

MIN_TOKENS = 4  # of a text that is continued
MAX_LENGTH = 60  # tokens of a text with its continuation


@dataclass(frozen=True)
class LanguageModelDevelopmentSet(TextDevelopmentSet):
    """Encoded texts; greedy search continues the first half of some at each validation."""

    tokenizers: Tokenizers

    def validate(self, network: Any, device: torch.device, pool: WorkerPool) -> ValidationResult:
        loss, accuracy, _ = self.measure(network, device, pool)
        samples = self._samples(network)
        return ValidationResult(loss, perplexity(loss), accuracy, samples=samples)

    def _samples(self, network: Any) -> tuple[ValidationSample, ...]:
        texts = [row.tolist() for row in self.corpus.targets if len(row) >= MIN_TOKENS]
        rows = spread_rows([len(ids) for ids in texts]) if texts else []
        chosen = [texts[row] for row in rows]
        prompts = [ids[: len(ids) // 2][: MAX_LENGTH // 2] for ids in chosen]
        options = SearchOptions(beam=1, max_length=min(MAX_LENGTH, network.max_length))
        found = search(network, None, options, prefix=prompts) if prompts else []
        decode, samples = self.tokenizers.target.decode, []
        for ids, prompt, (best, *_) in zip(chosen, prompts, found, strict=True):
            source, output = decode(prompt), decode(best.tokens)
            samples.append(ValidationSample(source, output.removeprefix(source), decode(ids)))
        return tuple(samples)
