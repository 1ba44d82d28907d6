"""How a recurrent decoder looks at the source: one head of "cross" attention.

An aligner by the name of `attention` in the settings; queries are the decoder's states, values the
encoder's.
"""

from __future__ import annotations

from collections.abc import Callable

from regard.attention import Additive, Dot, General, Score
from regard.attention.aligners import Aligner, Content, Coverage, LocationSensitive, Monotonic
from regard.attention.aligners.graves import Graves
from regard.config import RnnSettings


def bahdanau_score(settings: RnnSettings) -> Additive:
    """v·tanh(W_q q + W_k k) (Bahdanau 2015, §A.1.2)."""
    return Additive(settings.dim, settings.dim, settings.attention_dim)


def luong_score(settings: RnnSettings) -> Score:
    """Dot, general or concat (Luong 2015, §3.1)."""
    match settings.score:
        case "dot":
            return Dot()
        case "general":
            return General(settings.dim, settings.dim)
        case "concat":
            return Additive(settings.dim, settings.dim, settings.attention_dim)


def _widths(settings: RnnSettings) -> tuple[int, int, int]:
    return settings.dim, settings.dim, settings.attention_dim


ALIGNERS: dict[str, Callable[[RnnSettings], Aligner]] = {
    "luong": lambda settings: Content(luong_score(settings)),
    "bahdanau": lambda settings: Content(bahdanau_score(settings)),
    "location": lambda settings: LocationSensitive(*_widths(settings)),
    "coverage": lambda settings: Coverage(*_widths(settings)),
    "graves": lambda settings: Graves(settings.dim, settings.components),
    "monotonic": lambda settings: Monotonic(*_widths(settings)),
}
"""What makes the aligner of each `attention` in the settings; "none" has none."""
