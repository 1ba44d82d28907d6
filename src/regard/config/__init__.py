"""Every setting, as frozen dataclasses: a field's docstring is the flag's help.

Nothing here imports torch.
"""

from regard.config.kind import Command, Kind, ModelSettings
from regard.config.model import (
    ClassifierSettings,
    LanguageModelSettings,
    MaskedLanguageModelSettings,
    RnnSettings,
    TransformerSettings,
)
from regard.config.run import (
    FORMAT_VERSION,
    AlignmentSettings,
    CleaningSettings,
    Run,
    TextSettings,
    TrainingSettings,
)
from regard.config.search import SearchOptions

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
