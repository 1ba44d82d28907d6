"""A run: everything that is needed to rebuild a model, as in `config.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from regard.config.guides import Guide, guides_of
from regard.config.kind import ModelSettings
from regard.config.model import TransformerSettings
from regard.config.schema import (
    Fraction,
    Needs,
    NonNegativeFloat,
    NonNegativeInt,
    Options,
    PositiveInt,
    Range,
    Seed,
)
from regard.config.search import SearchOptions
from regard.errors import InputError


@dataclass(frozen=True)
class TextSettings(Options):
    """How text is tokenized."""

    SECTION: ClassVar[str] = "text"

    unit: Literal["bpe", "unigram", "word", "char"] = "bpe"
    """What a token is: a SentencePiece piece (byte-pair or unigram), a word or a character."""
    vocab_size: Annotated[int, Range(6)] = 8000
    """How many tokens there are at the most, for each tokenizer."""
    shared: bool = True
    """One tokenizer for both languages, or one for each."""
    min_count: PositiveInt = 1
    """How often a word or character must occur to be a token of its own (word and char)."""
    subword_dropout: Annotated[Fraction, Needs("unit", "bpe", "leaves out merges of BPE")] = 0.0
    """Share of BPE's merges that are left out at random in training sentences (BPE-dropout)."""


@dataclass(frozen=True)
class CleaningSettings(Options):
    """Which sentences are dropped. Lengths are in words; in scripts without spaces, characters."""

    SECTION: ClassVar[str] = "cleaning"

    max_length: PositiveInt = 250
    """The longest side that is kept, in words."""
    max_word_length: NonNegativeInt = 200
    """The longest word that is kept, in characters between spaces; 0 keeps all."""
    truncate: bool = False
    """Whether sentences of more than model.max_length tokens are cut; else they are dropped."""
    max_ratio: NonNegativeFloat = 3.0
    """The largest ratio of the sides' lengths that is kept; 0 keeps all."""
    ratio_slack: NonNegativeInt = 5
    """Words added to both sides before the ratio is taken, so that short pairs may differ."""
    drop_duplicates: bool = True
    """Whether of equal pairs only the first is kept."""
    drop_identical: bool = False
    """Whether a pair whose target equals its source is dropped."""


@dataclass(frozen=True)
class TrainingSettings(Options):
    """How a model is trained, until its minutes, steps or epochs are over."""

    SECTION: ClassVar[str] = "training"

    minutes: Annotated[float, Range(above=0)] | None = None
    """Wall-clock budget, which also ends the schedule."""
    steps: PositiveInt | None = None
    """Most updates."""
    epochs: NonNegativeFloat | None = None
    """Most passes over the corpus."""
    batch_tokens: PositiveInt = 4096
    """Padded tokens of a batch, source and target together."""
    accumulate: PositiveInt = 1
    """Batches whose gradients are summed for one update."""
    optimizer: Literal["adam", "adamw", "muon"] = "adamw"
    """Adam; Adam with decoupled weight decay; or Muon for matrices and AdamW for the rest."""
    muon_factor: NonNegativeFloat = 2.0
    """Size of Muon's updates, divided by that of Adam's."""
    muon_period: PositiveInt = 4
    """Updates in which every matrix is updated once by Muon; 1: all at each."""
    learning_rate: NonNegativeFloat = 1e-3
    """The highest learning rate, reached at the end of the warm-up."""
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = "cosine"
    """After the warm-up: by 1/sqrt(step), a half cosine to zero, linearly to zero, or constant."""
    schedule_steps: PositiveInt | None = None
    """Updates after which the rate has fallen to zero; by default, at the end of the run."""
    restart_rate: Fraction = 0.0
    """After schedule_steps, the share of the highest rate from which it falls to zero again."""
    warmup: NonNegativeFloat = 0.05
    """Warm-up in updates; below 1, as a share of the whole run."""
    beta1: Fraction = 0.9
    """Adam's decay of the mean gradient."""
    beta2: Fraction = 0.98
    """Adam's decay of the mean squared gradient."""
    weight_decay: NonNegativeFloat = 0.0
    """Weight decay (adamw: decoupled)."""
    clip: NonNegativeFloat = 1.0
    """Largest norm of the gradient; 0: no clipping."""
    label_smoothing: Fraction = 0.1
    """Share of the target spread over the whole vocabulary."""
    r_drop: NonNegativeFloat = 0.0
    """Weight of the distance between two passes with different dropout (R-Drop); 0: one pass."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Number format of matrix products; auto: bf16 where it is faster."""
    average: Literal["ema", "checkpoints", "none"] = "ema"
    """What is kept: a running mean of the weights, the last checkpoints' mean, or the last."""
    ema_decay: Fraction = 0.999
    """Decay of the running mean (shorter at the beginning)."""
    average_last: PositiveInt = 5
    """How many checkpoints are averaged."""
    validate_every: NonNegativeInt = 0
    """Updates between validations; 0: about ten validations in the run."""
    validate_sentences: NonNegativeInt = 300
    """Development sentences that are translated for BLEU and chrF each time; 0 for none."""
    checkpoint_minutes: NonNegativeFloat = 5.0
    """Minutes between checkpoints; one is also written at every validation."""
    keep: PositiveInt = 2
    """Checkpoints kept (at least average_last where those are averaged)."""
    target_exact_match: NonNegativeFloat | None = None
    """Training stops once this share of the development sentences is translated exactly, after
    schedule_steps at the earliest."""
    patience: NonNegativeInt = 0
    """Validations without improvement after which training stops; 0: never."""
    seed: Seed = 0
    """Seed of the initial weights, dropout and the order of the data."""
    start_from: str | None = None
    """Folder of a trained model whose weights and vocabulary the run begins with (--from)."""
    vectors: str | None = None
    """File of word vectors that the embeddings of both sides are initialized with."""
    vectors_source: str | None = None
    """File of word vectors for the source side, instead of vectors."""
    vectors_target: str | None = None
    """File of word vectors for the target side, instead of vectors."""
    guided_alignment: str | None = None
    """Word links that a head of cross-attention learns, so that it aligns: a file (Pharaoh, a line
    for each pair), grammar (the file that `regard corpus write` put beside the corpus), auto (made
    by a statistical aligner), or the folder of a model that aligns."""
    guided_layer: NonNegativeInt | None = None
    """Layer of the decoder whose head 0 learns guided_alignment, from 0; without it, the last but
    one, and of two layers the last."""
    guide: str | None = None
    """Links that other heads learn, as ATTENTION:LAYER:HEAD=LINKS with encoder, decoder or cross,
    counted from 0; several with commas between. LINKS are a file, or, beside a corpus of
    `regard corpus write`, antecedents (of pronouns) or modifiers (of nouns)."""
    guide_weight: NonNegativeFloat = 0.1
    """Weight of the guided heads' loss, beside that of the labels."""
    threads: NonNegativeInt = 0
    """Processor cores that share each batch; 0: all."""
    shard: Literal["none", "fsdp"] = "none"
    """What each of several processes (torchrun) holds: the whole model, or a part of every weight,
    gradient and moment (fsdp), for models that do not fit into the memory of one."""
    tensorboard: bool = True
    """Whether figures are also written for TensorBoard, where it is installed."""
    device: str = "auto"
    """Device: auto, cpu, cuda or mps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.minutes is None and self.steps is None and self.epochs is None:
            raise InputError(
                "training has no end: set --minutes, --training.steps or --training.epochs."
            )


@dataclass(frozen=True)
class AlignmentSettings:
    """The cross-attention that is read as alignment, chosen at the end of training."""

    layer: int = 0
    """Layer of the decoder."""
    head: int | None = None
    """Head; none is the mean of the layer's heads."""
    shift: bool = False
    """Whether a word's row is the step that reads it, instead of the one that writes it."""
    mutual: bool = False
    """Whether a link must be the best one seen from both of its words."""


