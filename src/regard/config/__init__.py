"""Every setting, as frozen dataclasses: what a field's docstring says is the flag's help.

Nothing here imports torch.
"""

from regard.config.alignment import AlignmentSettings
from regard.config.classifier import ClassifierSettings
from regard.config.cleaning import CleaningSettings
from regard.config.decoding import SearchOptions
from regard.config.model import (
    MODELS,
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    ModelSettings,
    RnnSettings,
    TransformerSettings,
)
from regard.config.run import FORMAT_VERSION, Run
from regard.config.text import TextSettings
from regard.config.training import TrainingSettings
from regard.tasks.handwriting.settings import HandwritingSettings

__all__ = [
    "FORMAT_VERSION",
    "MODELS",
    "AlignmentSettings",
    "ClassifierSettings",
    "CleaningSettings",
    "HandwritingSettings",
    "LanguageModelSettings",
    "MaskedLanguageModelSettings",
    "ModelSettings",
    "RnnSettings",
    "Run",
    "SearchOptions",
    "TextSettings",
    "TrainingSettings",
    "TransformerSettings",
]
