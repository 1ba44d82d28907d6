"""From settings to a network."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from regard.config.kind import ModelSettings
from regard.config.mechanisms import MechanismSettings
from regard.errors import InputError

Build = Callable[[Any, int, int], nn.Module]
"""Of a kind's settings, and the sizes of the source and target vocabularies: its network."""

ORDINARY, MAX_LAYERS = 4096, 1000


def build_network(
    build: Build, settings: ModelSettings, source_vocab: int, target_vocab: int
) -> nn.Module:
    """Return the network that `settings` describe, with random weights of torch's generator.

    One that does not fit into this computer's memory is an error before any memory is taken.
    """
    numbers = _sizes(settings)
    for name, number in numbers.items():
        if name.endswith("layers") and number > MAX_LAYERS:
            raise InputError(f"model.{name} must be at most {MAX_LAYERS}, got {number}.")
    largest = max(numbers, key=lambda name: numbers[name])
    if numbers[largest] > ORDINARY:
        needed = _bytes_needed(build, settings, source_vocab, target_vocab)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > memory:
            raise InputError(
                f"the model takes {needed / 1e9:,.0f} GB, but there are {memory / 1e9:,.0f} GB of "
                f"memory; make it smaller (its largest setting is "
                f"model.{largest}={numbers[largest]})."
            )
    return build(settings, source_vocab, target_vocab)


def _sizes(settings: Any) -> dict[str, int]:
    """Return the whole numbers among the settings, those of mechanisms included."""
    sizes: dict[str, int] = {}
    for name, value in vars(settings).items():
        if isinstance(value, MechanismSettings):
            sizes |= {f"{name}.{option}": size for option, size in _sizes(value).items()}
        elif type(value) is int:
            sizes[name] = value
    return sizes


def _bytes_needed(build: Build, settings: Any, source_vocab: int, target_vocab: int) -> int:
    """Return the size of the weights; no memory is taken to find out."""
    try:
        with torch.device("meta"):
            network = build(settings, source_vocab, target_vocab)
        tensors = [*network.parameters(), *network.buffers()]
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    except (RuntimeError, OverflowError, MemoryError, TypeError):  # beyond what torch can count
        return 1 << 62
