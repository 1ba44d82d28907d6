"""Text cut into sentences that fit a model."""

from __future__ import annotations

from regard.errors import InputError
from regard.server.http.errors import RefusalError
from regard.tasks.translation.segments import Segment, segments, whole
from regard.translator import Translator


def pieces(translator: Translator, text: str, *, split: bool, prefix: str = "") -> list[Segment]:
    """The pieces of a text that are translated one by one."""
    cut = segments if split and not prefix else whole
    found = cut(
        text, translator.run.source_language, translator.tokenizers.source, room(translator)
    )
    if prefix and len(found) != 1:
        raise InputError("prefix is for one sentence that fits the model; give it by itself.")
    return found


def room(translator: Translator) -> int:
    """Tokens of a sentence that a model can read; one more is its end."""
    return translator.network.max_length - 1


def must_fit(translator: Translator, text: str, translation: str) -> None:
    """Refuse a text or a translation that the model cannot hold at once.

    What it takes to look at a translation's words grows with the square of its length.
    """
    if not 0 < len(translator.tokenizers.source.encode(text)) <= room(translator):
        raise RefusalError(400, "q must be one sentence that fits the model; send less text.")
    if len(translator.tokenizers.target.encode(translation)) > translator.network.max_length:
        raise RefusalError(400, "translation is longer than the model can write; send less text.")
