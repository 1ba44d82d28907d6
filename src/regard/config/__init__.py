"""Every setting, as frozen dataclasses: a field's docstring is the flag's help.

Nothing here imports torch.
"""

from regard.config.alignment import AlignmentSettings
from regard.config.classifier import ClassifierSettings
from regard.config.decoding import SearchOptions
from regard.config.kind import Command, Kind, ModelSettings
from regard.config.model import (
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    RnnSettings,
    TransformerSettings,
)
from regard.config.run import FORMAT_VERSION, Run
from regard.config.text import CleaningSettings, TextSettings
from regard.config.training import TrainingSettings

__all__ = [
    "FORMAT_VERSION",
    "AlignmentSettings",
    "ClassifierSettings",
    "CleaningSettings",
    "Command",
    "Kind",
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
