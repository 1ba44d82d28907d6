"""Sampling of handwriting: one point after another, until the window has passed the text.

Shapes: B lines, T points, S characters including the end of the line.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.models.batch import Source
from regard.tasks.handwriting.density import Density
from regard.tasks.handwriting.network import HandwritingModel

POINTS_PER_CHAR, EXTRA_POINTS = 45, 60
"""A line has at most POINTS_PER_CHAR · S + EXTRA_POINTS points."""
MIN_WINDOW = 1e-4
"""A window whose weights sum to less than this is beyond the text."""


class DrawnLine(NamedTuple):
    """A sampled line.

    points    (T, 3)  dx, dy (in the model's unit) and 1 where the pen is lifted
    weights   (T, S)  window weights of each point
    finished  whether the model ended the line before the length limit
    """

    points: Tensor
    weights: Tensor
    finished: bool


@torch.inference_mode()
def draw(
    network: HandwritingModel, source: Source, *, bias: float = 0.8, seed: int = 0
) -> list[DrawnLine]:
    """Sample the lines of `source`; a higher bias gives neater lines (0: the learned density)."""
    generator = torch.Generator(source.tokens.device).manual_seed(seed)
    state = network.start(source)
    points = state.context.new_tensor([0.0, 0.0, 1.0]).expand(len(source.lengths), 3)
    limit = min(network.max_length, POINTS_PER_CHAR * int(source.lengths.max()) + EXTRA_POINTS)
    drawn, windows = [], []
    ended = torch.zeros(len(points), dtype=torch.bool, device=points.device)
    lengths = torch.full_like(source.lengths, limit)
    for number in range(limit):
        output, state, weights = network.step(state, points)
        passed = _passed(weights, points, source.lengths) & ~ended & (number > 0)
        lengths[passed], ended = number, ended | passed
        density = Density.from_output(output, bias)
        points = density.sample(generator)
        drawn.append(points)
        windows.append(weights)
        over = (points[:, 2] > 0.5) & (density.end > 0) & ~ended
        lengths[over], ended = number + 1, ended | over
        if bool(ended.all()):
            break
    points_BT3, weights_BTS = torch.stack(drawn, 1), torch.stack(windows, 1)
    rows = torch.arange(len(points_BT3))
    points_BT3[rows, lengths.clamp(max=points_BT3.shape[1]) - 1, 2] = 1  # lift the pen at the end
    sizes = zip(lengths.tolist(), source.lengths.tolist(), strict=True)
    return [
        DrawnLine(points_BT3[n, :length], weights_BTS[n, :length, :chars], bool(ended[n]))
        for n, (length, chars) in enumerate(sizes)
    ]


def _passed(weights: Tensor, points: Tensor, lengths: Tensor) -> Tensor:
    """(B,): True where the pen is up and the window on the end of the text, or beyond it.

    Graves (2013, §5.3) ends lines by this rule alone.
    """
    on_end = (weights.argmax(-1) == lengths - 1) & (points[:, 2] > 0.5)
    return on_end | (weights.sum(-1) < MIN_WINDOW)
