"""A whole run: everything that is needed to rebuild a model, as it stands in `config.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from regard.config.alignment import Alignment
from regard.config.cleaning import Cleaning
from regard.config.decoding import Decoding
from regard.config.model import Model, Transformer
from regard.config.text import Text
from regard.config.training import Training
from regard.errors import InputError

FORMAT_VERSION = 2


@dataclass(frozen=True)
class Run:
    """Everything that is set of a run."""

    languages: str = ""
    """Source and target language, as in en-fr (for one language, as in en)."""
    model: Model = field(default_factory=Transformer)
    """The model."""
    text: Text = field(default_factory=Text)
    """How text becomes tokens."""
    cleaning: Cleaning = field(default_factory=Cleaning)
    """What is dropped of the corpus."""
    training: Training = field(default_factory=lambda: Training(epochs=20))
    """How the model is trained."""
    decoding: Decoding = field(default_factory=Decoding)
    """How translations are searched for."""
    alignment: Alignment | None = None
    """Which attention is read as the word alignment; chosen at the end of training."""

    def __post_init__(self) -> None:
        if self.languages and not re.fullmatch(
            r"[A-Za-z]{2,8}(_\w+)?(-[A-Za-z]{2,8}(_\w+)?)?", self.languages
        ):
            raise InputError(
                f"languages must be two codes as in en-fr, but {self.languages!r} came."
            )

    @property
    def source_language(self) -> str:
        """The language that is read; empty if not known."""
        return self.languages.partition("-")[0]

    @property
    def target_language(self) -> str:
        """The language that is written; empty if not known."""
        return self.languages.partition("-")[2] or self.source_language
