"""The aligner that remembers nothing: any score, normalised by softmax.

Shapes: B sentences, T queries, S states, D features of a state, Q of a query.
"""

from __future__ import annotations

from torch import Tensor

from regard.attention.aligners.aligner import Aligner, Memory, Rows
from regard.attention.attend import Attended, attend
from regard.attention.scores.additive import Additive
from regard.attention.scores.score import Score


class Content(Aligner):
    """context = Σ_s softmax_s(score(query, key_s)) value_s, whatever was looked at before.

    With `Additive` it is Bahdanau's aligner (2015, §3.1); with `Dot`, `General` or `Additive`
    Luong's global attention by dot, general and concat (2015, §3.1). Keys of an additive score
    are projected once, by `memory`.
    """

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score
        # in a tuple, so that torch does not count the shared parameters twice
        self._asked = (score.on_projected() if isinstance(score, Additive) else score,)

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.score.key_proj(states) if isinstance(self.score, Additive) else states
        return keys

    def forward(self, query: Tensor, memory: Memory, state: Rows) -> tuple[Attended, Rows]:
        """Query (B, Q); or, as nothing is remembered, several at once (B, T, Q)."""
        several = query if query.ndim == 3 else query[:, None]
        attended = attend(
            several, memory.keys, memory.values, score=self._asked[0], mask=memory.mask
        )
        return attended, state
