"""Writing styles (slant, size, speed …), and writing a line of text in a style.

A line is pen movements (N, 3): dx and dy from the last point, and 1 where the pen is lifted after
the point. The unit is the x-height at size 1; y goes up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.errors import InputError
from regard.tasks.handwriting.strokes.curve import Array, resampled
from regard.tasks.handwriting.strokes.glyphs import ALPHABET, Stroke, glyph


@dataclass(frozen=True)
class WritingStyle:
    """Parameters of a style; the defaults draw the alphabet as it is.

    slant     shift to the right per unit of height
    size      scale of everything
    width     of letters, relative to their height
    spacing   between letters
    slope     of the baseline
    wave      amplitude of slow waves of the baseline
    jitter    standard deviation of the control points of a letter
    tremble   standard deviation of every point
    speed     distance of two points on a straight line
    slowing   how much the pen slows down where it turns
    """

    slant: float = 0.0
    size: float = 1.0
    width: float = 1.0
    spacing: float = 0.4
    slope: float = 0.0
    wave: float = 0.0
    jitter: float = 0.0
    tremble: float = 0.0
    speed: float = 0.28
    slowing: float = 0.35


PLAIN = WritingStyle()


def random_style(random: np.random.Generator) -> WritingStyle:
    """Draw a style."""
    return WritingStyle(
        slant=random.uniform(-0.1, 0.35),
        size=random.uniform(0.85, 1.15),
        width=random.uniform(0.85, 1.15),
        spacing=random.uniform(0.3, 0.5),
        slope=random.normal(0.0, 0.015),
        wave=random.uniform(0.0, 0.06),
        jitter=random.uniform(0.01, 0.035),
        tremble=random.uniform(0.0, 0.01),
        speed=random.uniform(0.24, 0.31),
        slowing=random.uniform(0.25, 0.45),
    )


def write(text: str, style: WritingStyle, random: np.random.Generator) -> Array:
    """Pen movements (N, 3) of `text` in `style`.

    >>> strokes = write("hi", PLAIN, np.random.default_rng(0))
    >>> int(strokes[:, 2].sum())  # h, i and its dot
    3
    """
    _check(text)
    phase, x = random.uniform(0, 2 * np.pi), 0.0
    strokes: list[Array] = []
    for character in text:
        shape = glyph(character)
        for stroke in shape.strokes:
            curve = _curve(stroke, style, x, phase, random)
            strokes.append(resampled(curve, style.speed * style.size, style.slowing))
        space = style.spacing + random.normal(0.0, 0.05 if style.jitter else 0.0)
        x += (shape.width * style.width + max(space, 0.1)) * style.size
    points = np.vstack(strokes)
    if style.tremble:
        points = points + random.normal(0.0, style.tremble, points.shape)
    movements = np.zeros((len(points), 3))
    movements[1:, :2] = np.diff(points, axis=0)
    movements[np.cumsum([len(stroke) for stroke in strokes]) - 1, 2] = 1
    return movements


def _curve(
    stroke: Stroke, style: WritingStyle, left: float, phase: float, random: np.random.Generator
) -> Array:
    """A stroke of the letter that begins at x = `left`, as a curve on the page."""
    control = stroke.control
    if style.jitter:
        control = control + random.normal(0.0, style.jitter, control.shape)
    x = (control[:, 0] * style.width + control[:, 1] * style.slant) * style.size + left
    y = control[:, 1] * style.size + style.slope * x + style.wave * np.sin(0.8 * x + phase)
    return stroke.curve @ np.stack([x, y], 1)


def _check(text: str) -> None:
    if not text.strip():
        raise InputError("there is no text to write; give at least one letter.")
    unknown = sorted(set(text) - set(ALPHABET))
    if unknown:
        raise InputError(
            f"{', '.join(map(repr, unknown))} cannot be written with the built-in alphabet; "
            f"it has {ALPHABET.strip()} and the space."
        )
