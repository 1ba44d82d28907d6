"""The translation façade, under the name that other rooms import it by."""

from __future__ import annotations

from regard.tasks.translation.translation import Sentence, Translation
from regard.tasks.translation.translator import Translator

__all__ = ["Sentence", "Translation", "Translator"]
