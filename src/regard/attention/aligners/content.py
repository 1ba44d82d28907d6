"""The stateless aligner: any score, normalized by softmax.

Shapes: B sentences, T queries, S states, D features of a state, Q of a query.
"""

from __future__ import annotations

from torch import Tensor

from regard.attention.aligners.aligner import Aligned, Aligner, AlignerState, Memory
from regard.attention.attend import attend
from regard.attention.scores.additive import Additive
from regard.attention.scores.score import Score


class Content(Aligner):
    """context = Σ_s softmax_s(score(query, key_s)) value_s, independent of earlier queries.

    With `Additive` it is Bahdanau's aligner (2015, §3.1); with `Dot`, `General` or `Additive`
    Luong's global attention by dot, general and concat (2015, §3.1). Keys of an additive score
    are projected once, by `memory`.
    """

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score
        # in a tuple, so that torch does not register the shared parameters twice
        self._key_score = (score.on_projected() if isinstance(score, Additive) else score,)

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.score.key_proj(states) if isinstance(self.score, Additive) else states
        return keys

    def forward(self, query: Tensor, memory: Memory, state: AlignerState) -> Aligned:
        """Attend from query (B, Q) or, since there is no state, from several at once (B, T, Q)."""
        queries = query if query.ndim == 3 else query[:, None]
        attended = attend(
            queries, memory.keys, memory.values, score=self._key_score[0], mask=memory.mask
        )
        return attended, state
