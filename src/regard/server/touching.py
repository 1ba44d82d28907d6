"""A sentence translated with other attention than the model's own."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from regard.attention import Edit, Overwrite, SwitchOff, intervene
from regard.config import Decoding
from regard.errors import InputError
from regard.server.cutting import pieces
from regard.server.refusal import RefusalError
from regard.server.seen import InterveneAsked, Overwritten, SwitchedOff
from regard.translator import Translation, Translator


class Touched(NamedTuple):
    """The translation, and how many edits met no attention."""

    translation: Translation
    unused: int


def touched(translator: Translator, asked: InterveneAsked, search: Decoding) -> Touched:
    """Translate one sentence, on this thread, with the edits that are asked for."""
    if len(pieces(translator, asked.q, split=False)) != 1:
        raise InputError("an intervention is for one sentence that fits the model.")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with intervene(translator.network, [_edit(one) for one in asked.edits]):
                translation = translator.translate(
                    asked.q,
                    settings=search,
                    prefix=asked.prefix or "",
                    attention=bool(asked.maps),
                    split=False,
                )
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
