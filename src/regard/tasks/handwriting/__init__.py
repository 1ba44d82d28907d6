"""Handwriting: a recurrent network from text to pen strokes (Graves 2013)."""

from typing import Any

from regard.config.kind import Command, Kind, deferred
from regard.tasks.handwriting.settings import HandwritingSettings


def _preset(epochs: int, learning_rate: float, **model: int) -> dict[str, Any]:
    training = {"epochs": epochs, "learning_rate": learning_rate}
    training |= {"batch_tokens": 8192, "warmup": 0.03}
    return {"model": model, "text": {"unit": "char"}, "training": training}


KINDS = (
    Kind(
        "handwriting",
        HandwritingSettings,
        deferred(f"{__name__}.task", "HandwritingTask"),
        deferred(f"{__name__}.writer", "HandwritingWriter"),
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
            "tiny": _preset(
                20, 4e-3, embedding=24, dim=96, num_layers=2, components=4, mixture=5, lines=4000
            ),
            "small": _preset(
                24, 3e-3, embedding=48, dim=192, num_layers=2, components=6, mixture=8
            ),
            "base": _preset(
                30,
                1e-3,
                embedding=64,
                dim=400,
                num_layers=3,
                components=10,
                mixture=20,
                lines=50000,
            ),
        },
    ),
)
