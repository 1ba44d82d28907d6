"""Language model: a decoder-only Transformer that continues text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config.kind import Kind
from regard.config.model import LanguageModelSettings

if TYPE_CHECKING:
    from regard.folder import SavedModel
    from regard.training.task import Task

PRESETS: dict[str, Any] = {
    "tiny": {"model": {"dim": 128, "num_heads": 4, "num_layers": 3, "ff": 512, "max_length": 256}},
    "small": {
        "model": {"dim": 256, "num_heads": 4, "num_layers": 4, "ff": 1024, "max_length": 512}
    },
    "base": {"model": {"dim": 512, "num_heads": 8, "num_layers": 8, "ff": 2048}},
}


def _task(kind: Kind) -> Task:
    from regard.tasks.language_model.task import LanguageModelTask

    return LanguageModelTask(kind)


def _facade(saved: SavedModel, threads: int) -> Any:
    from regard.tasks.language_model.generator import Generator

    return Generator(saved)


def _inspect(model: Any, texts: Any, options: Any) -> Any:
    from regard.tasks.language_model.inspection import inspect

    return inspect(model, texts, options)


KINDS = (
    Kind(
        "lm",
        LanguageModelSettings,
        _task,
        _facade,
        command="generate",
        purpose="continues text",
        learns_from="plain text",
        title="language model",
        inspect=_inspect,
        presets=PRESETS,
    ),
)
