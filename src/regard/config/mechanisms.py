"""The mechanisms of self-attention: what each is, can be combined with, and can be set of it.

This is the one place for these facts: `regard.attention.mechanisms` reads them for its classes,
the models' settings for their checks. Nothing here imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from regard.config.schema import NonNegativeFloat, NonNegativeInt, Options, PositiveInt, options_of
from regard.errors import InputError


@dataclass(frozen=True)
class MechanismFacts:
    """What a mechanism is and what it can be combined with.

    answer       "exact": that of full attention; "pattern": the softmax over fewer keys;
                 "approximate": near to full attention, or another kernel's
    masks        of "lengths", "causal" and "any": the masks it takes
    map          what the weights are over: all keys ("keys"), fewer made of them ("projected"),
                 or nothing that could be shown ("none")
    cost         growth of time with the length n, from the paper
    growth       the exponent of that cost, the larger of causal and bidirectional attention
    sums_to_one  whether a query's weights sum to one
    bias         whether scores can be biased (alibi and relative positions)
    dropout      whether weights can be dropped
    cache        whether it can decode step by step
    cross        whether it can attend to another sequence
    normalizers  whether it takes other normalizers than softmax
    """

    answer: Literal["exact", "pattern", "approximate"]
    masks: frozenset[str]
    map: Literal["keys", "projected", "none"]
    cost: str
    growth: float
    sums_to_one: bool = True
    bias: bool = False
    dropout: bool = False
    cache: bool = True
    cross: bool = False
    normalizers: bool = False

    @property
    def causal(self) -> bool:
        """Whether it can be causal."""
        return bool(self.masks & {"causal", "any"})


LENGTHS_AND_CAUSAL = frozenset({"lengths", "causal"})
ANY_MASK = LENGTHS_AND_CAUSAL | {"any"}


@dataclass(frozen=True)
class MechanismSettings(Options):
    """Base of the settings of a mechanism."""

    SECTION: ClassVar[str] = "model.attention"
    name: ClassVar[str]
    facts: ClassVar[MechanismFacts]
    lengths: ClassVar[tuple[str, ...]] = ()
    """Settings that are lengths, at most the longest sentence."""

    def check(self, model: Any, flag: str) -> None:
        """Check the settings against those of a model whose `flag` they are."""
        for name in self.lengths:
            if getattr(self, name) > model.max_length > 0:
                raise InputError(
                    f"{flag}.{name} must be at most the longest sentence, model.max_length "
                    f"{model.max_length}, got {getattr(self, name)}."
                )


@dataclass(frozen=True)
class FullSettings(MechanismSettings):
    """All keys."""

    name = "full"
    facts = MechanismFacts(
        "exact", ANY_MASK, "keys", "n²", 2.0, bias=True, dropout=True, cross=True, normalizers=True
    )


@dataclass(frozen=True)
class BlockwiseSettings(MechanismSettings):
    """All keys, tile by tile: memory grows with the length, not its square."""

    name = "blockwise"
    facts = MechanismFacts(
        "exact", ANY_MASK, "keys", "n²", 2.0, bias=True, dropout=True, cross=True
    )


@dataclass(frozen=True)
class RingSettings(MechanismSettings):
    """All keys, each sentence split over several processes."""

    name = "ring"
    facts = MechanismFacts("exact", LENGTHS_AND_CAUSAL, "none", "n² / ranks", 2.0)


@dataclass(frozen=True)
class LocalSettings(MechanismSettings):
    """A sliding window of keys."""

    name = "local"
    facts = MechanismFacts(
        "pattern", LENGTHS_AND_CAUSAL, "keys", "n·window", 1.0, bias=True, dropout=True
    )
    lengths = ("window", "global_tokens")

    window: PositiveInt = 64
    """Tokens attended to on each side."""
    global_tokens: NonNegativeInt = 0
    """First tokens that attend to all, and are attended to by all."""
    dilation: PositiveInt = 1
    """Gap between the tokens attended to; 2 takes every second one, twice as far away."""

    def check(self, model: Any, flag: str) -> None:
        super().check(model, flag)
        reach = self.window * self.dilation
        if reach > model.max_length > 0:
            raise InputError(
                f"{flag}.window times dilation must be at most the longest sentence, "
                f"model.max_length {model.max_length}, got {reach}."
            )
        if self.global_tokens and model.positions in ("alibi", "relative"):
            raise InputError(
                f"{flag}.global_tokens must be 0 with {model.positions} positions, "
                f"got {self.global_tokens}; or choose rotary ones."
            )


@dataclass(frozen=True)
class SparseSettings(MechanismSettings):
    """Near keys and a regular choice of far ones."""

    name = "sparse"
    facts = MechanismFacts("pattern", LENGTHS_AND_CAUSAL, "keys", "n·√n", 1.5, dropout=True)
    lengths = ("stride",)

    pattern: Literal["strided", "fixed"] = "strided"
    """Far keys: every stride-th token, or the last tokens of every block of a stride."""
    stride: NonNegativeInt = 0
    """Stride; 0 is the root of max_length."""
    summary: PositiveInt = 1
    """Tokens of each block that all others attend to (fixed)."""

    def check(self, model: Any, flag: str) -> None:
        super().check(model, flag)
        stride = self.stride_of(model.max_length)
        if self.pattern == "fixed" and stride < self.summary:
            raise InputError(
                f"{flag}.summary must be at most the stride, {stride}, got {self.summary}."
            )

    def stride_of(self, max_length: int) -> int:
        """The stride as set, or the root of the longest sentence."""
        return self.stride or max(1, math.isqrt(max_length))


@dataclass(frozen=True)
class LinformerSettings(MechanismSettings):
    """Keys projected to a fixed number of slots (encoders only)."""

    name = "linformer"
    facts = MechanismFacts(
        "approximate", frozenset({"lengths"}), "projected", "n", 1.0, dropout=True, cache=False
    )
    lengths = ("projected",)

    projected: PositiveInt = 64
    """Slots that the keys of a sentence are projected to."""


@dataclass(frozen=True)
class ReformerSettings(MechanismSettings):
    """Keys of the same hash."""

    name = "reformer"
    facts = MechanismFacts("pattern", LENGTHS_AND_CAUSAL, "keys", "n log n", 1.0)
    lengths = ("chunk",)

    chunk: PositiveInt = 16
    """Tokens that are compared with each other."""
    num_buckets: int = 8
    """Hash buckets of each round, an even number."""
    num_rounds: PositiveInt = 4
    """Rounds of hashing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_buckets < 2 or self.num_buckets % 2:
            raise InputError(
                f"{self.SECTION}.num_buckets must be an even number, got {self.num_buckets}."
            )


