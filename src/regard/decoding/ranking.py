"""From a model's scores to candidates: log-probabilities, and the best tokens of each row.

Of equally probable tokens the one with the lower id is always better, so that what is found does
not depend on the batch. R rows, V tokens of the vocabulary, K best, N blocks of tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.errors import InputError

NOTHING = float("-inf")
BLOCK = 64
"""Tokens that are looked at together when the best of a large vocabulary are sought."""


def log_probabilities(logits_RV: Tensor) -> Tensor:
    """log softmax in fp32, in a tensor of its own; where all is impossible, all -inf."""
    logs_RV = torch.log_softmax(logits_RV, -1, dtype=torch.float32)
    unclear_R = logs_RV[:, 0].isnan()
    if bool(unclear_R.any()):
        if not bool((logits_RV[unclear_R] == NOTHING).all()):
            raise InputError(
                "the model's scores are not numbers (NaN or infinite): its training diverged or "
                "its file is damaged; take an earlier checkpoint."
            )
        logs_RV[unclear_R] = NOTHING
    return logs_RV


def best(scores_RV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The K largest scores of each row and their places, of equal ones the first ones first.

    `topk` leaves open which of equal scores it takes, and takes others in other batches; rows
    with equal ones at the top are ranked again, by score and place in one integer.

    >>> best(torch.tensor([[1.0, 5.0, 5.0, 5.0]]), 2)
    (tensor([[5., 5.]]), tensor([[1, 2]]))
    """
    if scores_RV.shape[1] <= count:
        values, places = scores_RV.sort(dim=1, descending=True, stable=True)
        return values, places
    values, places = _largest(scores_RV, count + 1)
    tied_R = ((values[:, 1:] == values[:, :-1]) & (values[:, 1:] > NOTHING)).any(1)
    values, places = values[:, :count], places[:, :count]
    if bool(tied_R.any()):
        rows = tied_R.nonzero()[:, 0]
        again = _keys(scores_RV[rows]).topk(count, dim=1).indices
        places = places.index_copy(0, rows, again)
        values = scores_RV.gather(1, places)
    return values, places


def _largest(scores_RV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`topk` in two strides, about three times as fast when the vocabulary is large.

    The K largest are in the K blocks with the largest maxima, or after the last whole block.
    """
    whole = scores_RV.shape[1] // BLOCK
    if whole < 4 * count:
        values, places = scores_RV.topk(count, dim=1)
        return values, places
    blocks_RNb = scores_RV[:, : whole * BLOCK].unflatten(1, (whole, BLOCK))
    taken_RK = blocks_RNb.amax(2).topk(count, dim=1, sorted=False).indices
    first_RK1 = taken_RK[:, :, None] * BLOCK
    inside = torch.arange(BLOCK, device=scores_RV.device)
    after = torch.arange(whole * BLOCK, scores_RV.shape[1], device=scores_RV.device)
    places = torch.cat([(first_RK1 + inside).flatten(1), after.expand(len(scores_RV), -1)], 1)
    values, which = scores_RV.gather(1, places).topk(count, dim=1)
    return values, places.gather(1, which)


def _keys(scores_RV: Tensor) -> Tensor:
    """Integers that order as (score, lower place first): the float's bits, then the place."""
    bits = (scores_RV + 0.0).view(torch.int32)  # + 0.0 makes of -0 the 0 that it equals
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # negative floats' bits run the other way
    places = torch.arange(scores_RV.shape[1] - 1, -1, -1, device=scores_RV.device)
    return ordered.long() * 2**32 + places
