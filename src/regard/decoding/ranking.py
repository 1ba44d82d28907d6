"""Log-probabilities of logits, and the best tokens of each row.

Of equally probable tokens the one with the lower id ranks first, so that results do not depend on
the batch. R rows, V tokens of the vocabulary, K best, N blocks of tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.errors import InputError

IMPOSSIBLE = float("-inf")
BLOCK = 64
"""Tokens per block when the best of a large vocabulary are searched for."""


def log_probabilities(logits_RV: Tensor) -> Tensor:
    """Return log softmax in float32, in a new tensor; all -inf where all logits are -inf."""
    logs_RV = torch.log_softmax(logits_RV, -1, dtype=torch.float32)
    nan_R = logs_RV[:, 0].isnan()
    if bool(nan_R.any()):
        if not bool((logits_RV[nan_R] == IMPOSSIBLE).all()):
            raise InputError(
                "the model's logits are NaN or infinite: its training diverged or its file is "
                "damaged; use an earlier checkpoint."
            )
        logs_RV[nan_R] = IMPOSSIBLE
    return logs_RV


def top_k(scores_RV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the K largest scores of each row and their indices, the lower index first on ties.

    `torch.topk` does not define which of equal scores it takes, and its choice depends on the
    batch; rows with ties at the top are ranked again, by score and index in one integer.

    >>> top_k(torch.tensor([[1.0, 5.0, 5.0, 5.0]]), 2)
    (tensor([[5., 5.]]), tensor([[1, 2]]))
    """
    if scores_RV.shape[1] <= k:
        values, indices = scores_RV.sort(dim=1, descending=True, stable=True)
        return values, indices
    values, indices = _largest(scores_RV, k + 1)
    tied_R = ((values[:, 1:] == values[:, :-1]) & (values[:, 1:] > IMPOSSIBLE)).any(1)
    values, indices = values[:, :k], indices[:, :k]
    if bool(tied_R.any()):
        rows = tied_R.nonzero()[:, 0]
        indices = indices.index_copy(0, rows, _keys(scores_RV[rows]).topk(k, dim=1).indices)
        values = scores_RV.gather(1, indices)
    return values, indices


class RankedToken(NamedTuple):
    """A token of a distribution.

    logit        the network's number
    probability  softmax(logits)
    sampled      with what probability sampling draws it: after temperature, top-k and top-p; 0 if
                 it is cut off
    """

    token: int
    logit: float
    probability: float
    sampled: float


def ranked_tokens(
    logits_V: Tensor, count: int, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> list[RankedToken]:
    """The most probable tokens of a distribution (V,), the best first; −inf is never listed.

    >>> [t.token for t in ranked_tokens(torch.tensor([0.0, 2.0, 1.0]), 2)]
    [1, 2]
    """
    logits_V = logits_V.float()
    values, order = logits_V.sort(descending=True, stable=True)
    probabilities = values.softmax(-1)
    scaled = values[: top_k or len(values)] / temperature
    sampled = scaled.softmax(-1)
    before = sampled.cumsum(-1) - sampled
    sampled = torch.where(before < top_p, sampled, 0.0)
    sampled = sampled / sampled.sum()
    sampled = torch.cat([sampled, sampled.new_zeros(len(values) - len(sampled))])
    columns = (order.tolist(), values.tolist(), probabilities.tolist(), sampled.tolist())
    rows = list(zip(*columns, strict=True))[:count]
    return [RankedToken(*row) for row in rows if row[1] > IMPOSSIBLE]


def first_argmax(scores_RV: Tensor) -> Tensor:
    """(R,): the index of each row's largest score, the lowest on ties.

    By blocks: `argmax` over a large vocabulary is eight times as slow as `amax`.

    >>> first_argmax(torch.tensor([[1.0, 5.0, 5.0]]))
    tensor([1])
    """
    num_rows, num_blocks = scores_RV.shape[0], scores_RV.shape[1] // BLOCK
    if num_rows == 1 or num_blocks < 2:
        return scores_RV.argmax(1)
    blocks_RNb = scores_RV[:, : num_blocks * BLOCK].unflatten(1, (num_blocks, BLOCK))
    block_R: Tensor = blocks_RNb.amax(2).argmax(1)
    best_Rb = blocks_RNb[torch.arange(num_rows, device=block_R.device), block_R]
    index_R = best_Rb.argmax(1)
    rest = scores_RV[:, num_blocks * BLOCK :]
    chosen_R: Tensor = block_R * BLOCK + index_R
    if not rest.shape[1]:
        return chosen_R
    rest_R = rest.argmax(1, keepdim=True)
    better_R1 = rest.gather(1, rest_R) > best_Rb.gather(1, index_R[:, None])
    return torch.where(better_R1, rest_R + num_blocks * BLOCK, chosen_R[:, None])[:, 0]


def _largest(scores_RV: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`torch.topk` in two stages, about three times as fast when the vocabulary is large.

    The K largest are in the K blocks with the largest maxima, or after the last whole block.
    """
    num_blocks = scores_RV.shape[1] // BLOCK
    if num_blocks < 4 * k:
        values, indices = scores_RV.topk(k, dim=1)
        return values, indices
    blocks_RNb = scores_RV[:, : num_blocks * BLOCK].unflatten(1, (num_blocks, BLOCK))
    blocks_RK = blocks_RNb.amax(2).topk(k, dim=1, sorted=False).indices
    offsets = torch.arange(BLOCK, device=scores_RV.device)
    rest = torch.arange(num_blocks * BLOCK, scores_RV.shape[1], device=scores_RV.device)
    indices = torch.cat(
        [(blocks_RK[:, :, None] * BLOCK + offsets).flatten(1), rest.expand(len(scores_RV), -1)], 1
    )
    values, chosen = scores_RV.gather(1, indices).topk(k, dim=1)
    return values, indices.gather(1, chosen)


def _keys(scores_RV: Tensor) -> Tensor:
    """Return integers that sort by (score, lower index first): the float's bits, then the index."""
    bits = (scores_RV + 0.0).view(torch.int32)  # + 0.0 turns -0 into the 0 that it equals
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # the bits of negative floats sort in reverse
    indices = torch.arange(scores_RV.shape[1] - 1, -1, -1, device=scores_RV.device)
    return ordered.long() * 2**32 + indices