@dataclass(frozen=True)
class LinearSettings(MechanismSettings):
    """A kernel of features, elu(x) + 1, instead of the softmax."""

    name = "linear"
    facts = MechanismFacts("approximate", LENGTHS_AND_CAUSAL, "keys", "n", 1.0)


@dataclass(frozen=True)
class PerformerSettings(MechanismSettings):
    """Random features that approximate the softmax's kernel."""

    name = "performer"
    facts = LinearSettings.facts

    num_features: NonNegativeInt = 0
    """Random features; 0 is four times the width of a head."""


@dataclass(frozen=True)
class AdaptiveSpanSettings(MechanismSettings):
    """A window whose width every head learns."""

    name = "adaptive-span"
    facts = MechanismFacts(
        "approximate", LENGTHS_AND_CAUSAL, "keys", "n·span", 1.0, bias=True, dropout=True
    )
    lengths = ("max_span",)

    max_span: PositiveInt = 128
    """Largest span that a head can learn."""
    ramp: PositiveInt = 16
    """Tokens over which a head's weights fade to zero."""
    penalty: NonNegativeFloat = 0.0
    """Weight of the mean span in the loss."""


MECHANISM_SETTINGS: dict[str, type[MechanismSettings]] = {
    settings.name: settings
    for settings in (
        FullSettings,
        LocalSettings,
        SparseSettings,
        BlockwiseSettings,
        LinformerSettings,
        ReformerSettings,
        LinearSettings,
        PerformerSettings,
        AdaptiveSpanSettings,
        RingSettings,
    )
}
"""The mechanisms by name."""


