"""Kernel regression as a figure: the samples, the curve through them, the weights at one query."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.views.figures import palette
from regard.views.figures.figure import Figure, drawing
from regard.views.maps.layers import numbers

PLACES = 400  # where the curve is computed
MOST_STEMS = 300  # samples whose weights have a line each


def kernel_regression_figure(
    x: Any,
    y: Any,
    estimator: Any,
    *,
    query: float | None = None,
    truth: Any = None,
    title: str = "Nadaraya–Watson kernel regression",
) -> Figure:
    """Samples x, y (n,), the fitted `estimator`'s curve, and below the weights at `query`.

    The estimator is a fitted `NadarayaWatson` of one feature, or anything with `predict` and
    `attention_weights`. `query` is the middle of the samples unless given; `truth` is a function
    of x, drawn dashed from the least sample to the greatest and asked nowhere else.
    """
    points, values = numbers(x).reshape(-1), numbers(y).reshape(-1)
    if len(points) != len(values) or not len(points):
        raise ValueError(
            f"x and y must be as many numbers, at least one, but {len(points)} and "
            f"{len(values)} came."
        )
    low, high = float(points.min()), float(points.max())
    asked = (low + high) / 2 if query is None else float(query)
    room = 0.03 * (high - low or 1.0)
    line = np.linspace(min(low, asked) - room, max(high, asked) + room, PLACES)
    curve = numbers(estimator.predict(line[:, None])).reshape(-1)
    weights = numbers(estimator.attention_weights([[asked]]))[0]
    samples = _samples(estimator, points, len(weights))
    answer = float(numbers(estimator.predict([[asked]])).reshape(-1)[0])
    with drawing((7.6, 5.6), [title]) as made:
        grid = made.canvas.add_gridspec(2, 1, height_ratios=(3, 1.3))
        above = made.axes(grid[0])
        below = made.axes(grid[1], sharex=above)
        strength = (weights / weights.max()) ** palette.STRENGTH
        if len(samples) == len(points):
            above.scatter(
                points, values, c=strength, cmap=palette.weight_colours(), vmin=0, vmax=1, s=28,
                edgecolors=palette.MUTED, linewidths=0.7, label="sample (as blue as its weight)",
            )  # fmt: skip
        else:
            above.scatter(points, values, s=12, color=palette.MUTED, label="sample")
        if truth is not None:
            within = np.linspace(low, high, PLACES)  # it may not be defined anywhere else
            true = numbers([truth(one) for one in within])
            above.plot(within, true, "--", color=palette.MUTED, label="truth")
        above.plot(line, curve, color=palette.ACCENT, linewidth=2, label="estimate")
        above.plot([asked], [answer], "D", color=palette.SECOND, markersize=7, label="query")
        above.set_title(made.letters.spell(title))
        above.set_ylabel("y")
        above.tick_params(labelbottom=False)
        above.legend(loc="best")
        if len(samples) <= MOST_STEMS:
            below.vlines(samples, 0, weights, color=palette.ACCENT, linewidth=1.6)
        below.plot(samples, weights, "o", color=palette.ACCENT, markersize=3)
        below.set_ylim(bottom=0)
        below.set_xlabel("x")
        below.set_ylabel(f"weight at x = {asked:.3g}")
        for axes in (above, below):
            axes.axvline(asked, color=palette.SECOND, linewidth=0.9, linestyle=":")
            axes.grid(True)
            axes.spines[["top", "right"]].set_visible(False)
        return made.done(f"kernel regression of {len(points)} samples")


def _samples(estimator: Any, points: Any, number: int) -> Any:
    """Where the estimator's own samples are: the keys that the weights belong to."""
    kept = getattr(estimator, "X_", None)
    if kept is not None and np.ndim(kept) == 2 and np.shape(kept)[1] != 1:
        raise ValueError(f"a curve needs one feature, but the estimator has {np.shape(kept)[1]}.")
    if kept is not None:
        return numbers(kept).reshape(-1)
    if number != len(points):
        raise ValueError(f"the estimator has {number} samples, but {len(points)} came.")
    return points
