"""The self-attention of a model (`--model.attention`), and what it can be combined with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from regard.config.mechanisms import (
    MECHANISM_SETTINGS,
    FullSettings,
    MechanismSettings,
    option_names,
)
from regard.errors import InputError

Normalizer = Literal["softmax", "sparsemax", "entmax15", "sigmoid"]
FIELDS = ("attention", "decoder_attention")
"""The settings of models that name a mechanism."""


@dataclass(frozen=True)
class SelfAttentionSettings:
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
                object.__setattr__(self, name, default_mechanism(value, f"model.{name}"))

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


def default_mechanism(name: str, flag: str) -> MechanismSettings:
    """The default settings of the mechanism of that name."""
    if name not in MECHANISM_SETTINGS:
        raise InputError(f"{flag} must be {', '.join(MECHANISM_SETTINGS)}, got {name!r}.")
    return MECHANISM_SETTINGS[name]()


def mechanism_options(value: Any, flag: str) -> tuple[str, dict[str, Any]]:
    """The name and the options of a mechanism as settings files write it.

    >>> mechanism_options({"name": "local", "window": 32}, "model.attention")
    ('local', {'window': 32})
    """
    options = dict(value) if isinstance(value, Mapping) else {"name": value}
    name = options.pop("name", "full")
    if not isinstance(name, str) or name not in MECHANISM_SETTINGS:
        raise InputError(f"{flag} must be {', '.join(MECHANISM_SETTINGS)}, got {name!r}.")
    known = option_names(MECHANISM_SETTINGS[name])
    for option in options:
        if option not in known:
            owners = [n for n, kind in MECHANISM_SETTINGS.items() if option in option_names(kind)]
            remedy = f"; it belongs to {' and '.join(owners)}" if owners else ""
            listed = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"{flag} {name} has no setting {option!r}, {listed}{remedy}.")
    return name, options


def plain_mechanism(settings: MechanismSettings) -> str | dict[str, Any]:
    """A mechanism as settings files write it: its name, or a mapping if there is more to it."""
    options = asdict(settings)
    return {"name": settings.name, **options} if options else settings.name


def check_ranks(model: Any) -> None:
    """Ring attention, and it alone, is trained over several processes."""
    mechanisms = model.mechanisms if isinstance(model, SelfAttentionSettings) else ()
    ring = [settings.name == "ring" for settings in mechanisms]
    num_ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if any(ring) and num_ranks == 1:
        raise InputError(
            "model.attention ring splits sentences over several processes, got one; "
            "start it with `torchrun --nproc-per-node 2 -m regard train …`."
        )
    if num_ranks > 1 and not (ring and all(ring)):
        raise InputError(
            "several processes share a run by splitting its sentences, which needs "
            "--model.attention ring (and no other for the decoder)."
        )
    if num_ranks > 1 and model.positions == "learned" and model.max_length % num_ranks:
        raise InputError(
            f"model.max_length must be a multiple of {num_ranks}, the processes that share a "
            f"sentence with learned positions, got {model.max_length}."
        )
