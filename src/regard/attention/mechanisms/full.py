"""Full attention: every query scores every key."""

from __future__ import annotations

from torch import Tensor

from regard.attention.attend import Engine, attend
from regard.attention.engines.call import Call
from regard.attention.masks.mask import Mask
from regard.attention.mechanisms.mechanism import Asked, Declared, Mechanism
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

    def context(self, asked: Asked) -> Tensor:
        return attend(
            asked.query, asked.key, asked.value, score=SCORE, bias=asked.bias, mask=asked.mask,
            dropout=asked.dropout, engine=self.engine,
        ).context  # fmt: skip

    def seen(self, asked: Asked) -> Call:
        return softmax_call(asked, asked.mask)


class Blockwise(Full):
    """The same answer tile by tile: memory grows with n, not n² (Rabe & Staats 2021)."""

    engine = "blockwise"


def softmax_call(asked: Asked, mask: Mask | None, over: str = "keys") -> Call:
    """Scaled dot-product attention under a mask, for those who look."""
    form = SCORE.form(asked.query, asked.key)
    return Call(form, asked.value, asked.bias, mask, SOFTMAX, 0.0, over=over)
