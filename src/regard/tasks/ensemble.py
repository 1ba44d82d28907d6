"""Models that translate or generate together: the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regard.errors import InputError
from regard.folder import SavedModel
from regard.models.ensemble import EnsembleModel
from regard.text import Tokenizer


def combine(models: Sequence[SavedModel]) -> SavedModel:
    """The models of several folders as one, with the settings of the first.

    They must have the same languages and vocabularies, and generate text.
    """
    if not models:
        raise InputError("an ensemble needs at least one model, got none.")
    first, *others = models
    for model in others:
        if model.run.languages != first.run.languages:
            raise InputError(
                f"models of an ensemble must have the same languages, got {first.run.languages} "
                f"({first.path}) and {model.run.languages} ({model.path})."
            )
        if _vocabularies(model) != _vocabularies(first):
            raise InputError(
                f"models of an ensemble must have the same vocabulary, and {model.path} has "
                f"another than {first.path}; train both with the tokenizers of one."
            )
    for model in models if others else ():
        if not hasattr(model.network, "step"):
            raise InputError(
                f"{model.path}: a model of the kind {model.run.model.kind} generates no text and "
                "cannot be part of an ensemble."
            )
    if not others:
        return first
    network = EnsembleModel([model.network for model in models])
    return replace(first, build_network=lambda: network, num_networks=len(models))


def _vocabularies(model: SavedModel) -> list[list[str]]:
    sides: list[Tokenizer] = [model.tokenizers.source, model.tokenizers.target]
    return [tokenizer.pieces(range(len(tokenizer))) for tokenizer in sides]
