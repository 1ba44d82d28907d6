"""How a model is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.config.check import at_least, fraction
from regard.errors import InputError


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained, until its minutes, steps or epochs are over."""

    SECTION: ClassVar[str] = "training"

    minutes: float | None = None
    """Wall-clock budget, which also ends the schedule."""
    steps: int | None = None
    """Most updates."""
    epochs: float | None = None
    """Most passes over the corpus."""
    batch_tokens: int = 4096
    """Padded tokens of a batch, source and target together."""
    accumulate: int = 1
    """Batches whose gradients are summed for one update."""
    optimizer: Literal["adam", "adamw"] = "adamw"
    """Adam, or Adam with decoupled weight decay."""
    learning_rate: float = 1e-3
    """The highest learning rate, reached at the end of the warm-up."""
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = "cosine"
    """After the warm-up: by 1/sqrt(step), a half cosine to zero, linearly to zero, or constant."""
    schedule_steps: int | None = None
    """Updates after which the rate has fallen to zero; by default, at the end of the run."""
    restart_rate: float = 0.0
    """After schedule_steps, the share of the highest rate from which it falls to zero again."""
    warmup: float = 0.05
    """Warm-up in updates; below 1, as a share of the whole run."""
    beta1: float = 0.9
    """Adam's decay of the mean gradient."""
    beta2: float = 0.98
    """Adam's decay of the mean squared gradient."""
    weight_decay: float = 0.0
    """Weight decay (adamw: decoupled)."""
    clip: float = 1.0
    """Largest norm of the gradient; 0: no clipping."""
    label_smoothing: float = 0.1
    """Share of the target spread over the whole vocabulary."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Number format of matrix products; auto: bf16 where it is faster."""
    average: Literal["ema", "checkpoints", "none"] = "ema"
    """What is kept: a running mean of the weights, the last checkpoints' mean, or the last."""
    ema_decay: float = 0.999
    """Decay of the running mean (shorter at the beginning)."""
    average_last: int = 5
    """How many checkpoints are averaged."""
    validate_every: int = 0
    """Updates between validations; 0: about ten validations in the run."""
    validate_sentences: int = 300
    """Development sentences that are translated for BLEU and chrF each time; 0 for none."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints; one is also written at every validation."""
    keep: int = 2
    """Checkpoints kept (at least average_last where those are averaged)."""
    target_exact_match: float | None = None
    """Training stops once this share of the development sentences is translated exactly."""
    patience: int = 0
    """Validations without improvement after which training stops; 0: never."""
    seed: int = 0
    """Seed of the initial weights, dropout and the order of the data."""
    vectors: str | None = None
    """File of word vectors that the embeddings of both sides are initialized with."""
    vectors_source: str | None = None
    """File of word vectors for the source side, instead of vectors."""
    vectors_target: str | None = None
    """File of word vectors for the target side, instead of vectors."""
    threads: int = 0
    """Processor cores that share each batch; 0: all."""
    tensorboard: bool = True
    """Whether figures are also written for TensorBoard, where it is installed."""
    device: str = "auto"
    """Device: auto, cpu, cuda or mps."""

    def __post_init__(self) -> None:
        at_least(
            self, 1, "steps", "batch_tokens", "accumulate", "average_last", "keep", "schedule_steps"
        )
        at_least(
            self, 0, "epochs", "warmup", "weight_decay", "clip", "validate_every",
            "validate_sentences", "patience", "threads", "learning_rate", "checkpoint_minutes",
            "target_exact_match",
        )  # fmt: skip
        fraction(self, "beta1", "beta2", "label_smoothing", "ema_decay", "restart_rate")
        if self.minutes is not None and self.minutes <= 0:
            raise InputError(f"training.minutes must be above 0, got {self.minutes:g}.")
        if self.minutes is None and self.steps is None and self.epochs is None:
            raise InputError(
                "training has no end: set --minutes, --training.steps or --training.epochs."
            )
