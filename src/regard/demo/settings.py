"""Training budget and settings of the demonstration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

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
from regard.config.model import SourceAttention

if TYPE_CHECKING:
    from regard.corpus.grammar import Language

Kind = Literal["transformer", "rnn"]

TARGET = 0.985
"""Training stops when this share of the development sentences is translated exactly."""


ANTECEDENTS = "encoder:1:0=antecedents"
"""The head that learns, with --guided, to attend from `it` to its antecedent."""


@dataclass(frozen=True)
class Budget:
    """Size of the data and length of the training.

    sentences      training pairs, somewhat fewer where short sentences are drawn twice
    minutes        longest training time
    dev, test      sentences of the development set and of the test set
    updates        updates over which the learning rate decays; None: it decays over the minutes
    easy_updates   updates at the start that use easy sentences only
    max_words      longest source sentence
    """

    sentences: int
    minutes: float
    dev: int
    test: int
    updates: int | None = None
    easy_updates: int = 0
    max_words: int = 30


BUDGETS: dict[tuple[Kind, bool], Budget] = {
    ("transformer", False): Budget(50_000, 5.0, 1_000, 500, 1_800, easy_updates=280),
    ("rnn", False): Budget(50_000, 5.0, 1_000, 500, 1_050, easy_updates=160),
    ("transformer", True): Budget(4_000, 0.2, 100, 100),
    ("rnn", True): Budget(4_000, 0.2, 100, 100),
}
"""By kind of model, and whether it is the quick version."""

SELF_ATTENTIONS: dict[str, MechanismSettings] = {
    settings.name: settings
    for settings in (
        FullSettings(),
        LocalSettings(window=4),
        SparseSettings(stride=4),
        BlockwiseSettings(),
        LinformerSettings(projected=8),
        ReformerSettings(chunk=8, num_buckets=4),
        LinearSettings(),
        PerformerSettings(num_features=128),
        AdaptiveSpanSettings(max_span=32, ramp=8, penalty=1e-3),
    )
}
"""Self-attention of the Transformer, with sizes small enough for a dozen tokens."""
SOURCE_ATTENTIONS: tuple[str, ...] = get_args(SourceAttention)
"""Cross-attention of the recurrent network."""
IMAGE_ATTENTIONS = ("cbam", "non-local", "squeeze-excitation")
"""Attention of the convolutional networks that name shapes."""


def choose_budget(kind: Kind, language: Language, *, quick: bool = False) -> Budget:
    """The budget; Chinese needs more updates, and no easy sentences, as 它 has no gender."""
    budget = BUDGETS[kind, quick]
    if language == "zh":
        updates = budget.updates and budget.updates * 4 // 3
        return replace(budget, updates=updates, easy_updates=0)
    return budget


def kind_of(attention: str) -> Kind:
    """The kind of model that has this attention."""
    return "transformer" if attention in SELF_ATTENTIONS else "rnn"


def model_settings(attention: str) -> ModelSettings:
    """A small model with this attention."""
    if kind_of(attention) == "transformer":
        mechanism = SELF_ATTENTIONS[attention]
        return TransformerSettings(
            dim=128,
            num_heads=4,
            num_encoder_layers=2,
            num_decoder_layers=2,
            ff=512,
            dropout=0.0,
            positions="sinusoidal",
            tied="output",
            max_length=128,
            attention=mechanism,
            decoder_attention="same" if mechanism.facts.causal else FullSettings(),
        )
    return RnnSettings(
        embedding=256,
        dim=256,
        attention_dim=128,
        dropout=0.1,
        max_length=128,
        attention=cast(Any, attention),
    )


def run_settings(
    attention: str, language: Language, budget: Budget, seed: int = 0, guided: bool = False
) -> Run:
    """A small model with words as tokens, trained until `TARGET` is reached.

    If `guided`, one head learns the grammar's word alignment, and one the antecedents of `it`.

    The learning rate decays by updates, so that the result does not depend on the machine's speed;
    on a machine too slow for them it decays over the minutes.
    """
    return Run(
        languages=f"en-{language}",
        model=model_settings(attention),
        text=TextSettings(unit="word", shared=False, vocab_size=4000),
        training=TrainingSettings(
            minutes=budget.minutes,
            target_exact_match=TARGET,
            batch_tokens=1200 if kind_of(attention) == "transformer" else 3000,
            optimizer="muon" if kind_of(attention) == "transformer" else "adamw",
            learning_rate=2.5e-3,
            schedule="linear",
            schedule_steps=budget.updates,
            restart_rate=0.3,
            warmup=0.05,
            label_smoothing=0.05,
            weight_decay=0.1,
            ema_decay=0.99,
            validate_every=150 if budget.updates else 1_000_000,
            validate_sentences=0,
            checkpoint_minutes=60.0,
            keep=1,
            tensorboard=False,
            seed=seed,
            guided_alignment="grammar" if guided else None,
            guide=ANTECEDENTS if guided else None,
        ),
        decoding=SearchOptions(beam=1),
    )
