"""The Gaussian kernel compressed: Chebyshev nodes instead of keys and queries.

Legend: Q queries, K keys, N points, D features, C charges, B boxes, P polynomials per feature,
M = P^D their products. Coordinates are in bandwidths; a box is one bandwidth wide in each feature.

Over such a box the kernel is nearly a polynomial: interpolation at P Chebyshev nodes has an error
of 2/(4^P √P!) of its peak, 3e-14 for P = 14. So the charges of a box's keys can be moved to its
nodes (*anterpolation*), and queries can be interpolated from the nodes of their box: the fast Gauss
transform of Greengard and Strain (1991), in Chebyshev polynomials. Charges are stored as moments
Σ_k charge_k T_m(coord_k), one per polynomial, coord_k being the coordinates in the box.

These are many short steps, in NumPy rather than torch, because threads gain little for them.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

NODES = 14
REACH = 9  # boxes to either side; keys further away weigh at most e^-40.5 = 3e-18
MARGIN = 4.0  # the grid ends this many bandwidths beyond the keys
BUDGET = 3 << 24  # moments held for all boxes: 400 MB of float64
CHUNK = 1 << 17  # polynomials evaluated at once: a megabyte, which stays in cache
PRODUCT = 1 << 18  # multiplications in one matrix product: few enough for one thread
NOISE = 1e-14  # error of a transformed sum, per unit of charge within reach
TOLERANCE = 1e-10  # wanted of a weighted average, relative to the spread of the values


@dataclass(frozen=True)
class Grid:
    """Adjacent boxes from an origin, (D,)."""

    origin: Floats
    shape: tuple[int, ...]

    @classmethod
    def over(cls, query_QD: Floats, key_KD: Floats, num_charges: int) -> Self | None:
        """Cover all keys and the queries near them; None where that takes too many boxes."""
        num_features = key_KD.shape[1]
        if num_features > 3:
            return None
        key_low_D, key_high_D = key_KD.min(0), key_KD.max(0)
        low_D = np.minimum(np.maximum(query_QD.min(0), key_low_D - MARGIN), key_low_D)
        high_D = np.maximum(np.minimum(query_QD.max(0), key_high_D + MARGIN), key_high_D)
        extents = [extent + 1.0 for extent in (high_D - low_D).tolist()]
        if math.prod(extents) * NODES**num_features * num_charges > BUDGET:
            return None
        return cls(low_D, tuple(int(extent) for extent in extents))

    @property
    def num_boxes(self) -> int:
        """Number of boxes."""
        return math.prod(self.shape)

    def locate(self, point_ND: Floats) -> tuple[Ints, Floats, Bools]:
        """Return each point's box, its coordinates in it from -1 to 1, and whether it is inside."""
        offset_ND = point_ND - self.origin
        inside_N: Bools = np.all((offset_ND >= 0) & (offset_ND <= np.array(self.shape)), axis=1)
        np.clip(offset_ND, 0.0, self.shape, out=offset_ND)
        cell_ND = np.minimum(offset_ND.astype(np.intp), np.array(self.shape) - 1)
        box_N = cell_ND[:, 0]
        for d, length in enumerate(self.shape[1:], start=1):
            box_N = box_N * length + cell_ND[:, d]
        return box_N, 2 * (offset_ND - cell_ND) - 1, inside_N

    def crowd(self, box_K: Ints, charge_K: Floats | None = None) -> Floats:
        """Add up the charges, or count the keys, within reach of each box, (B,)."""
        charge_B = np.bincount(box_K, charge_K, minlength=self.num_boxes).astype(np.float64)
        return spread(charge_B[:, None], self.shape, np.ones((2 * REACH + 1, 1, 1)))[:, 0]


