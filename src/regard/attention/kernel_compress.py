"""Chebyshev nodes in place of keys and queries: the Gaussian kernel compressed.

Legend: Q queries, K keys, N points, D features, C charges, B boxes, P polynomials per feature.
Coordinates are in bandwidths, and a box is one bandwidth wide in each feature.

Over such a box the kernel is all but a polynomial: interpolated at P Chebyshev nodes it is off by
2/(4^P √P!) of its peak, 3e-14 for P = 14. So the keys of a box may hand their charges to its nodes
(*anterpolation*), and queries may read off the nodes of their box (*interpolation*): the fast Gauss
transform of Greengard and Strain (1991), in Chebyshev polynomials. Charges are kept as moments
Σ_k charge_k T_p(place_k), one per polynomial, the product of one per feature for D > 1.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Self

import torch
from torch import Tensor

NODES = 14
REACH = 9  # boxes to either side; what lies further weighs at most e^-40.5 = 3e-18
MARGIN = 4.0  # the grid ends this many bandwidths beyond the keys
BUDGET = 3 << 24  # moments held for all boxes: 400 MB of float64
CHUNK = 1 << 19  # polynomials evaluated at once
NOISE = 1e-14  # error of a transformed sum, per unit of charge within reach
TOLERANCE = 1e-10  # wanted of a weighted average, relative to the spread of the values


@dataclass(frozen=True)
class Grid:
    """Boxes laid side by side from an origin, (D,)."""

    origin: Tensor
    shape: tuple[int, ...]

    @classmethod
    def over(cls, query_QD: Tensor, key_KD: Tensor, num_charges: int) -> Self | None:
        """Cover all keys and the queries near them; None where that takes too many boxes."""
        num_features = key_KD.shape[1]
        if num_features > 3:
            return None
        key_low_D, key_high_D = key_KD.amin(0), key_KD.amax(0)
        low_D = query_QD.amin(0).maximum(key_low_D - MARGIN).minimum(key_low_D)
        high_D = query_QD.amax(0).minimum(key_high_D + MARGIN).maximum(key_high_D)
        extents = [extent + 1.0 for extent in (high_D - low_D).tolist()]
        if math.prod(extents) * NODES**num_features * num_charges > BUDGET:
            return None
        return cls(low_D, tuple(int(extent) for extent in extents))

    @property
    def num_boxes(self) -> int:
        """How many boxes there are."""
        return math.prod(self.shape)

    def locate(self, point_ND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return each point's box, its place there from -1 to 1, and whether it is in the grid."""
        offset_ND = point_ND - self.origin
        shape_D = offset_ND.new_tensor(self.shape)
        inside_N = ((offset_ND >= 0) & (offset_ND <= shape_D)).all(1)
        cell_ND = offset_ND.floor().clamp_(min=0.0).minimum(shape_D - 1)
        place_ND = (offset_ND - cell_ND).mul_(2).sub_(1).clamp_(-1.0, 1.0)
        box_N = torch.zeros(len(point_ND), dtype=torch.long)
        for d, length in enumerate(self.shape):
            box_N = box_N * length + cell_ND[:, d].long()
        return box_N, place_ND, inside_N

    def crowd(self, box_K: Tensor, charge_K: Tensor) -> Tensor:
        """Add up the charges within reach of each box, (B,)."""
        charge_B = torch.bincount(box_K, charge_K, minlength=self.num_boxes)
        return spread(charge_B[:, None], self.shape, charge_B.new_ones(2 * REACH + 1, 1, 1))[:, 0]


def transform_pays(grid: Grid, query_QD: Tensor, key_KD: Tensor, num_charges: int) -> bool:
    """Tell whether the transform takes less time than summing over the keys within reach.

    The factors are nanoseconds on one ordinary core; only their ratios matter.
    """
    crowd_B = grid.crowd(grid.locate(key_KD)[0], key_KD.new_ones(len(key_KD)))
    pairs = float(crowd_B[grid.locate(query_QD)[0]].sum())
    moments = NODES ** len(grid.shape) * num_charges
    translations = len(grid.shape) * (2 * REACH + 1) * NODES * grid.num_boxes
    transformed = moments * (4 * (len(query_QD) + len(key_KD)) + translations / 8)
    return transformed < pairs * (4 + num_charges / 8) + 3000 * len(query_QD)


def transform(
    grid: Grid, query_QD: Tensor, key_KD: Tensor, charge_KC: Tensor
) -> tuple[Tensor, Tensor]:
    """Return Σ_k exp(-|q - k|²/2) charge_k, (Q, C), and which queries it is good for, (Q,).

    The error is a small fraction of the charge within reach, however small the sum itself; where
    the first charge's sum is not large beside that error, the query is not to be trusted.
    """
    num_charges = charge_KC.shape[1]
    box_K, place_KD, _ = grid.locate(key_KD)
    field_BM = spread(
        anterpolate(box_K, place_KD, charge_KC, grid.num_boxes), grid.shape, gaussian_translations()
    )
    box_Q, place_QD, inside_Q = grid.locate(query_QD)
    sums_QC = interpolate(box_Q, place_QD, field_BM, num_charges)
    noise_Q = NOISE * grid.crowd(box_K, charge_KC[:, 0])[box_Q]
    return sums_QC, inside_Q & (noise_Q < TOLERANCE * sums_QC[:, 0])