def check_attention(
    settings: MechanismSettings, model: Any, *, causal: bool, flag: str = "model.attention"
) -> None:
    """Refuse, before anything is built, what a mechanism cannot do in a model."""
    facts, name = settings.facts, settings.name
    if causal and not facts.causal:
        own = hasattr(model, "decoder_attention") and flag == "model.attention"
        remedy = "give --model.decoder_attention full" if own else "choose another"
        raise InputError(
            f"{flag} {name} mixes all tokens of a sentence, so it cannot be causal; {remedy}."
        )
    if not facts.bias and model.positions in ("alibi", "relative"):
        raise InputError(
            f"{flag} {name} cannot take {model.positions} positions, which bias scores; "
            "choose rotary, sinusoidal or learned ones."
        )
    if not facts.dropout and model.attention_dropout:
        raise InputError(f"{flag} {name} has no weights to drop; set model.attention_dropout to 0.")
    if not facts.normalizers and model.normalizer != "softmax":
        raise InputError(
            f"{flag} {name} needs softmax; set model.normalizer to softmax, or {flag} to full."
        )
    settings.check(model, flag)


Normalizer = Literal["softmax", "sparsemax", "entmax15", "sigmoid"]
FIELDS = ("attention", "decoder_attention")
"""The settings of models that name a mechanism."""


@dataclass(frozen=True)
class SelfAttentionSettings(Options):
    """Settings of self-attention, shared by the models that have it."""

    attention: MechanismSettings = field(default_factory=FullSettings)
    """Self-attention: full; exact in less memory (blockwise) or over several processes (ring); over
    fewer keys (local, sparse, reformer, adaptive-span); or another kernel (linear, performer,
    linformer)."""
    normalizer: Normalizer = "softmax"
    """From scores to weights; others than softmax with full attention only."""

    def __post_init__(self) -> None:
        """Take a mechanism by its name, with its default settings."""
        for name in FIELDS:
            value = getattr(self, name, "same")
            if isinstance(value, str) and value != "same":
                chosen, _ = mechanism_options(value, f"model.{name}")
                object.__setattr__(self, name, MECHANISM_SETTINGS[chosen]())
        super().__post_init__()

    @property
    def mechanisms(self) -> tuple[MechanismSettings, ...]:
        """The mechanisms of all parts of the model."""
        values = (getattr(self, name, "same") for name in FIELDS)
        return tuple(value for value in values if isinstance(value, MechanismSettings))

    @property
    def span_penalty(self) -> float:
        """The weight of the mean span in the loss, of models with adaptive spans."""
        return max(getattr(settings, "penalty", 0.0) for settings in self.mechanisms)

    def mechanism(self, *, causal: bool) -> MechanismSettings:
        """The mechanism of the causal (the decoder's) or bidirectional self-attention."""
        return self.mechanisms[-1] if causal else self.attention


def mechanism_options(value: Any, flag: str) -> tuple[str, dict[str, Any]]:
    """The name and the options of a mechanism as settings files write it.

    >>> mechanism_options({"name": "local", "window": 32}, "model.attention")
    ('local', {'window': 32})
    """
    options = dict(value) if isinstance(value, Mapping) else {"name": value}
    name = options.pop("name", "full")
    if not isinstance(name, str) or name not in MECHANISM_SETTINGS:
        raise InputError(f"{flag} must be {', '.join(MECHANISM_SETTINGS)}, got {name!r}.")
    known = options_of(MECHANISM_SETTINGS[name])
    for option in options:
        if option not in known:
            owners = [n for n, kind in MECHANISM_SETTINGS.items() if option in options_of(kind)]
            remedy = f"; it belongs to {' and '.join(owners)}" if owners else ""
            listed = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"{flag} {name} has no setting {option!r}, {listed}{remedy}.")
    return name, options


def plain_mechanism(settings: MechanismSettings) -> str | dict[str, Any]:
    """A mechanism as settings files write it: its name, or a mapping if there is more to it."""
    options = asdict(settings)
    return {"name": settings.name, **options} if options else settings.name
