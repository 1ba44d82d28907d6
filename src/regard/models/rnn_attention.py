"""How a recurrent decoder looks at the source: one head of "cross" attention.

Shapes: B sentences, S source tokens, Q queries, D features of a state, K of a key.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from regard.attention import Additive, Attended, Dot, General, Mask, Score, attend, observe
from regard.config import Rnn


class Memory(NamedTuple):
    """What the decoder may look at.

    values   (B, S, D)  the encoder's states
    keys     (B, S, K)  the same, projected once if the score projects keys
    lengths  (B,)       states that are words
    """

    values: Tensor
    keys: Tensor
    lengths: Tensor

    def select(self, rows: Tensor) -> Memory:
        """The memories of chosen rows of the batch."""
        return Memory(*(x.index_select(0, rows) for x in self))


class SourceAttention(nn.Module):
    """context = Σ_s softmax_s(score(query, key_s)) value_s, over the words of the source.

    Called as a module, so that `record` and `intervene` know its name.
    """

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score
        # in a tuple, so that torch does not count the shared parameters twice
        self._asked = (score.on_projected() if isinstance(score, Additive) else score,)

    def memory(self, states: Tensor, lengths: Tensor) -> Memory:
        """The encoder's states as keys and values."""
        score = self.score
        keys = score.key_proj(states) if isinstance(score, Additive) else states
        return Memory(states, keys, lengths)

    def forward(self, query: Tensor, memory: Memory, offset: int) -> Attended:
        """Attend from queries (B, Q, D), the first of which stands at position `offset`."""
        with observe.at(observe.Place("cross", offset)):
            return attend(
                query,
                memory.keys,
                memory.values,
                score=self._asked[0],
                mask=Mask.lengths(memory.lengths),
            )


def bahdanau_score(settings: Rnn) -> Additive:
    """v·tanh(W_q q + W_k k) (Bahdanau 2015, §A.1.2)."""
    return Additive(settings.dim, settings.dim, settings.attention_dim)


def luong_score(settings: Rnn) -> Score:
    """Dot, general or concat (Luong 2015, §3.1)."""
    match settings.score:
        case "dot":
            return Dot()
        case "general":
            return General(settings.dim, settings.dim)
        case "concat":
            return Additive(settings.dim, settings.dim, settings.attention_dim)
