"""Full attention: every query scores every key."""

from __future__ import annotations

from torch import Tensor

from regard.attention.attend import Engine, attend
from regard.attention.engines.call import AttentionCall
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import AttentionInput, Declared, Mechanism
from regard.attention.normalizers.normalizer import Softmax
from regard.attention.scores.score import ScaledDot

SCORE, SOFTMAX = ScaledDot(), Softmax()


class Full(Mechanism):
    """softmax(QKᵀ/√d) V over all keys (Vaswani 2017)."""

    declared = Declared(
        answer="exact", masks=frozenset({"lengths", "causal", "any"}), map="keys",
        sums_to_one=True, cost="n²", growth=2.0, bias=True, dropout=True,
    )  # fmt: skip
    engine: Engine = "auto"

    def context(self, call: AttentionInput) -> Tensor:
        return attend(
            call.query, call.key, call.value, score=SCORE, bias=call.bias, mask=call.mask,
            dropout=call.dropout, engine=self.engine,
        ).context  # fmt: skip

    def seen(self, call: AttentionInput) -> AttentionCall:
        return softmax_call(call, call.mask)


class Blockwise(Full):
    """The same answer tile by tile: memory grows with n, not n² (Rabe & Staats 2021)."""

    engine = "blockwise"


def softmax_call(call: AttentionInput, mask: Mask | None, over: str = "keys") -> AttentionCall:
    """Scaled dot-product attention under a mask, for those who look."""
    prepared = SCORE.prepare(call.query, call.key)
    return AttentionCall(prepared, call.value, call.bias, mask, SOFTMAX, 0.0, over=over)
