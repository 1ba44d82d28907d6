"""Small translators with words as tokens, trained in memory on one core.

The networks are built before they are trained, in this process, so that a training depends on its
seed alone, wherever it runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from regard.config import Run, TextSettings, TrainingSettings
from regard.config.kind import ModelSettings
from regard.corpus.pairs import Pair
from regard.folder import Tokenizers
from regard.tasks import find_task
from regard.tasks.text.encoded_corpus import EncodedCorpus
from regard.tasks.translation.task import TranslationTask, encode_pairs
from regard.tasks.translation.validation import greedy_texts
from regard.training.loop import Trainer
from regard.training.report import Silent
from regard.training.run import new_network
from regard.training.task import TrainData
from regard.worker_pool import WorkerPool

TEXT = TextSettings(unit="word", shared=False, vocab_size=1_000_000)
NEVER = 1_000_000_000


class WordCorpus(NamedTuple):
    """Pairs of sentences as numbers of words."""

    sources: list[list[int]]
    targets: list[list[int]]
    tokenizers: Tokenizers
    languages: str


@dataclass(frozen=True)
class WordTranslator:
    """A network, trained or to be trained; `data` has its settings, sentences and words.

    losses   of every update, in nats per word
    seconds  of one core that the updates took
    """

    network: nn.Module
    data: TrainData
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def num_parameters(self) -> int:
        """Number of weights."""
        return sum(weights.numel() for weights in self.network.parameters())

    def translate(self, sources: Sequence[str]) -> list[str]:
        """Translate sentences by greedy search."""
        with WorkerPool(1) as pool:
            words = self.data.tokenizers
            return greedy_texts(self.network, sources, words, torch.device("cpu"), pool)


def encode_words(pairs: Sequence[Pair], languages: str = "en-fr") -> WordCorpus:
    """Encode pairs; each of their words is a token."""
    run = Run(languages=languages, text=TEXT)
    tokenizers = _task("rnn").train_tokenizers(pairs, run)
    sources, targets, _ = encode_pairs(pairs, tokenizers, run.model.max_length - 1)
    return WordCorpus(sources, targets, tokenizers, languages)


def new_translator(
    corpus: WordCorpus,
    model: ModelSettings,
    *,
    steps: int,
    batch_tokens: int,
    rate: float,
    seed: int,
) -> WordTranslator:
    """A network with random weights, to be trained on the corpus for `steps` updates."""
    training = TrainingSettings(
        steps=steps,
        batch_tokens=batch_tokens,
        optimizer="muon",
        learning_rate=rate,
        schedule="linear",
        weight_decay=0.1,
        label_smoothing=0.05,
        ema_decay=0.99,
        validate_every=NEVER,
        precision="fp32",
        tensorboard=False,
        threads=1,
        seed=seed,
    )
    run = Run(languages=corpus.languages, model=model, text=TEXT, training=training)
    batches = EncodedCorpus(corpus.sources, corpus.targets, batch_tokens, seed)
    data = TrainData(run, batches, tokenizers=corpus.tokenizers)
    return WordTranslator(new_network(_task(model.kind), data), data)


def train_translator(
    untrained: WordTranslator, report: Callable[[float], None] = lambda share: None
) -> WordTranslator:
    """Train on this thread; `report` is called with the share of the updates that are made."""
    data, losses = untrained.data, _Losses(report)
    start = time.thread_time()
    trainer = Trainer(_task(data.run.model.kind), untrained.network, data, reporter=losses)
    if not trainer.train().finished:
        raise KeyboardInterrupt
    return WordTranslator(trainer.network, data, losses.values, time.thread_time() - start)


class _Losses(Silent):
    """Keeps the loss of every update."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self.values: list[float] = []
        self._report = report

    def update(self, share: float, seconds_left: float, figures: dict[str, Any]) -> None:
        """Keep one loss."""
        self.values.append(float(figures["loss"]))
        self._report(share)


def _task(kind: str) -> TranslationTask:
    task = find_task(kind)
    assert isinstance(task, TranslationTask)
    return task
