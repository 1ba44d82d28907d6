"""Means with their intervals, over seeds or over samples, and curves through them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.views.charts.panels import Curve, Words

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""The 97.5 % quantile of Student's t distribution with 1, 2, … degrees of freedom."""


class Estimate(NamedTuple):
    """A mean with the 95 % interval around it."""

    mean: float
    low: float
    high: float

    def overlaps(self, other: Estimate) -> bool:
        """Whether the two intervals have a value in common."""
        return self.low <= other.high and other.low <= self.high

    def written(self, digits: int = 2) -> str:
        """Such as "0.52 [0.49, 0.55]", in any language; the mean alone without an interval."""
        if self.low == self.high:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and 95 % interval: mean ± t · s / √n with Student's t; a single value has none."""
    numbers = np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    if len(numbers) < 2:
        return Estimate(mean, mean, mean)
    quantile = _T[len(numbers) - 2] if len(numbers) - 2 < len(_T) else 1.96
    margin = quantile * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return Estimate(mean, mean - margin, mean + margin)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> Estimate:
    """The exponent p of cost ≈ c · size^p, with its 95 % interval from the residuals.

    By least squares over the logarithms; two sizes have no residuals, and so no interval.

    >>> exponent([100, 200, 400], [3.0, 12.0, 48.0]).written()
    '2.00'
    """
    x, y = np.log(sizes), np.log(costs)
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    residuals = y - y.mean() - slope * x
    freedom = len(x) - 2
    if freedom < 1 or float(np.abs(residuals).max()) < 1e-9:
        return Estimate(slope, slope, slope)
    quantile = _T[freedom - 1] if freedom <= len(_T) else 1.96
    margin = quantile * math.sqrt(float(residuals @ residuals) / freedom / float(x @ x))
    return Estimate(slope, slope - margin, slope + margin)


def share(hits: int, total: int) -> Estimate:
    """A share with its 95 % Wilson interval, which stays within 0 and 1."""
    if total == 0:
        return Estimate(math.nan, math.nan, math.nan)
    z, part = 1.96, hits / total
    middle = (part + z * z / (2 * total)) / (1 + z * z / total)
    margin = (z / (1 + z * z / total)) * math.sqrt(
        part * (1 - part) / total + z * z / (4 * total * total)
    )
    return Estimate(
        part, max(0.0, min(part, middle - margin)), min(1.0, max(part, middle + margin))
    )


def estimated_curve(name: Words, x: Sequence[float], estimates: Sequence[Estimate]) -> Curve:
    """A curve through the means, its band from `low` to `high`."""
    means, low, high = ([interval[end] for interval in estimates] for end in range(3))
    return Curve(name, x, means, low, high)
