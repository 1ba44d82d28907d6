"""From settings to a model."""

from __future__ import annotations

import os
from typing import Any

import torch

from regard.config import (
    ClassifierSettings,
    HandwritingSettings,
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    ModelSettings,
    RnnSettings,
    TransformerSettings,
)
from regard.config.mechanisms import MechanismSettings
from regard.errors import InputError
from regard.models.classifier import ClassifierModel
from regard.models.handwriting import HandwritingModel
from regard.models.lm import LanguageModel, MaskedLanguageModel
from regard.models.rnn.model import RnnModel
from regard.models.transformer import TransformerModel

Translating = TransformerModel | RnnModel
"""Those that read a source and write a target."""
Network = Translating | LanguageModel | MaskedLanguageModel | ClassifierModel | HandwritingModel


ORDINARY, MOST_LAYERS = 4096, 1000


def build(settings: ModelSettings, source_vocab: int, target_vocab: int) -> Network:
    """The model that `settings` describe, with first weights drawn from torch's generator.

    One that this computer cannot hold is an error before any memory is taken.
    """
    numbers = _sizes(settings)
    for name, number in numbers.items():
        if name.endswith("layers") and number > MOST_LAYERS:
            raise InputError(f"model.{name} must be at most {MOST_LAYERS}, got {number}.")
    largest = max(numbers, key=lambda name: numbers[name])
    if numbers[largest] > ORDINARY:
        _check_memory(settings, source_vocab, target_vocab, f"model.{largest}={numbers[largest]}")
    return _built(settings, source_vocab, target_vocab)


def _sizes(settings: Any) -> dict[str, int]:
    """The whole numbers among the settings, those of mechanisms included."""
    sizes: dict[str, int] = {}
    for name, value in vars(settings).items():
        if isinstance(value, MechanismSettings):
            sizes |= {f"{name}.{option}": size for option, size in _sizes(value).items()}
        elif type(value) is int:
            sizes[name] = value
    return sizes


def _check_memory(
    settings: ModelSettings, source_vocab: int, target_vocab: int, largest: str
) -> None:
    """An error if the weights are more than the memory; no memory is taken to find out."""
    try:
        with torch.device("meta"):
            network = _built(settings, source_vocab, target_vocab)
        tensors = [*network.parameters(), *network.buffers()]
        needed = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    except (RuntimeError, OverflowError, MemoryError, TypeError):  # beyond what torch can count
        needed = 1 << 62
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise InputError(
            f"the model takes {needed / 1e9:,.0f} GB, but there are {memory / 1e9:,.0f} GB "
            f"of memory; make it smaller (its largest setting is {largest})."
        )


def _built(settings: ModelSettings, source_vocab: int, target_vocab: int) -> Network:
    match settings:
        case TransformerSettings():
            return TransformerModel(settings, source_vocab, target_vocab)
        case RnnSettings():
            return RnnModel(settings, source_vocab, target_vocab)
        case ClassifierSettings():
            return ClassifierModel(settings, source_vocab)
        case HandwritingSettings():
            return HandwritingModel(settings, source_vocab)
        case MaskedLanguageModelSettings():
            return MaskedLanguageModel(settings, target_vocab)
        case LanguageModelSettings():
            return LanguageModel(settings, target_vocab)
