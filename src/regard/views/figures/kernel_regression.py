"""Kernel regression: the samples, the estimated curve, and the weights at one query."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import Figure, new_figure
from regard.views.maps.arrays import Floats, as_floats

NUM_POINTS = 400  # of a curve
MAX_STEMS = 300  # samples whose weights have a line each


def kernel_regression_figure(
    x: Any,
    y: Any,
    estimator: Any,
    *,
    query: float | None = None,
    truth: Any = None,
    title: str = "Nadaraya–Watson kernel regression",
) -> Figure:
    """Draw samples x, y (n,), the fitted `estimator`'s curve, and below the weights at `query`.

    The estimator is a fitted `NadarayaWatson` of one feature, or anything with `predict` and
    `attention_weights`. `query` is the middle of the samples by default; `truth` is a function of
    x, drawn dashed, and evaluated only between the smallest and the largest sample.
    """
    points, values = as_floats(x).reshape(-1), as_floats(y).reshape(-1)
    if len(points) != len(values) or not len(points):
        raise ValueError(
            "x and y must have the same number of values, at least one, got "
            f"{len(points)} and {len(values)}."
        )
    low, high = float(points.min()), float(points.max())
    query_x = (low + high) / 2 if query is None else float(query)
    margin = 0.03 * (high - low or 1.0)
    line = np.linspace(min(low, query_x) - margin, max(high, query_x) + margin, NUM_POINTS)
    curve = as_floats(estimator.predict(line[:, None])).reshape(-1)
    weights = as_floats(estimator.attention_weights([[query_x]]))[0]
    samples = _samples(estimator, points, len(weights))
    query_y = float(as_floats(estimator.predict([[query_x]])).reshape(-1)[0])
    with new_figure((7.6, 5.6), [title]) as builder:
        grid = builder.canvas.add_gridspec(2, 1, height_ratios=(3, 1.3))
        upper = builder.canvas.add_subplot(grid[0])
        lower = builder.canvas.add_subplot(grid[1], sharex=upper)
        if len(samples) == len(points):
            upper.scatter(
                points,
                values,
                c=(weights / weights.max()) ** palette.GAMMA,
                vmin=0,
                vmax=1,
                s=28,
                cmap=palette.color_map("weights"),
                edgecolors=palette.MUTED,
                linewidths=0.7,
                label="sample (as blue as its weight)",
            )
        else:
            upper.scatter(points, values, s=12, color=palette.MUTED, label="sample")
        if truth is not None:
            within = np.linspace(low, high, NUM_POINTS)
            true = as_floats([truth(point) for point in within])
            upper.plot(within, true, "--", color=palette.MUTED, label="truth")
        upper.plot(line, curve, color=palette.ACCENT, linewidth=2, label="estimate")
        upper.plot([query_x], [query_y], "D", color=palette.SECOND, markersize=7, label="query")
        upper.set(title=builder.fonts.printable(title), ylabel="y")
        upper.tick_params(labelbottom=False)
        upper.legend(loc="best")
        if len(samples) <= MAX_STEMS:
            lower.vlines(samples, 0, weights, color=palette.ACCENT, linewidth=1.6)
        lower.plot(samples, weights, "o", color=palette.ACCENT, markersize=3)
        lower.set_ylim(bottom=0)
        lower.set(xlabel="x", ylabel=f"weight at x = {query_x:.3g}")
        for axes in (upper, lower):
            axes.axvline(query_x, color=palette.SECOND, linewidth=0.9, linestyle=":")
            axes.grid(True)
            axes.spines[["top", "right"]].set_visible(False)
        return builder.finish(f"kernel regression of {len(points)} samples")


def _samples(estimator: Any, points: Floats, num_weights: int) -> Floats:
    """The estimator's own samples: the keys that the weights belong to."""
    fitted = getattr(estimator, "X_", None)
    if fitted is not None:
        if np.ndim(fitted) == 2 and np.shape(fitted)[1] != 1:
            raise ValueError(f"estimator must have one feature, got {np.shape(fitted)[1]}.")
        return as_floats(fitted).reshape(-1)
    if num_weights != len(points):
        raise ValueError(f"x must have the estimator's {num_weights} samples, got {len(points)}.")
    return points
