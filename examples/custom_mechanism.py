"""A mechanism of your own in forty lines: attention within chunks, in `MultiHead`.

A mechanism declares what it is (`facts`), which keys a query sees (`pattern`), and computes the
same at its own cost (`context`). Masks that it cannot take are refused for it; maps, recording and
decoding step by step follow from the pattern.

    python examples/custom_mechanism.py
"""

import time

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.attention import AttentionInput, Mask, Mechanism, MechanismFacts, MultiHead, attend


class Chunks(Mechanism):
    """softmax over the keys of a query's own chunk of `size` tokens: n · size scores, not n².

    Shapes: query (B, H, Q, D), key (B, H, K, D), value (B, H, K, Dv), context (B, H, Q, Dv).
    """

    facts = MechanismFacts(
        answer="pattern",
        masks=frozenset({"lengths", "causal"}),
        map="keys",
        cost="n · size",
        growth=1.0,
        dropout=True,
    )
    limits_keys = True  # even without a mask

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def pattern(self, call: AttentionInput) -> Mask:
        """The same keys as a mask; queries are the last of the keys."""
        chunk = torch.arange(call.num_keys, device=call.key.device) // self.size
        own = Mask.segments(chunk[call.offset :], chunk)
        return own if call.mask is None else own & call.mask

    def context(self, call: AttentionInput) -> Tensor:
        """The context, each chunk as a sentence of its own: (B · chunks, H, size, D)."""
        if call.offset:  # fewer queries than keys, as in decoding: few scores in any case
            return self.context_of_pattern(call)
        batch, num = call.key.shape[0], call.num_keys
        parts = [self.folded(x) for x in call.tensors]
        first = torch.arange(0, num, self.size, device=call.key.device)
        lengths = torch.full((batch,), num) if call.lengths is None else call.lengths
        mask = Mask.lengths((lengths.to(first)[:, None] - first).clamp(0, self.size).flatten())
        mask = mask & Mask.causal() if call.causal else mask
        context = attend(*parts, mask=mask, dropout=call.dropout).context
        whole = context.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2, 3)
        return whole[:, :, :num]

    def folded(self, x: Tensor) -> Tensor:
        """Chunks in place of sentences, the last filled up."""
        x = pad(x, (0, 0, 0, -x.shape[-2] % self.size))
        return x.unflatten(2, (-1, self.size)).transpose(1, 2).flatten(0, 1)


def main(length: int = 4096, size: int = 64) -> dict[str, float]:
    """Compare it with full attention under the same pattern: the answer, and the time."""
    torch.manual_seed(0)
    chunks, full = MultiHead(64, 4, mechanism=Chunks(size)), MultiHead(64, 4)
    full.load_state_dict(chunks.state_dict())
    words = torch.randn(1, length, 64)
    own = Mask.segments(torch.arange(length) // size)
    with torch.no_grad():
        short = chunks(words[:, : 2 * size + 2], mask=Mask.causal(), weights=True)
        begun = time.perf_counter()
        ours = chunks(words, mask=Mask.causal()).context
        between = time.perf_counter()
        theirs = full(words, mask=Mask.causal() & own).context
        ended = time.perf_counter()
    error = (ours - theirs).abs().max().item()
    seen = (short.weights[0, 0] > 0).sum(-1)
    print(f"{length:,} tokens in chunks of {size}: {between - begun:.3f} s; ", end="")
    print(f"full attention under the same mask: {ended - between:.3f} s")
    print(f"largest difference of the two answers: {error:.1e}")
    print(f"keys that the last tokens see: {seen[-4:].tolist()} (a chunk begins anew)")
    return {"error": error, "most": int(seen.max())}


if __name__ == "__main__":
    main()
