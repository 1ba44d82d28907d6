"""Validation of translation models: figures of the development set, and samples of it."""

from regard.tasks.translation.validation.development_set import (
    TranslationDevelopmentSet,
    TranslationResult,
    greedy_texts,
)

__all__ = ["TranslationDevelopmentSet", "TranslationResult", "greedy_texts"]