def transform_pays(grid: Grid, query_QD: Floats, key_KD: Floats, num_charges: int) -> bool:
    """Tell whether the transform takes less time than summing over the keys within reach.

    The factors are nanoseconds on one ordinary core; only their ratios matter.
    """
    crowd_B = grid.crowd(grid.locate(key_KD)[0])
    pairs = float(crowd_B[grid.locate(query_QD)[0]].sum())
    moments = NODES ** len(grid.shape) * num_charges
    translations = len(grid.shape) * (2 * REACH + 1) * NODES * grid.num_boxes
    transformed = moments * (4 * (len(query_QD) + len(key_KD)) + translations / 8)
    return bool(transformed < pairs * (4 + num_charges / 8) + 3000 * len(query_QD))


def transform(
    grid: Grid, query_QD: Floats, key_KD: Floats, charge_KC: Floats
) -> tuple[Floats, Bools]:
    """Return Σ_k exp(-|q - k|²/2) charge_k, (Q, C), and which queries it is good for, (Q,).

    The error is a small fraction of the charge within reach, whatever the sum itself; the result is
    good where the first charge's sum is large relative to that error.
    """
    box_K, coord_KD, _ = grid.locate(key_KD)
    field_BCM = spread(
        anterpolate(box_K, coord_KD, charge_KC, grid.num_boxes), grid.shape, gaussian_translations()
    )
    box_Q, coord_QD, inside_Q = grid.locate(query_QD)
    sums_QC = interpolate(box_Q, coord_QD, field_BCM)
    noise_Q = NOISE * grid.crowd(box_K, charge_KC[:, 0])[box_Q]
    return sums_QC, inside_Q & (noise_Q < TOLERANCE * sums_QC[:, 0])


def pseudo_keys(key_K1: Floats, charge_KC: Floats, width: float) -> tuple[Floats, Floats]:
    """Replace sorted keys of one feature by the nodes of boxes of a width, where those are fewer.

    The nodes' charges add up to the keys' and may be negative: q_j = Σ_k charge_k L_j(coord_k).
    """
    offset_K1 = (key_K1 - key_K1[0]) / width
    cell_K1 = np.floor(offset_K1)
    cell_B, box_K = np.unique(cell_K1[:, 0], return_inverse=True)
    if 2 * len(cell_B) * NODES > len(key_K1):
        return key_K1, charge_KC
    moment_BCP = anterpolate(box_K, 2 * (offset_K1 - cell_K1) - 1, charge_KC, len(cell_B))
    node_P, lagrange_PP = chebyshev_nodes()
    node_BP = (cell_B[:, None] + (node_P + 1) / 2) * width + key_K1[0]
    charge_BPC = lagrange_PP @ moment_BCP.transpose(0, 2, 1)
    return node_BP.reshape(-1, 1), charge_BPC.reshape(len(cell_B) * NODES, -1)


def polynomials(coord_ND: Floats) -> Floats:
    """Evaluate the Chebyshev polynomials T_0 .. T_(P-1), and their products for D > 1, (M, N)."""
    product_MN = np.ones((1, len(coord_ND)))
    for coord_N in coord_ND.T:
        value_PN = np.empty((NODES, len(coord_ND)))
        value_PN[0], value_PN[1] = 1.0, coord_N
        twice_N = 2 * coord_N
        for degree in range(2, NODES):
            np.multiply(twice_N, value_PN[degree - 1], out=value_PN[degree])
            value_PN[degree] -= value_PN[degree - 2]
        product_MN = (product_MN[:, None] * value_PN).reshape(-1, len(coord_ND))
    return product_MN


