"""A run: everything that is needed to rebuild a model, as in `config.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from regard.config.alignment import AlignmentSettings
from regard.config.decoding import SearchOptions
from regard.config.kind import ModelSettings
from regard.config.model import TransformerSettings
from regard.config.text import CleaningSettings, TextSettings
from regard.config.training import TrainingSettings
from regard.errors import InputError

FORMAT_VERSION = 2


@dataclass(frozen=True)
class Run:
    """All settings of a run."""

    languages: str = ""
    """Source and target language, as in en-fr (for one language, as in en)."""
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
        if self.languages and not re.fullmatch(
            r"[A-Za-z]{2,8}(_\w+)?(-[A-Za-z]{2,8}(_\w+)?)?", self.languages
        ):
            raise InputError(f"languages must be two codes as in en-fr, got {self.languages!r}.")

    @property
    def source_language(self) -> str:
        """The source language; empty if not known."""
        return self.languages.partition("-")[0]

    @property
    def target_language(self) -> str:
        """The target language; empty if not known."""
        return self.languages.partition("-")[2] or self.source_language
