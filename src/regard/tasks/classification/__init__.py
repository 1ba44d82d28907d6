"""Classification: a label for a text or a numeric series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config.classifier import ClassifierSettings
from regard.config.kind import Kind

if TYPE_CHECKING:
    from regard.folder import SavedModel
    from regard.training.task import Task


def _task(kind: Kind) -> Task:
    from regard.tasks.classification.task import ClassificationTask

    return ClassificationTask(kind)


def _facade(saved: SavedModel, threads: int) -> Any:
    from regard.tasks.classification.classifier import Classifier

    return Classifier(saved)


def _inspect(model: Any, texts: Any, options: Any) -> Any:
    from regard.tasks.classification.inspection import inspect

    return inspect(model, texts, options)


KINDS = (
    Kind(
        "classifier",
        ClassifierSettings,
        _task,
        _facade,
        command="classify",
        purpose="labels texts or series",
        learns_from="label, tab and text in a .tsv; or series in .npz or .jsonl",
        title="classifier",
        inspect=_inspect,
        speed_unit="examples",
        presets={
            "tiny": {
                "model": {"dim": 64, "num_heads": 4, "num_layers": 2, "ff": 256, "max_length": 256},
            },
            "small": {
                "model": {
                    "dim": 128, "num_heads": 4, "num_layers": 2, "ff": 512, "max_length": 512,
                    "dropout": 0.2,
                },
            },
            "base": {"model": {"dim": 512, "num_heads": 8, "num_layers": 6, "ff": 2048}},
        },
    ),
)  # fmt: skip
