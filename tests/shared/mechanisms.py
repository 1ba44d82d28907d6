"""Every mechanism as tests make and ask it."""

import pytest
import torch

from regard.attention import Mask
from regard.attention.mechanisms import MECHANISMS

HEADS, WIDTH = 2, 8
MASKS = {
    "none": lambda n: None,
    "lengths": lambda n: Mask.lengths([n, n // 2, 0]),
    "causal": lambda n: Mask.causal(),
    "both": lambda n: Mask.lengths([n, n // 2, 0]) & Mask.causal(),
    "any": lambda n: Mask.segments(torch.arange(n) // 3),
}
LENGTHS = (20, 170)  # within one tile, and over several


def made(name, length, dtype=torch.float64):
    torch.manual_seed(1)
    return MECHANISMS[name](length, HEADS, WIDTH).to(dtype).eval()


def drawn(length, dtype=torch.float64, batch=3):
    torch.manual_seed(0)
    return [
        torch.randn(batch, HEADS, length, WIDTH, dtype=dtype, requires_grad=True) for _ in range(3)
    ]


def takes(mechanism, kind):
    needed = {"none": set(), "both": {"lengths", "causal"}}.get(kind, {kind})
    return needed <= mechanism.facts.masks


def visible(mask, length):
    if mask is None:
        return torch.ones(3, 1, length, length, dtype=torch.bool)
    keep = mask.tensor(length, length, batch=(3, HEADS))
    return keep.broadcast_to(3, HEADS, length, length)


NAMES = sorted(MECHANISMS)
every = pytest.mark.parametrize("name", NAMES)
