"""Which settings a run over several processes (`torchrun`) can have."""

from __future__ import annotations

import os
from typing import Any

from regard.config.mechanisms import FIELDS, RingSettings
from regard.errors import InputError


def ring_fields(model: Any) -> list[str]:
    """Return the settings of a model that name ring attention."""
    return [name for name in FIELDS if isinstance(getattr(model, name, None), RingSettings)]


def has_ring(model: Any) -> bool:
    """Whether the model has ring attention, for which processes share sentences, not rows."""
    return bool(ring_fields(model))


def check_ranks(model: Any, shard: str = "none") -> None:
    """Check that ring attention has several processes, and that all of the model has it then."""
    num_ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if not has_ring(model):
        return
    if shard != "none":
        raise InputError(
            f"training.shard {shard} cannot be combined with model.attention ring; choose one."
        )
    if num_ranks == 1:
        raise InputError(
            "model.attention ring splits sentences over several processes, got one; "
            "start it with `torchrun --nproc-per-node 2 -m regard train …`."
        )
    if any(settings.name != "ring" for settings in model.mechanisms):
        raise InputError(
            "several processes share sentences only if all self-attention is ring; give "
            "--model.attention ring, and no other for the decoder."
        )
    if model.positions == "learned" and model.max_length % num_ranks:
        raise InputError(
            f"model.max_length must be a multiple of {num_ranks}, the processes that share a "
            f"sentence with learned positions, got {model.max_length}."
        )
