"""Which self-attention a model has (`--model.attention`), and what can be set of each."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Literal

from regard.config.check import at_least
from regard.errors import InputError

Attention = Literal[
    "full", "local", "sparse", "blockwise", "linformer", "reformer", "linear", "performer",
    "adaptive-span", "ring",
]  # fmt: skip
DecoderAttention = Literal[
    "same", "full", "local", "sparse", "blockwise", "reformer", "linear", "performer",
    "adaptive-span", "ring",
]  # fmt: skip

# what the mechanisms declare (`regard.attention.mechanisms`), where torch may not be imported
NOT_CAUSAL = frozenset({"linformer"})
UNBIASED = frozenset({"sparse", "linformer", "reformer", "linear", "performer", "ring"})
WITHOUT_DROPOUT = frozenset({"reformer", "linear", "performer", "ring"})
SETTINGS: dict[str, tuple[str, ...]] = {
    "local": ("window", "global_tokens", "dilation"),
    "sparse": ("pattern", "stride", "summary"),
    "linformer": ("projected",),
    "reformer": ("chunk", "buckets", "rounds"),
    "performer": ("features",),
    "adaptive-span": ("span", "ramp", "span_penalty"),
}
"""What can be set of each mechanism."""
LENGTHS = frozenset({"window", "global_tokens", "stride", "projected", "chunk", "span"})


@dataclass(frozen=True)
class Attending:
    """Settings of self-attention, shared by the models that have it."""

    attention: Attention = "full"
    """Self-attention: full; exact in less memory (blockwise) or over several processes (ring); over
    fewer keys (local, sparse, reformer, adaptive-span); or another kernel (linear, performer,
    linformer)."""
    normalizer: Literal["softmax", "sparsemax", "entmax15", "sigmoid"] = "softmax"
    """What makes weights of scores; others than softmax with full attention only."""
    window: int = 64
    """local: words seen on each side."""
    global_tokens: int = 0
    """local: first words that see, and are seen by, all."""
    dilation: int = 1
    """local: the gap between the words seen; 2 sees every second one, twice as far away."""
    pattern: Literal["strided", "fixed"] = "strided"
    """sparse: every stride-th word, or the last words of every block of a stride."""
    stride: int = 0
    """sparse: the stride; 0 is the root of max_length."""
    summary: int = 1
    """sparse, fixed: words of each block that all others look at."""
    projected: int = 64
    """linformer: keys that a sentence is reduced to."""
    chunk: int = 16
    """reformer: words that are compared with each other."""
    buckets: int = 8
    """reformer: kinds that words are sorted into, an even number."""
    rounds: int = 4
    """reformer: how often words are sorted anew."""
    features: int = 0
    """performer: random features; 0 is four times the width of a head."""
    span: int = 128
    """adaptive-span: the farthest that a head can learn to look."""
    ramp: int = 16
    """adaptive-span: words over which a head's sight fades."""
    span_penalty: float = 0.0
    """adaptive-span: what a word of span costs in the loss."""


def check_attention(model: Any, *, causal: bool, name: str = "attention") -> None:
    """Refuse, before anything is built, what the chosen self-attention cannot do."""
    chosen, place = getattr(model, name), f"model.{name}"
    at_least(
        model, 1, "window", "summary", "projected", "chunk", "rounds", "span", "ramp", "dilation"
    )
    at_least(model, 0, "global_tokens", "stride", "features", "span_penalty")
    if causal and chosen in NOT_CAUSAL:
        instead = "give --model.decoder_attention full" if name == "attention" else "choose another"
        instead = instead if hasattr(model, "decoder_attention") else "choose another"
        raise InputError(
            f"{place} {chosen} mixes all words of a sentence, so it cannot be causal; {instead}."
        )
    if chosen in UNBIASED and model.positions in ("alibi", "relative"):
        raise InputError(
            f"{place} {chosen} cannot take {model.positions} positions, which bias scores; "
            "choose rotary, sinusoidal or learned ones."
        )
    if chosen in WITHOUT_DROPOUT and model.attention_dropout:
        raise InputError(
            f"{place} {chosen} has no weights to drop; set model.attention_dropout to 0."
        )
    if model.normalizer != "softmax" and chosen != "full":
        raise InputError(
            f"{place} {chosen} is made for softmax; set model.normalizer to softmax, or "
            f"{place} to full."
        )
    _check_sizes(model, chosen)


def stride_of(model: Attending) -> int:
    """The stride of sparse attention: as set, or the root of the longest sentence."""
    return model.stride or max(1, math.isqrt(model.max_length))  # type: ignore[attr-defined]  # each has its own


def unused_settings(model: Any) -> set[str]:
    """The settings of mechanisms that this model does not have."""
    if not isinstance(model, Attending):
        return set()
    chosen = {getattr(model, "attention", ""), getattr(model, "decoder_attention", "")}
    every = {name for names in SETTINGS.values() for name in names}
    return every - {name for one in chosen for name in SETTINGS.get(one, ())}


def _check_sizes(model: Any, chosen: str) -> None:
    """No part of a mechanism is larger than the longest sentence."""
    for name in set(SETTINGS.get(chosen, ())) & LENGTHS:
        if getattr(model, name) > model.max_length > 0:
            raise InputError(
                f"model.{name} is {getattr(model, name)}, wider than the longest sentence "
                f"(model.max_length {model.max_length}); make it smaller, or choose full attention."
            )
    if chosen == "local" and model.window * model.dilation > model.max_length:
        raise InputError(
            f"model.window {model.window} with model.dilation {model.dilation} reaches "
            f"{model.window * model.dilation} words, farther than the longest sentence "
            f"(model.max_length {model.max_length}); make window or dilation smaller."
        )
    if chosen == "local" and model.global_tokens and model.positions in ("alibi", "relative"):
        raise InputError(
            f"model.global_tokens cannot be had with {model.positions} positions; "
            "set them to 0, or choose rotary ones."
        )
    if chosen == "reformer" and (model.buckets < 2 or model.buckets % 2):
        raise InputError(f"model.buckets must be an even number, got {model.buckets}.")
    stride = stride_of(model)
    if chosen == "sparse" and model.pattern == "fixed" and stride < model.summary:
        raise InputError(
            f"model.summary must be at most the stride, {stride}, got {model.summary}."
        )


def check_ranks(model: Any) -> None:
    """Ring attention, and it alone, is trained over several processes."""
    names = {getattr(model, "attention", ""), getattr(model, "decoder_attention", "")}
    number = int(os.environ.get("WORLD_SIZE", "1"))
    several = number > 1
    if "ring" in names and not several:
        raise InputError(
            "model.attention ring splits sentences over several processes, but there is only one; "
            "start it with `torchrun --nproc-per-node 2 -m regard train …`."
        )
    if several and (names - {"", "same", "ring"} or "ring" not in names):
        raise InputError(
            "several processes share a run by splitting its sentences, which needs "
            "--model.attention ring (and no other for the decoder)."
        )
    if several and model.positions == "learned" and model.max_length % number:
        raise InputError(
            f"model.max_length must be a multiple of {number}, the processes that share a "
            f"sentence with learned positions, got {model.max_length}."
        )
