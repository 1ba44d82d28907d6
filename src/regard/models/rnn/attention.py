"""The aligner of a recurrent decoder: one head of cross-attention.

Queries are the decoder's states, values the encoder's.
"""

from __future__ import annotations

from collections.abc import Callable

from regard.attention import Additive, Dot, General, Score
from regard.attention.aligners import Aligner, Content, Coverage, LocationSensitive, Monotonic
from regard.attention.aligners.graves import Graves
from regard.config import RnnSettings


def luong_score(settings: RnnSettings) -> Score:
    """Dot, general or concat (Luong 2015, §3.1)."""
    match settings.score:
        case "dot":
            return Dot()
        case "general":
            return General(settings.dim, settings.dim)
        case "concat":
            return Additive(*_dims(settings))


def _dims(settings: RnnSettings) -> tuple[int, int, int]:
    return settings.dim, settings.dim, settings.attention_dim


ALIGNERS: dict[str, Callable[[RnnSettings], Aligner]] = {
    "luong": lambda settings: Content(luong_score(settings)),
    "bahdanau": lambda settings: Content(Additive(*_dims(settings))),
    "location": lambda settings: LocationSensitive(*_dims(settings)),
    "coverage": lambda settings: Coverage(*_dims(settings)),
    "graves": lambda settings: Graves(settings.dim, settings.components),
    "monotonic": lambda settings: Monotonic(*_dims(settings)),
}
"""The aligner of each `attention` in the settings; "none" has none."""
