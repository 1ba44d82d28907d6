"""What the demonstration learns from, with which settings."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

from regard.config import (
    ModelSettings,
    RnnSettings,
    Run,
    SearchOptions,
    TextSettings,
    TrainingSettings,
    TransformerSettings,
)
from regard.config.mechanisms import (
    AdaptiveSpanSettings,
    BlockwiseSettings,
    FullSettings,
    LinearSettings,
    LinformerSettings,
    LocalSettings,
    MechanismSettings,
    PerformerSettings,
    ReformerSettings,
    SparseSettings,
)
from regard.corpus.grammar import GrammarPair, sample, seed_sentences
from regard.corpus.pairs import Pair
from regard.demo.curriculum import EasyFirst, easy_places
from regard.folder import Tokenizers
from regard.tasks import find_task
from regard.tasks.text.task import TextTask, train_tokenizer
from regard.text import Tokenizer
from regard.training.task import TrainData

Kind = Literal["transformer", "rnn"]
Language = Literal["fr", "zh"]


TARGET = 0.985
"""The share of development sentences translated exactly at which the language is learned."""


@dataclass(frozen=True)
class Budget:
    """How much is learned from, for how long, and how much is tested.

    sentences  pairs to learn from
    minutes    most minutes of training
    test       sentences of the development set, and of the test set
    updates    those in which the learning rate falls; None: it falls over the minutes
    easy       how many of the updates come first and learn from easy sentences
    """

    sentences: int
    minutes: float
    test: int
    updates: int | None = None
    easy: int = 0


BUDGETS: dict[tuple[Kind, bool], Budget] = {
    ("transformer", False): Budget(50_000, 5.0, 500, 2_400, easy=450),
    ("rnn", False): Budget(50_000, 5.0, 500, 1_600, easy=250),
    ("transformer", True): Budget(4_000, 0.2, 100),
    ("rnn", True): Budget(4_000, 0.2, 100),
}
"""By kind of model, and whether it is the quick version."""


@dataclass(frozen=True)
class Lesson:
    """Sentences to learn from, to choose by (dev) and to test on; the showcase is in none."""

    train: Sequence[GrammarPair]
    dev: Sequence[GrammarPair]
    test: Sequence[GrammarPair]
    seeds: Sequence[GrammarPair]


def lesson(language: Language, budget: Budget, seed: int = 0) -> Lesson:
    """Sentences of the built-in grammar."""
    with _no_garbage_collection():  # it would take a third of the time, and there is no garbage
        return Lesson(
            sample("train", budget.sentences, language=language, seed=seed),
            sample("dev", budget.test, language=language, seed=seed),
            sample("test", budget.test, language=language, seed=seed),
            seed_sentences(language),
        )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


SELF_ATTENTIONS: dict[str, MechanismSettings] = {
    settings.name: settings
    for settings in (
        FullSettings(), LocalSettings(window=4), SparseSettings(stride=4), BlockwiseSettings(),
        LinformerSettings(projected=8), ReformerSettings(chunk=8, num_buckets=4),
        LinearSettings(), PerformerSettings(num_features=128),
        AdaptiveSpanSettings(max_span=32, ramp=8, penalty=1e-3),
    )
}  # fmt: skip
"""Sizes small enough for sentences of a dozen tokens."""
SOURCE_ATTENTIONS = ("bahdanau", "none", "luong", "location", "coverage", "graves", "monotonic")
"""How the recurrent network looks at the source."""


def kind_of(attention: str) -> Kind:
    """The model that has this attention."""
    return "transformer" if attention in SELF_ATTENTIONS else "rnn"


def _model(attention: str) -> ModelSettings:
    if kind_of(attention) == "transformer":
        mechanism = SELF_ATTENTIONS[attention]
        return TransformerSettings(
            dim=128, num_heads=4, num_encoder_layers=2, num_decoder_layers=2, ff=512, dropout=0.0,
            positions="rotary", tied="output", max_length=128,
            attention=mechanism,
            decoder_attention="same" if mechanism.facts.causal else FullSettings(),
        )  # fmt: skip
    return RnnSettings(
        embedding=256, dim=256, attention_dim=128, dropout=0.1, max_length=128,
        attention=cast(Any, attention),
    )  # fmt: skip


def settings(attention: str, language: Language, budget: Budget, seed: int = 0) -> Run:
    """A small model, words as tokens, trained until the language is learned.

    The learning rate falls by updates, so that the result does not depend on the machine's speed;
    a machine too slow for them lets it fall by the minutes.
    """
    kind, model = kind_of(attention), _model(attention)
    return Run(
        languages=f"en-{language}",
        model=model,
        text=TextSettings(unit="word", shared=False, vocab_size=4000),
        training=TrainingSettings(
            minutes=budget.minutes,
            target_exact_match=TARGET,
            batch_tokens=1400 if kind == "transformer" else 3000,
            learning_rate=2.5e-3,
            schedule="linear",
            schedule_steps=budget.updates,
            restart_rate=0.3,
            warmup=0.05,
            label_smoothing=0.05,
            ema_decay=0.99,
            validate_every=150 if budget.updates else 1_000_000,
            validate_sentences=0,
            checkpoint_minutes=60.0,
            keep=1,
            tensorboard=False,
            seed=seed,
        ),
        decoding=SearchOptions(beam=1),
    )


def prepared(taught: Lesson, run: Run, easy: int = 0) -> TrainData:
    """Tokenisers learned and sentences encoded, with so many updates on easy ones at first."""
    tokenizers = Tokenizers(
        _tokenizer([pair.source for pair in taught.train], run, run.source_language),
        _tokenizer([pair.target for pair in taught.train], run, run.target_language),
    )
    read, written = ChunkEncoder(tokenizers.source), ChunkEncoder(tokenizers.target)
    examples = EasyFirst(
        [read.encode(pair.source) for pair in taught.train],
        [written.encode(pair.target) for pair in taught.train],
        run.training.batch_tokens,
        run.training.seed,
        easy_places(taught.train, run.training.seed),
        easy,
    )
    dev = [Pair(pair.source, pair.target) for pair in taught.dev]
    task = find_task(run.model.kind)
    assert isinstance(task, TextTask)
    return task.data(examples, dev, tokenizers, run)


def _tokenizer(lines: Sequence[str], run: Run, language: str) -> Tokenizer:
    """The grammar has few words: its chunks are learned from once each, not at every occurrence."""
    chunks = sorted({chunk for line in lines for chunk in line.split(" ")})
    return train_tokenizer(chunks, run.text, language, run.training.seed)


class ChunkEncoder:
    """Encodes text by its chunks between spaces, each only once: ten times as fast as by lines."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """The ids that the tokenizer gives to the text (of one space between chunks)."""
        ids: list[int] = []
        for chunk in text.split(" "):
            if chunk not in self._ids:
                self._ids[chunk] = self._tokenizer.encode(chunk)
            ids += self._ids[chunk]
        return ids


def language_of(languages: str) -> Language:
    """fr or zh, of en-fr or en-zh."""
    return cast(Language, languages.partition("-")[2])
