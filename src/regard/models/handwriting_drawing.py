"""Writing with the network: one point drawn after another, until the window has passed the text.

Shapes: B lines, T points, S characters (the line's end is one).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.models.batch import Source
from regard.models.handwriting import HandwritingModel
from regard.models.handwriting_density import Density

POINTS_EACH, POINTS_MORE = 45, 60
"""A line has at most so many points for each character, and so many more."""
UNSEEN = 1e-4
"""A window that sees less than this of the text is beyond it."""


class Drawn(NamedTuple):
    """A line as it was drawn.

    points    (T, 3)  dx, dy (in the model's unit) and 1 where the pen is lifted
    weights   (T, S)  where the window was as each point was drawn
    finished  whether it came to its end by itself
    """

    points: Tensor
    weights: Tensor
    finished: bool


@torch.inference_mode()
def draw(
    network: HandwritingModel, source: Source, *, bias: float = 0.8, seed: int = 0
) -> list[Drawn]:
    """Draw the lines of `source`; the higher the bias, the more carefully (0: as it learned)."""
    random = torch.Generator(source.tokens.device).manual_seed(seed)
    pen = network.start(source)
    points = pen.context.new_tensor([0.0, 0.0, 1.0]).expand(len(source.lengths), 3)
    most = min(network.max_length, POINTS_EACH * int(source.lengths.max()) + POINTS_MORE)
    drawn, looked, ended = [], [], torch.zeros(len(points), dtype=torch.bool, device=points.device)
    length = torch.full_like(source.lengths, most)
    for number in range(most):
        numbers, pen, weights = network.step(pen, points)
        passed = _passed(weights, points, source.lengths) & ~ended & (number > 0)
        length[passed], ended = number, ended | passed
        density = Density.of(numbers, bias)
        points = density.sample(random)
        drawn.append(points)
        looked.append(weights)
        over = (points[:, 2] > 0.5) & (density.end > 0) & ~ended
        length[over], ended = number + 1, ended | over
        if bool(ended.all()):
            break
    every, windows = torch.stack(drawn, 1), torch.stack(looked, 1)
    every[torch.arange(len(every)), length.clamp(max=every.shape[1]) - 1, 2] = (
        1  # the pen is put away
    )
    return [
        Drawn(every[n, :many], windows[n, :many, :letters], bool(ended[n]))
        for n, (many, letters) in enumerate(
            zip(length.tolist(), source.lengths.tolist(), strict=True)
        )
    ]


def _passed(weights: Tensor, points: Tensor, lengths: Tensor) -> Tensor:
    """(B,): whether the window has passed the text: with the pen up it is on the end, or beyond.

    (Graves 2013, §5.3, whose lines end there by this rule alone.)
    """
    on_end = (weights.argmax(-1) == lengths - 1) & (points[:, 2] > 0.5)
    return on_end | (weights.sum(-1) < UNSEEN)
