"""Handwriting: a recurrent network from text to pen strokes (Graves 2013)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config.kind import Command, Kind
from regard.tasks.handwriting.settings import HandwritingSettings

if TYPE_CHECKING:
    from regard.folder import SavedModel
    from regard.training.task import Task


def _task(kind: Kind) -> Task:
    from regard.tasks.handwriting.task import HandwritingTask

    return HandwritingTask(kind)


def _facade(saved: SavedModel, threads: int) -> Any:
    from regard.tasks.handwriting.writer import HandwritingWriter

    return HandwritingWriter(saved)


KINDS = (
    Kind(
        "handwriting",
        HandwritingSettings,
        _task,
        _facade,
        command="write",
        purpose="writes by hand",
        learns_from="strokes in .jsonl, or no file for the built-in ones",
        title="handwriting model",
        needs_files=False,
        speed_unit="points",
        commands={
            "write": Command(
                "generate handwriting, and show which letter each stroke belongs to",
                "regard.tasks.handwriting.command",
            )
        },
        presets={
            "tiny": {
                "model": {
                    "embedding": 24, "dim": 96, "num_layers": 2, "components": 4, "mixture": 5,
                    "lines": 4000,
                },
                "text": {"unit": "char"},
                "training": {
                    "epochs": 20, "batch_tokens": 8192, "learning_rate": 4e-3, "warmup": 0.03,
                },
            },
            "small": {
                "model": {
                    "embedding": 48, "dim": 192, "num_layers": 2, "components": 6, "mixture": 8,
                },
                "text": {"unit": "char"},
                "training": {
                    "epochs": 24, "batch_tokens": 8192, "learning_rate": 3e-3, "warmup": 0.03,
                },
            },
            "base": {
                "model": {
                    "embedding": 64, "dim": 400, "num_layers": 3, "components": 10, "mixture": 20,
                    "lines": 50000,
                },
                "text": {"unit": "char"},
                "training": {
                    "epochs": 30, "batch_tokens": 8192, "learning_rate": 1e-3, "warmup": 0.03,
                },
            },
        },
    ),
)  # fmt: skip
