"""The Gaussian kernel summed key by key, in tiles, without keys of negligible weight.

Legend: Q queries, K keys, N points, D features, C charges, B blocks, S points of a block.
Coordinates are in bandwidths. Keys and queries are cut into compact blocks by a k-d order, and a
block of queries reads only the blocks of keys that are not negligible beside its nearest key. The
tiles are computed by torch, on all its threads; inputs and outputs are arrays.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Score = Callable[[Tensor, Tensor], Tensor]

LEAF = 64  # points of a block, at most
QUERY_BLOCKS = 256  # few queries are cut into smaller blocks, up to this many ...
BLOCK_PAIRS = 1 << 18  # ... of at least this many pairs
FEW_QUERIES = 64  # per feature: for fewer, sorting the keys takes longer than reading them
TILE = 1 << 18  # scores held at once: two megabytes of float64, which stay in cache
PLAN_BLOCKS, PLAN_PAIRS = 64, 1 << 21  # blocks of queries, and pairs of blocks, planned at once
NEGLIGIBLE = 40.0  # e^-40 = 4e-18: the weight of all skipped keys relative to the nearest
UNDERFLOW = -600.0  # lower bound of scores, since exp is slow where it underflows
ROUNDING = 1e-14  # of a squared distance
CENTERED = 256.0  # within this radius a centered dot product rounds a score by less than 1e-11


def gaussian_weights(query_QD: Floats, key_KD: Floats) -> Floats:
    """Return the whole attention map softmax_k(-|q - k|²/2), (Q, K), each row summing to one."""
    score_QK = distance_score(torch.from_numpy(query_QD), torch.from_numpy(key_KD))
    weights_QK = distance_drop(score_QK, score_QK.amax(1, keepdim=True)).exp_()
    return weights_QK.div_(weights_QK.sum(1, keepdim=True)).numpy()


def exact_sums(query_QD: Floats, key_KD: Floats, charge_KC: Floats) -> Floats:
    """Return Σ_k exp(-|q - k|²/2) charge_k up to one positive factor per query, (Q, C)."""
    query, key, charge = map(torch.from_numpy, (query_QD, key_KD, charge_KC))
    num_queries, num_features = query_QD.shape
    if num_queries <= FEW_QUERIES * num_features or query_QD.size * len(key_KD) <= BLOCK_PAIRS:
        return tile_sums(query, key, charge, *BY_DISTANCE).numpy()
    return block_sums(query, key, charge).numpy()


def block_sums(query_QD: Tensor, key_KD: Tensor, charge_KC: Tensor) -> Tensor:
    """Return the same sums block by block, for many queries."""
    num_queries = len(query_QD)
    leaf = max(1, min(LEAF, num_queries // QUERY_BLOCKS), BLOCK_PAIRS // len(key_KD))
    rows_BS, columns_BS = kd_blocks(query_QD, leaf), kd_blocks(key_KD, LEAF)
    # the index past the end is padding: a copy of the last point, without charge
    query_BSD = torch.cat([query_QD, query_QD[-1:]])[rows_BS]
    key_BSD = torch.cat([key_KD, key_KD[-1:]])[columns_BS]
    charge_BSC = torch.cat([charge_KC, torch.zeros_like(charge_KC[-1:])])[columns_BS]
    mass = max(1.0, float(charge_KC[:, 0].abs().sum()))
    sums_QC = query_QD.new_zeros(num_queries + 1, charge_KC.shape[1])
    plan = block_plan(query_BSD, key_BSD, cut=NEGLIGIBLE + math.log(mass))
    for rows_S, query_SD, (picked_B, radius) in zip(rows_BS, query_BSD, plan, strict=True):
        keys, charges = key_BSD[picked_B].flatten(0, 1), charge_BSC[picked_B].flatten(0, 1)
        if radius <= CENTERED:
            center_D = query_SD.mean(0)
            sums_QC[rows_S] = tile_sums(query_SD - center_D, keys - center_D, charges, *BY_DOT)
        else:
            sums_QC[rows_S] = tile_sums(query_SD, keys, charges, *BY_DISTANCE)
    return sums_QC[:num_queries]


def kd_blocks(point_ND: Tensor, leaf: int) -> Tensor:
    """Cut points into compact blocks of at most ``leaf``: indices (B, S), N for padding.

    A block is halved at the median of its widest feature until it is small enough.
    """
    num_points, num_features = point_ND.shape
    depth = max(0, math.ceil(math.log2(num_points / leaf)))
    size = math.ceil(num_points / 2**depth)
    padded_ND = torch.cat([point_ND, point_ND[-1:]])
    index_BS = torch.arange(size << depth).clamp_(max=num_points)[None]
    if num_features == 1:  # one sort is equal to all the halvings
        return index_BS[0, padded_ND[index_BS[0], 0].argsort()].view(-1, size)
    for _ in range(depth):
        block_BSD = padded_ND[index_BS]
        widest_B = (block_BSD.amax(1) - block_BSD.amin(1)).argmax(1)
        along_BS = block_BSD.gather(2, widest_B[:, None, None].expand(-1, block_BSD.shape[1], 1))
        index_BS = index_BS.gather(1, along_BS[:, :, 0].argsort(1)).view(2 * len(index_BS), -1)
    return index_BS


def block_plan(
    query_BSD: Tensor, key_BSD: Tensor, cut: float
) -> Iterator[tuple[Tensor | slice, float]]:
    """Yield for each block of queries the blocks of keys to read, and a radius with the best.

    A key can be skipped when for every query of the block some other key is nearer by 2·cut in
    squared distance: its weight is then below e^-cut of that one's. Two bounds by bounding boxes
    are used. One compares the box with each query's nearest key in one close block (tight where
    keys and queries overlap); the other compares it with one rival key: |q - k|² - |q - rival|² is
    linear in q, so only the corners of the query box count (tight for queries far from all keys).
    """
    all_BD2 = torch.stack([key_BSD.amin(1), key_BSD.amax(1)], dim=2)
    for blocks in query_BSD.split(max(1, min(PLAN_BLOCKS, PLAN_PAIRS // len(key_BSD)))):
        within_B = _within_reach(blocks.flatten(0, 1), all_BD2, cut)
        box_BD2, nearby_BSD = all_BD2[within_B], key_BSD[within_B]
        low_BD, high_BD, center_BD = blocks.amin(1), blocks.amax(1), blocks.mean(1)
        close_BSD = nearby_BSD[_squared_gaps(center_BD, center_BD, box_BD2).argmin(1)]
        nearest_B = distance_score(blocks, close_BSD).amax(2).amin(1).neg_()
        pick_B = distance_score(center_BD[:, None], close_BSD)[:, 0].argmax(1)
        rival_BD = close_BSD[torch.arange(len(blocks)), pick_B]
        radius_B = nearest_B + (high_BD - low_BD).norm(dim=1)
        slack_B1 = (2 * cut + ROUNDING * radius_B.square())[:, None]
        needed_BB = (
            _squared_gaps(low_BD, high_BD, box_BD2) <= nearest_B.square()[:, None] + slack_B1
        )
        needed_BB &= _least_lead(low_BD, high_BD, rival_BD, box_BD2) <= slack_B1
        for needed_B, radius in zip(needed_BB, radius_B.tolist(), strict=True):
            picked_B = within_B[needed_B]
            first, last = int(picked_B[0]), int(picked_B[-1])
            adjacent = last - first + 1 == len(picked_B)
            yield (slice(first, last + 1) if adjacent else picked_B), radius


def _within_reach(query_ND: Tensor, box_BD2: Tensor, cut: float) -> Tensor:
    """Return the boxes of keys that may matter to many queries, by the bounding box of these."""
    low_D, high_D = query_ND.amin(0), query_ND.amax(0)
    reach_BD = torch.maximum(box_BD2[:, :, 1] - low_D, high_D - box_BD2[:, :, 0])
    bound = reach_BD.square_().sum(1).amin()
    near_B = _squared_gaps(low_D[None], high_D[None], box_BD2)[0]
    return (near_B <= bound * (1 + ROUNDING) + 2 * cut).nonzero()[:, 0]


def _squared_gaps(low_AD: Tensor, high_AD: Tensor, box_BD2: Tensor) -> Tensor:
    """Return the squared distances between two families of boxes, zero where they meet, (A, B)."""
    gap_AB = low_AD.new_zeros(len(low_AD), len(box_BD2))
    for low_A1, high_A1, box_B2 in zip(*_features(low_AD, high_AD), box_BD2.unbind(1), strict=True):
        gap_AB += _outside(low_A1, high_A1, box_B2).square_()
    return gap_AB


def _least_lead(low_AD: Tensor, high_AD: Tensor, rival_AD: Tensor, box_BD2: Tensor) -> Tensor:
    """Return the least |q - k|² - |q - rival|² over q in a box of A and k in one of B, (A, B)."""
    lead_AB = low_AD.new_zeros(len(low_AD), len(box_BD2))
    parts = zip(*_features(low_AD, high_AD, rival_AD), box_BD2.unbind(1), strict=True)
    for low_A1, high_A1, rival_A1, box_B2 in parts:
        at_low_AB = _outside(low_A1, low_A1, box_B2).square_().sub_((low_A1 - rival_A1).square_())
        at_high_AB = _outside(high_A1, high_A1, box_B2).square_()
        lead_AB += torch.minimum(at_low_AB, at_high_AB.sub_((high_A1 - rival_A1).square_()))
    return lead_AB


def _features(*corner_AD: Tensor) -> Iterator[tuple[Tensor, ...]]:
    return (tuple(c[:, None] for c in corner.unbind(1)) for corner in corner_AD)


def _outside(low_A1: Tensor, high_A1: Tensor, box_B2: Tensor) -> Tensor:
    """Return the distance from intervals of A to intervals of B, (A, B)."""
    return torch.maximum(box_B2[:, 0] - high_A1, low_A1 - box_B2[:, 1]).clamp_(min=0.0)


def tile_sums(
    query_QD: Tensor, key_KD: Tensor, charge_KC: Tensor, score: Score, drop: Score
) -> Tensor:
    """Return Σ_k exp(drop(score_k, best)) charge_k, (Q, C), in tiles with a running best score."""
    sums_QC = query_QD.new_zeros(len(query_QD), charge_KC.shape[1])
    best_Q1 = query_QD.new_full((len(query_QD), 1), -torch.inf)
    step = max(1, TILE // max(1, len(query_QD)))
    for keys, charges in zip(key_KD.split(step), charge_KC.split(step), strict=True):
        score_QK = score(query_QD, keys)
        higher_Q1 = torch.maximum(best_Q1, score_QK.amax(1, keepdim=True))
        sums_QC *= drop(best_Q1, higher_Q1).exp_()
        sums_QC.addmm_(drop(score_QK, higher_Q1).clamp_(min=UNDERFLOW).exp_(), charges)
        best_Q1 = higher_Q1
    return sums_QC


def dot_score(query_QD: Tensor, key_KD: Tensor) -> Tensor:
    """Score q·k - |k|²/2 of centered points; the missing -|q|²/2 cancels in the softmax."""
    return torch.addmm(key_KD.square().sum(1).mul_(-0.5), query_QD, key_KD.T)


def distance_score(query_QD: Tensor, key_KD: Tensor) -> Tensor:
    """Score -|q - k| from the differences, accurate at any distance; also for batches."""
    exactly = "donot_use_mm_for_euclid_dist"
    return torch.cdist(query_QD, key_KD, compute_mode=exactly).neg_()


def distance_drop(score_QK: Tensor, best_Q1: Tensor) -> Tensor:
    """Return (best² - score²)/2 as a product, which keeps small drops between far keys accurate."""
    return (score_QK - best_Q1).mul_((score_QK + best_Q1).mul_(-0.5))


BY_DOT: tuple[Score, Score] = (dot_score, torch.sub)
BY_DISTANCE: tuple[Score, Score] = (distance_score, distance_drop)
