"""A kind of model from another package: a bigram model, which letter follows which."""

from dataclasses import dataclass
from typing import Literal

from regard.config import Command, Kind


@dataclass(frozen=True)
class BigramSettings:
    """Bigram model of letters."""

    kind: Literal["bigram"] = "bigram"
    """Bigram model of letters."""
    dim: int = 16
    """Width of letters' vectors."""
    max_length: int = 64
    """Most letters that are written."""


def _task(kind):
    from bigram.task import BigramTask

    return BigramTask(kind)


def _facade(saved, threads):
    from bigram.task import Speller

    return Speller(saved)


KINDS = (
    Kind(
        "bigram",
        BigramSettings,
        _task,
        _facade,
        command="spell",
        purpose="continues words",
        learns_from="plain text",
        presets={"tiny": {"model": {"dim": 8}, "training": {"batch_tokens": 64}}},
        commands={"spell": Command("continue a word letter by letter", "bigram.command")},
    ),
)
