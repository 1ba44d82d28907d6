"""Averages under a Gaussian kernel over millions of keys: the arithmetic of kernel regression.

Legend: Q queries, K keys, D features, V values, C charges (a one and V values).
Coordinates are in bandwidths, so the score of a query and a key is -|q - k|²/2.

Three methods with the same result, from the simplest to the fastest:

* *exact*: key by key in tiles, skipping keys of negligible weight;
* *compressed* (one feature): the keys of a short box are replaced by a few Chebyshev nodes;
* *transformed* (up to three features): queries too are replaced by nodes, so that the time grows
  with Q + K and not with Q·K.

The fastest returns which queries it cannot compute to 1e-10; the other two compute those.
"""

import numpy as np

from regard.attention.kernel_regression.compress import (
    NODES,
    Floats,
    Grid,
    pseudo_keys,
    transform,
    transform_pays,
)
from regard.attention.kernel_regression.tiles import exact_sums

DENSE_PAIRS = 1 << 18  # with fewer pairs always exact
FINEST = 10  # boxes are at least 2^-10 bandwidths wide: queries further away need few keys


def gaussian_average(query_QD: Floats, key_KD: Floats, value_KV: Floats) -> Floats:
    """Average the values, weighted by softmax_k(-|q - k|²/2): attention with the Gaussian score.

    The result, (Q, V), lies within the range of the values, and a query far from every key gets
    the value of the nearest. Memory grows with Q + K.

    >>> key = np.array([[0.0], [1.0]])
    >>> gaussian_average(np.array([[0.5], [-90.0]]), key, key)
    array([[0.5],
           [0. ]])
    """
    low_V, high_V = value_KV.min(0), value_KV.max(0)
    middle_V, half_V = high_V / 2 + low_V / 2, high_V / 2 - low_V / 2
    half_V[half_V == 0] = 1.0
    charge_KC = np.concatenate([np.ones((len(key_KD), 1)), (value_KV - middle_V) / half_V], axis=1)
    sums_QC = gaussian_sums(query_QD, key_KD, charge_KC)
    average_QV = np.clip(sums_QC[:, 1:] / sums_QC[:, :1], -1.0, 1.0)
    averages: Floats = np.clip(average_QV * half_V + middle_V, low_V, high_V)
    return averages


def gaussian_sums(query_QD: Floats, key_KD: Floats, charge_KC: Floats) -> Floats:
    """Return Σ_k exp(-|q - k|²/2) charge_k up to one positive factor per query, (Q, C).

    The first charge must be positive; dividing by its sum cancels the factor.
    """
    num_queries, num_features = query_QD.shape
    num_charges = charge_KC.shape[1]
    if num_queries * len(key_KD) <= DENSE_PAIRS:
        return exact_sums(query_QD, key_KD, charge_KC)
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


def merge_duplicates(key_K1: Floats, charge_KC: Floats) -> tuple[Floats, Floats]:
    """Sort keys of one feature and add up the charges of equal ones."""
    order_K = np.argsort(key_K1[:, 0])
    key_K1, charge_KC = key_K1[order_K], charge_KC[order_K]
    first_U = np.flatnonzero(np.diff(key_K1[:, 0], prepend=np.nan) != 0)  # nan differs from all
    if len(first_U) == len(key_K1):
        return key_K1, charge_KC
    return key_K1[first_U], np.add.reduceat(charge_KC, first_U, axis=0)


def compressed_sums(query_Q1: Floats, key_K1: Floats, charge_KC: Floats) -> Floats:
    """Sum over sorted keys of one feature, through Chebyshev nodes wherever those are fewer.

    For a query at distance d from its nearest key the kernel falls like e^(-d·s), so its boxes may
    be 1/d wide: queries are grouped by the power of two in d, and each group has its own nodes.
    """
    key_K, query_Q = key_K1[:, 0], query_Q1[:, 0]
    above_Q = np.searchsorted(key_K, query_Q).clip(max=len(key_K) - 1)
    below_Q = (above_Q - 1).clip(min=0)
    gap_Q = np.minimum(np.abs(key_K[above_Q] - query_Q), np.abs(key_K[below_Q] - query_Q))
    level_Q = np.log2(gap_Q.clip(1.0, 2.0 ** (FINEST + 1))).astype(int)
    sums_QC = np.empty((len(query_Q1), charge_KC.shape[1]))
    for level in np.unique(level_Q).tolist():
        rows_Q = np.flatnonzero(level_Q == level)
        keys, charges = key_K1, charge_KC
        if level <= FINEST and len(rows_Q) > 4 * NODES:
            keys, charges = pseudo_keys(key_K1, charge_KC, width=2.0**-level)
        sums_QC[rows_Q] = exact_sums(query_Q1[rows_Q], keys, charges)
    return sums_QC