FORMAT_VERSION = 2


@dataclass(frozen=True)
class Run:
    """All settings of a run."""

    languages: str = ""
    """Source and target language, as in en-fr (for one language, as in en); several pairs with
    commas between, as in en-fr,en-de."""
    model: ModelSettings = field(default_factory=TransformerSettings)
    """The model."""
    text: TextSettings = field(default_factory=TextSettings)
    """How text is tokenized."""
    cleaning: CleaningSettings = field(default_factory=CleaningSettings)
    """How the corpus is cleaned."""
    training: TrainingSettings = field(default_factory=lambda: TrainingSettings(epochs=20))
    """How the model is trained."""
    decoding: SearchOptions = field(default_factory=SearchOptions)
    """How translations are searched for."""
    alignment: AlignmentSettings | None = None
    """Which attention is read as the word alignment; chosen at the end of training."""

    def __post_init__(self) -> None:
        code = r"[A-Za-z]{2,8}(_\w+)?"
        pairs = rf"{code}(-{code})?|{code}-{code}(,{code}-{code})+"
        if self.languages and not re.fullmatch(pairs, self.languages):
            raise InputError(
                "languages must be two codes as in en-fr, or several such pairs with commas "
                f"between, got {self.languages!r}."
            )
        if guides_of(self.model, self.training) and self.text.subword_dropout:
            raise InputError(
                "text.subword_dropout does not go with training.guided_alignment and "
                "training.guide, whose links are between the tokens of one segmentation; leave "
                "one of them out."
            )

    @property
    def guides(self) -> tuple[Guide, ...]:
        """The heads that learn links, that of guided_alignment first."""
        return guides_of(self.model, self.training)

    @property
    def directions(self) -> list[tuple[str, str]]:
        """All pairs of source and target language; none if they are not known."""
        pairs = [pair.partition("-") for pair in self.languages.split(",") if pair]
        return [(source, target or source) for source, _, target in pairs]

    @property
    def target_languages(self) -> list[str]:
        """All target languages; a model of several is told by a tag which one to write."""
        return list(dict.fromkeys(target for _, target in self.directions))

    @property
    def source_language(self) -> str:
        """The source language, of several pairs the first one's; empty if not known."""
        return self.directions[0][0] if self.languages else ""

    @property
    def target_language(self) -> str:
        """The target language, of several pairs the first one's; empty if not known."""
        return self.directions[0][1] if self.languages else ""