def anterpolate(box_K: Ints, coord_KD: Floats, charge_KC: Floats, num_boxes: int) -> Floats:
    """Return the moments Σ_k charge_k T_m(coord_k) of each box, (B, C, M)."""
    num_moments, num_charges = NODES ** coord_KD.shape[1], charge_KC.shape[1]
    moment_BCM = np.zeros((num_boxes, num_charges, num_moments))
    order_K = np.argsort(box_K, kind="stable")
    step = max(64, CHUNK // (num_moments * num_charges))
    for start in range(0, len(box_K), step):
        chosen = order_K[start : start + step]
        boxes, first = np.unique(box_K[chosen], return_index=True)
        polynomial_MN = polynomials(coord_KD[chosen])
        for c in range(num_charges):
            sums_MB = np.add.reduceat(polynomial_MN * charge_KC[chosen, c], first, axis=1)
            moment_BCM[boxes, c] += sums_MB.T
    return moment_BCM


def interpolate(box_Q: Ints, coord_QD: Floats, field_BCM: Floats) -> Floats:
    """Evaluate each query's sums from the polynomial field of its box, (Q, C)."""
    num_charges, num_moments = field_BCM.shape[1:]
    sums_QC = np.empty((len(box_Q), num_charges))
    step = max(64, CHUNK // (num_moments * num_charges))
    for start in range(0, len(box_Q), step):
        chosen = slice(start, start + step)
        polynomial_QM = np.ascontiguousarray(polynomials(coord_QD[chosen]).T)
        sums_QC[chosen] = np.einsum("qm,qcm->qc", polynomial_QM, field_BCM[box_Q[chosen]])
    return sums_QC


def spread(moment: Floats, shape: tuple[int, ...], translation_RPP: Floats) -> Floats:
    """Carry moments from each box to all boxes within reach, one feature at a time.

    This is exact because the Gaussian is a product over features. Takes and returns (B, ..., M).
    """
    given, num_nodes, num_features = moment.shape, translation_RPP.shape[1], len(shape)
    field = moment.reshape(*shape, -1, *(num_nodes,) * num_features)
    del moment  # these are large: at most two exist at any time
    for d, length in enumerate(shape):
        ends = (d, num_features + 1 + d), (0, -1)
        moved_shape = np.moveaxis(field, *ends).shape
        source_BXP = np.moveaxis(field, *ends).reshape(length, -1, num_nodes)
        del field
        field = carry(source_BXP, translation_RPP).reshape(moved_shape)
        field = np.moveaxis(field, *reversed(ends))
        del source_BXP
    return field.reshape(given)


def carry(source_BXP: Floats, translation_RPP: Floats) -> Floats:
    """Return target[b] = Σ_r source[b + r] @ translation[r] over r from -REACH to REACH."""
    length, width, num_nodes = source_BXP.shape
    source_YP, target_YP = source_BXP.reshape(-1, num_nodes), np.zeros((length * width, num_nodes))
    reach = min(REACH, length - 1)
    step = max(1, PRODUCT // num_nodes**2)
    for start in range(0, len(source_YP), step):
        for r in range(-reach, reach + 1):
            low = max(start, -r * width)
            high = min(start + step, len(source_YP), len(source_YP) - r * width)
            if low < high:
                neighbor = source_YP[low + r * width : high + r * width]
                target_YP[low:high] += neighbor @ translation_RPP[r + REACH]
    return target_YP.reshape(source_BXP.shape)


@cache
def chebyshev_nodes() -> tuple[Floats, Floats]:
    """Return the P nodes in [-1, 1] and their Lagrange basis in polynomials, (node, polynomial)."""
    angle_P = math.pi * (np.arange(NODES) + 0.5) / NODES
    lagrange_PP = np.cos(angle_P[:, None] * np.arange(NODES)) * (2 / NODES)
    lagrange_PP[:, 0] /= 2
    return np.cos(angle_P), lagrange_PP


@cache
def gaussian_translations() -> Floats:
    """Return the kernel between boxes r apart in Chebyshev polynomials, (2·REACH + 1, P, P)."""
    node_P, lagrange_PP = chebyshev_nodes()
    apart_R11 = np.arange(-REACH, REACH + 1.0)[:, None, None]
    gap_RPP = apart_R11 + (node_P[:, None] - node_P) / 2
    translation_RPP: Floats = lagrange_PP.T @ np.exp(-0.5 * gap_RPP**2) @ lagrange_PP
    return translation_RPP
