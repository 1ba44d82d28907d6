"""What the demonstration learns from, with which settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from regard.config import Decoding, Model, Rnn, Run, Text, Training, Transformer
from regard.corpus.grammar import GrammarPair, sample, seed_sentences
from regard.corpus.pairs import CleaningReport, Pair
from regard.training.prepare import Prepared, Texts, prepare

Kind = Literal["transformer", "rnn"]
Language = Literal["fr", "zh"]


@dataclass(frozen=True)
class Budget:
    """How much is learned from, for how long, and how much is tested."""

    sentences: int
    minutes: float
    test: int


BUDGETS: dict[tuple[Kind, bool], Budget] = {
    ("transformer", False): Budget(50_000, 2.4, 500),
    ("rnn", False): Budget(50_000, 4.0, 500),
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
    return Lesson(
        sample("train", budget.sentences, language=language, seed=seed),
        sample("dev", budget.test, language=language, seed=seed),
        sample("test", budget.test, language=language, seed=seed),
        seed_sentences(language),
    )


SELF_ATTENTIONS: dict[str, dict[str, Any]] = {
    "full": {},
    "local": {"window": 4},
    "sparse": {"stride": 4},
    "blockwise": {},
    "linformer": {"projected": 8, "decoder_attention": "full"},
    "reformer": {"chunk": 8, "buckets": 4, "rounds": 4},
    "linear": {},
    "performer": {"features": 128},
    "adaptive-span": {"span": 32, "ramp": 8, "span_penalty": 1e-3},
}
"""Settings by which a mechanism has something to leave out in sentences of a dozen words."""
SOURCE_ATTENTIONS = ("bahdanau", "none", "luong", "location", "coverage", "graves", "monotonic")
"""How the recurrent network looks at the source."""


def kind_of(attention: str) -> Kind:
    """The model that has this attention."""
    return "transformer" if attention in SELF_ATTENTIONS else "rnn"


def _model(attention: str) -> Model:
    if kind_of(attention) == "transformer":
        return Transformer(
            dim=128, heads=4, encoder_layers=2, decoder_layers=2, ff=512, dropout=0.0,
            positions="rotary", tied="output", max_length=128,
            **{"attention": attention, **SELF_ATTENTIONS[attention]},
        )  # fmt: skip
    return Rnn(
        embedding=256, dim=256, attention_dim=128, dropout=0.1, max_length=128,
        attention=cast(Any, attention),
    )  # fmt: skip


def settings(attention: str, language: Language, minutes: float, seed: int = 0) -> Run:
    """A small model, words as tokens, and a time budget."""
    kind, model = kind_of(attention), _model(attention)
    return Run(
        languages=f"en-{language}",
        model=model,
        text=Text(unit="word", shared=False, vocab_size=4000),
        training=Training(
            minutes=minutes,
            batch_tokens=1400 if kind == "transformer" else 3000,
            learning_rate=2e-3,
            schedule="linear",
            warmup=0.05,
            label_smoothing=0.0,
            ema_decay=0.99,
            validate_every=1_000_000,  # one look, at the end
            validate_sentences=0,
            checkpoint_minutes=60.0,
            keep=1,
            tensorboard=False,
            seed=seed,
        ),
        decoding=Decoding(beam=1),
    )


def texts(taught: Lesson) -> Texts:
    """The lesson as plain pairs, as any other corpus."""

    def plain(pairs: Sequence[GrammarPair]) -> list[Pair]:
        return [Pair(pair.source, pair.target) for pair in pairs]

    report = CleaningReport(read=len(taught.train), kept=len(taught.train))
    return Texts(plain(taught.train), plain(taught.dev), report)


def prepared(taught: Lesson, run: Run) -> Prepared:
    """Tokenisers learned and sentences encoded."""
    return prepare(texts(taught), run)


def language_of(languages: str) -> Language:
    """fr or zh, of en-fr or en-zh."""
    return cast(Language, languages.partition("-")[2])
