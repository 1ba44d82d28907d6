"""Masked language model: an encoder-only Transformer that predicts masked tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config.kind import Kind
from regard.config.model import MaskedLanguageModelSettings
from regard.tasks.language_model import PRESETS

if TYPE_CHECKING:
    from regard.folder import SavedModel
    from regard.training.task import Task


def _task(kind: Kind) -> Task:
    from regard.tasks.masked_language_model.task import MaskedLanguageModelTask

    return MaskedLanguageModelTask(kind)


def _facade(saved: SavedModel, threads: int) -> Any:
    from regard.tasks.masked_language_model.mask_filler import MaskFiller

    return MaskFiller(saved)


def _inspect(model: Any, texts: Any, options: Any) -> Any:
    from regard.tasks.masked_language_model.inspection import inspect

    return inspect(model, texts, options)


KINDS = (
    Kind(
        "mlm",
        MaskedLanguageModelSettings,
        _task,
        _facade,
        command="fill",
        purpose="predicts masked words",
        learns_from="plain text",
        title="masked language model",
        inspect=_inspect,
        speed_unit="masked tokens",
        presets=PRESETS,
    ),
)
