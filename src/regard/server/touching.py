"""Sentences translated with other attention than the model's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

from regard.attention import Edit, Overwrite, SwitchOff, intervene
from regard.config import Decoding
from regard.errors import InputError
from regard.server.cutting import pieces
from regard.server.refusal import RefusalError
from regard.server.seen import InterveneAsked, Overwritten, SwitchedOff
from regard.translator import Translation, Translator
from regard.translator.segments import put_together
from regard.translator.translate import Wish

MOST_SENTENCES = 20


class Touched(NamedTuple):
    """The translation, and how many edits met no attention."""

    translation: Translation
    unused: int


def touched(translator: Translator, asked: InterveneAsked, search: Decoding) -> Touched:
    """Translate one sentence, on this thread, with the edits that are asked for."""
    if len(pieces(translator, asked.q, split=False)) != 1:
        raise InputError("an intervention is for one sentence that fits the model.")
    return _with_edits(
        translator,
        asked.edits,
        lambda: translator.translate(
            asked.q,
            settings=search,
            prefix=asked.prefix or "",
            attention=bool(asked.maps),
            split=False,
        ),
    )


def touched_text(
    translator: Translator,
    text: str,
    edits: Sequence[SwitchedOff | Overwritten],
    search: Decoding,
    wish: Wish,
    *,
    prefix: str = "",
    split: bool = True,
) -> Touched:
    """Translate a text, sentence by sentence, on this thread; rows are of one sentence only."""
    parts = pieces(translator, text, split=split, prefix=prefix)
    if len(parts) != 1 and any(isinstance(one, Overwritten) for one in edits):
        raise InputError("a row of weights is of one sentence that fits the model.")
    if len(parts) > MOST_SENTENCES:
        raise InputError(f"edits are for at most {MOST_SENTENCES} sentences; send less text.")

    def work() -> Translation:
        # one by one: a batch of its own thread would not meet the edits, which are this thread's
        done = [translator.sentences([one.text], search, wish, prefix)[0] for one in parts]
        joined = put_together(parts, [one.text for one in done], translator.run.target_language)
        return Translation(joined, text, tuple(done))

    return _with_edits(translator, edits, work)


def _with_edits(
    translator: Translator,
    edits: Sequence[SwitchedOff | Overwritten],
    work: Callable[[], Translation],
) -> Touched:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with intervene(translator.network, [_edit(one) for one in edits]):
                translation = work()
        except (ValueError, TypeError) as error:  # heads or weights that do not fit the model
            raise RefusalError(400, str(error)) from None
    unused = sum("met no call" in str(one.message) for one in said)
    return Touched(translation, unused)


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
