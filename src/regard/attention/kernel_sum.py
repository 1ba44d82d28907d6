"""Averages under a Gaussian kernel over millions of keys: the arithmetic of kernel regression.

Legend: Q queries, K keys, D features, V values, C charges (a one and V values).
Coordinates are in bandwidths, so the score of a query and a key is -|q - k|²/2.

Three ways to the same answer, from the plainest to the fastest:

* *exact*: key by key in tiles, without the keys too far away to matter;
* *compressed* (one feature): the keys of a short box are replaced by a few Chebyshev nodes;
* *transformed* (up to three features): queries too are replaced by nodes, so that the time grows
  with Q + K and not with Q·K.

The fastest knows which queries it cannot answer to 1e-10, and leaves them to the ways above it.
"""

import torch
from torch import Tensor

from regard.attention.kernel_compress import NODES, Grid, pseudo_keys, transform, transform_pays
from regard.attention.kernel_tiles import (
    BY_DISTANCE,
    distance_drop,
    distance_score,
    exact_sums,
    tile_sums,
)

DENSE_PAIRS = 1 << 18  # below this many pairs, ordering and planning cost more than they save
FINEST = 10  # boxes are at least 2^-10 bandwidths wide: further away, few keys matter anyway


def gaussian_average(query_QD: Tensor, key_KD: Tensor, value_KV: Tensor) -> Tensor:
    """Average the values, weighted by softmax_k(-|q - k|²/2): attention with the Gaussian score.

    Takes and returns float64. The result, (Q, V), lies within the range of the values, and a query
    far from every key gets the value of the nearest. Memory grows with Q + K.

    >>> key = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    >>> gaussian_average(torch.tensor([[0.5], [-90.0]], dtype=torch.float64), key, key)
    tensor([[0.5000],
            [0.0000]], dtype=torch.float64)
    """
    low_V, high_V = value_KV.amin(0), value_KV.amax(0)
    middle_V, half_V = high_V / 2 + low_V / 2, high_V / 2 - low_V / 2
    half_V = torch.where(half_V > 0, half_V, torch.ones_like(half_V))
    charge_KC = torch.cat([torch.ones_like(key_KD[:, :1]), (value_KV - middle_V) / half_V], dim=1)
    sums_QC = gaussian_sums(query_QD, key_KD, charge_KC)
    average_QV = (sums_QC[:, 1:] / sums_QC[:, :1]).clamp_(-1.0, 1.0)
    return torch.clamp(average_QV * half_V + middle_V, low_V, high_V)


def gaussian_weights(query_QD: Tensor, key_KD: Tensor) -> Tensor:
    """Return the whole attention map softmax_k(-|q - k|²/2), (Q, K), each row summing to one."""
    score_QK = distance_score(query_QD, key_KD)
    weights_QK = distance_drop(score_QK, score_QK.amax(1, keepdim=True)).exp_()
    return weights_QK.div_(weights_QK.sum(1, keepdim=True))


def gaussian_sums(query_QD: Tensor, key_KD: Tensor, charge_KC: Tensor) -> Tensor:
    """Return Σ_k exp(-|q - k|²/2) charge_k up to one positive factor per query, (Q, C).

    The first charge must be positive: it measures how much there is to sum, and dividing by its
    sum cancels the factor.
    """
    num_queries, num_features = query_QD.shape
    num_charges = charge_KC.shape[1]
    if num_queries * len(key_KD) <= DENSE_PAIRS:
        return tile_sums(query_QD, key_KD, charge_KC, *BY_DISTANCE)
    if num_features == 1:
        key_KD, charge_KC = merge_duplicates(key_KD, charge_KC)
    remaining_sums = compressed_sums if num_features == 1 else exact_sums
    grid = Grid.over(query_QD, key_KD, num_charges)
    if grid is None or not transform_pays(grid, query_QD, key_KD, num_charges):
        return remaining_sums(query_QD, key_KD, charge_KC)
    sums_QC, trusted_Q = transform(grid, query_QD, key_KD, charge_KC)
    if not trusted_Q.all():
        sums_QC[~trusted_Q] = remaining_sums(query_QD[~trusted_Q], key_KD, charge_KC)
    return sums_QC


def merge_duplicates(key_K1: Tensor, charge_KC: Tensor) -> tuple[Tensor, Tensor]:
    """Sort keys of one feature and add up the charges of equal ones."""
    sorted_K, order_K = key_K1[:, 0].sort()
    unique_U, inverse_K = torch.unique_consecutive(sorted_K, return_inverse=True)
    if len(unique_U) == len(sorted_K):
        return sorted_K[:, None], charge_KC[order_K]
    merged_UC = charge_KC.new_zeros(len(unique_U), charge_KC.shape[1])
    return unique_U[:, None], merged_UC.index_add_(0, inverse_K, charge_KC[order_K])


def compressed_sums(query_Q1: Tensor, key_K1: Tensor, charge_KC: Tensor) -> Tensor:
    """Sum over sorted keys of one feature, through Chebyshev nodes wherever those are fewer.

    A query at distance d from its nearest key sees the kernel fall like e^(-d·s), so its boxes may
    be 1/d wide: queries are grouped by the power of two in d, and each group has nodes of its own.
    """
    key_K, query_Q = key_K1[:, 0].contiguous(), query_Q1[:, 0].contiguous()
    above_Q = torch.searchsorted(key_K, query_Q).clamp_(max=len(key_K) - 1)
    below_Q = (above_Q - 1).clamp_(min=0)
    gap_Q = torch.minimum((key_K[above_Q] - query_Q).abs_(), (key_K[below_Q] - query_Q).abs_())
    level_Q = gap_Q.clamp_(1.0, 2.0 ** (FINEST + 1)).log2_().floor_()
    sums_QC = query_Q1.new_zeros(len(query_Q1), charge_KC.shape[1])
    for level in range(FINEST + 2):
        rows_Q = (level_Q == level).nonzero()[:, 0]
        keys, charges = key_K1, charge_KC
        if level <= FINEST and len(rows_Q) > 4 * NODES:
            keys, charges = pseudo_keys(key_K1, charge_KC, width=2.0**-level)
        if len(rows_Q) > 0:
            sums_QC[rows_Q] = exact_sums(query_Q1[rows_Q], keys, charges)
    return sums_QC
