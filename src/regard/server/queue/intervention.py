"""Sentences translated with other attention than the model's own."""

from __future__ import annotations

from typing import NamedTuple

from regard.attention import Edit, Overwrite, SwitchOff, intervene
from regard.config import SearchOptions
from regard.errors import InputError
from regard.server.api.v1_schema import InterveneAsked, Overwritten, SwitchedOff, ViewAsked
from regard.server.http.errors import RefusalError
from regard.server.queue.cutting import pieces
from regard.tasks.translation.segments import put_together
from regard.tasks.translation.translator import Wish
from regard.translator import Translation, Translator

MOST_SENTENCES = 20
NO_NUMBERS = "scores are not numbers"  # what a search says of a broken model
TOO_FAR = "with these edits the model's scores are not numbers any more; choose smaller ones."


class Touched(NamedTuple):
    """The translation, and how many edits met no attention."""

    translation: Translation
    unused: int


def touched(
    translator: Translator,
    asked: InterveneAsked | ViewAsked,
    search: SearchOptions,
    wish: Wish,
    *,
    most: int = MOST_SENTENCES,
) -> Touched:
    """Translate a text, sentence by sentence, on this thread, with the edits that are asked for.

    Rows are of one sentence only. If no more than one sentence is allowed, nothing is cut.
    """
    prefix = asked.prefix or ""
    parts = pieces(translator, asked.q, split=asked.split and most > 1, prefix=prefix)
    if most == 1 and len(parts) != 1:
        raise InputError("an intervention is for one sentence that fits the model.")
    if len(parts) != 1 and any(isinstance(one, Overwritten) for one in asked.edits):
        raise InputError("a row of weights is of one sentence that fits the model.")
    if len(parts) > most:
        raise InputError(f"edits are for at most {most} sentences; send less text.")
    unused: list[Edit] = []  # handed over: warnings would be of the whole process
    try:
        edits = [_edit(one) for one in asked.edits]
        with intervene(translator.network, edits, unused=unused.append):
            # one by one: a batch of its own thread would not meet the edits, which are this one's
            done = [translator.sentences([one.text], search, wish, prefix)[0] for one in parts]
    except InputError as error:
        if asked.edits and NO_NUMBERS in str(error):
            raise RefusalError(400, TOO_FAR) from None
        raise
    except (ValueError, TypeError) as error:  # heads or weights that do not fit the model
        raise RefusalError(400, str(error)) from None
    joined = put_together(parts, [one.text for one in done], translator.run.target_language)
    return Touched(Translation(joined, asked.q, tuple(done)), len(unused))


def _edit(asked: SwitchedOff | Overwritten) -> Edit:
    if isinstance(asked, SwitchedOff):
        return SwitchOff(
            kind=asked.kind, layer=asked.layer, heads=asked.heads, scale=asked.scale
        )  # fmt: skip
    return Overwrite(
        kind=asked.kind,
        layer=asked.layer,
        heads=asked.heads,
        rows=asked.rows,
        weights=asked.weights,
        renormalize=asked.renormalize,
    )
