"""The forms of multi-head attention: a matrix per head, one that is cut, and none.

B sentences, N tokens, D features, H heads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from regard.attention import MultiHead, attend

HEADS = (1, 2, 4, 8, 16)


def head_by_head(layer: MultiHead, x: Tensor) -> Tensor:
    """W_o [c¹; …; cʰ] with the matrices of a joint layer cut into heads and used one by one."""
    projections = (layer.query_proj, layer.key_proj, layer.value_proj)
    contexts = []
    for head in range(layer.num_heads):
        rows = slice(head * layer.head_dim, (head + 1) * layer.head_dim)
        query, key, value = (
            nn.functional.linear(x, projection.weight[rows], projection.bias[rows])  # type: ignore[index]  # linear layers
            for projection in projections
        )
        contexts.append(attend(query, key, value).context)
    output: Tensor = layer.out_proj(torch.cat(contexts, -1))
    return output


def form_differences(num_heads: int, dim: int = 64, tokens: int = 12) -> dict[str, float]:
    """The largest differences of the forms from one joint matrix, in float64.

    sliced is the form without matrices; it equals a joint layer whose matrices are the identity.
    """
    torch.manual_seed(0)
    x = torch.randn(2, tokens, dim, dtype=torch.float64)
    joint = MultiHead(dim, num_heads).double()
    sliced = MultiHead(dim, num_heads, projections="slice").double()
    identity = MultiHead(dim, num_heads).double()
    with torch.no_grad():
        for projection in (identity.query_proj, identity.key_proj, identity.value_proj):
            projection.weight.copy_(torch.eye(dim))  # type: ignore[operator]  # a linear layer
        identity.out_proj.load_state_dict(sliced.out_proj.state_dict())
        expected = joint(x).context
        differences = {
            "separate": joint.with_projections("separate")(x).context - expected,
            "by hand": head_by_head(joint, x) - expected,
            "sliced": sliced(x).context - identity(x).context,
        }
    return {name: float(difference.abs().max()) for name, difference in differences.items()}


def form_seconds(
    num_heads: int, dim: int = 256, tokens: int = 64, batch: int = 8, repeats: int = 15
) -> dict[str, float]:
    """Seconds of one call of each form: the fastest of several."""
    torch.manual_seed(0)
    x = torch.randn(batch, tokens, dim)
    joint = MultiHead(dim, num_heads).eval()
    forms: dict[str, nn.Module] = {
        "separate": joint.with_projections("separate"),
        "joint": joint,
        "sliced": MultiHead(dim, num_heads, projections="slice").eval(),
    }
    with torch.no_grad():
        return {name: _fastest(partial(form, x), repeats) for name, form in forms.items()}


def _fastest(run: Callable[[], object], repeats: int) -> float:
    best = math.inf
    for _ in range(repeats):
        begun = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begun)
    return best