def pseudo_keys(key_K1: Tensor, charge_KC: Tensor, width: float) -> tuple[Tensor, Tensor]:
    """Replace sorted keys of one feature by the nodes of boxes of a width, where those are fewer.

    The nodes' charges add up to the keys' and may be negative: q_j = Σ_k charge_k L_j(place_k).
    """
    offset_K1 = (key_K1 - key_K1[0]) / width
    cell_K1 = offset_K1.floor()
    cell_B, box_K = torch.unique_consecutive(cell_K1[:, 0], return_inverse=True)
    if 2 * len(cell_B) * NODES > len(key_K1):
        return key_K1, charge_KC
    moment_BM = anterpolate(box_K, 2 * (offset_K1 - cell_K1) - 1, charge_KC, len(cell_B))
    node_P, lagrange_PP = chebyshev_nodes()
    node_BP = (cell_B[:, None] + (node_P + 1) / 2) * width + key_K1[0]
    charge_BPC = lagrange_PP @ moment_BM.view(len(cell_B), NODES, -1)
    return node_BP.reshape(-1, 1), charge_BPC.flatten(0, 1)


def polynomials(place_ND: Tensor) -> Tensor:
    """Evaluate the Chebyshev polynomials T_0 .. T_(P-1), and their products for D > 1, (N, P^D)."""
    product_NM = place_ND.new_ones(len(place_ND), 1)
    for place_N in place_ND.unbind(1):
        value_PN = place_N.new_ones(NODES, len(place_N))
        value_PN[1] = place_N
        for degree in range(2, NODES):
            torch.mul(place_N, value_PN[degree - 1], out=value_PN[degree])
            value_PN[degree].mul_(2).sub_(value_PN[degree - 2])
        product_NM = (product_NM[:, :, None] * value_PN.T[:, None, :]).flatten(1)
    return product_NM


def anterpolate(box_K: Tensor, place_KD: Tensor, charge_KC: Tensor, num_boxes: int) -> Tensor:
    """Return the moments Σ_k charge_k T_p(place_k) of each box, (B, P^D·C)."""
    width = NODES ** place_KD.shape[1] * charge_KC.shape[1]
    moment_BM = charge_KC.new_zeros(num_boxes, width)
    step = max(1, CHUNK // width)
    pieces = zip(box_K.split(step), place_KD.split(step), charge_KC.split(step), strict=True)
    for boxes, places, charges in pieces:
        moment_BM.index_add_(
            0, boxes, (polynomials(places)[:, :, None] * charges[:, None]).flatten(1)
        )
    return moment_BM


def interpolate(box_Q: Tensor, place_QD: Tensor, field_BM: Tensor, num_charges: int) -> Tensor:
    """Read each query's sums off the polynomial field of its box, (Q, C)."""
    step = max(1, CHUNK // field_BM.shape[1])
    return torch.cat(
        [
            torch.einsum(
                "qm,qmc->qc", polynomials(places), field_BM[boxes].unflatten(1, (-1, num_charges))
            )
            for boxes, places in zip(box_Q.split(step), place_QD.split(step), strict=True)
        ]
    )


def spread(moment_BM: Tensor, shape: tuple[int, ...], translation_RPP: Tensor) -> Tensor:
    """Carry moments from each box to all boxes within reach, one feature at a time, (B, P^D·C).

    The Gaussian is a product over features, so that is exact.
    """
    num_boxes, num_nodes, num_features = len(moment_BM), translation_RPP.shape[1], len(shape)
    field = moment_BM.view(*shape, *(num_nodes,) * num_features, -1)
    del moment_BM  # these are large: only two are held at any time
    for d, length in enumerate(shape):
        ends = (d, num_features + d), (0, -1)
        moved_shape = field.movedim(*ends).shape
        source_BXP = field.movedim(*ends).reshape(length, -1, num_nodes)
        del field
        field = carry(source_BXP, translation_RPP).view(moved_shape).movedim(*reversed(ends))
        del source_BXP
    return field.reshape(num_boxes, -1)


def carry(source_BXP: Tensor, translation_RPP: Tensor) -> Tensor:
    """Return target[b] = Σ_r source[b + r] @ translation[r] over r from -REACH to REACH."""
    length = len(source_BXP)
    target_BXP = source_BXP.new_zeros(source_BXP.shape)
    reach = min(REACH, length - 1)
    for r in range(-reach, reach + 1):
        there = source_BXP[max(r, 0) : length + min(r, 0)].flatten(0, 1)
        here = target_BXP[max(-r, 0) : length + min(-r, 0)].flatten(0, 1)
        here.addmm_(there, translation_RPP[r + REACH])
    return target_BXP


@cache
def chebyshev_nodes() -> tuple[Tensor, Tensor]:
    """Return the P nodes in [-1, 1] and their Lagrange basis in polynomials, (node, polynomial)."""
    index_P = torch.arange(NODES, dtype=torch.float64)
    node_P = torch.cos(math.pi * (index_P + 0.5) / NODES)
    lagrange_PP = torch.cos(node_P.arccos()[:, None] * index_P) * (2 / NODES)
    lagrange_PP[:, 0] /= 2
    return node_P, lagrange_PP


@cache
def gaussian_translations() -> Tensor:
    """Return the kernel between boxes r apart in Chebyshev polynomials, (2·REACH + 1, P, P)."""
    node_P, lagrange_PP = chebyshev_nodes()
    apart_R = torch.arange(-REACH, REACH + 1, dtype=torch.float64)
    gap_RPP = apart_R[:, None, None] + (node_P[:, None] - node_P) / 2
    return lagrange_PP.T @ gap_RPP.square().mul_(-0.5).exp_() @ lagrange_PP
