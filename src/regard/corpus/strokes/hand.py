"""A hand: slant, size, speed and the like, and how it writes a line of text.

A line is pen movements (N, 3): dx and dy from the point before, and 1 where the pen is lifted after
the point. The unit is the height of a small x in a hand of size one; y goes up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.corpus.strokes.curve import Array, resampled
from regard.corpus.strokes.glyphs import ALPHABET, Stroke, glyph
from regard.errors import InputError


@dataclass(frozen=True)
class Hand:
    """How somebody writes.

    slant     how far right a point moves for its height
    size      of everything
    width     of letters, over their height
    spacing   between letters
    slope     of the baseline
    wave      how far the baseline goes up and down, slowly
    jitter    how far the points of a letter stray
    tremble   how far every point strays
    speed     distance of two points on a straight line
    slowing   how much slower the pen is where it turns
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


PLAIN = Hand()
"""A hand without any habit: the alphabet as it was drawn."""


def drawn_hand(random: np.random.Generator) -> Hand:
    """A hand by chance."""
    return Hand(
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


def write(text: str, hand: Hand, random: np.random.Generator) -> Array:
    """The pen's movements (N, 3) while `hand` writes `text`.

    >>> strokes = write("hi", PLAIN, np.random.default_rng(0))
    >>> int(strokes[:, 2].sum())  # h, i and its dot
    3
    """
    _check(text)
    phase, pen = random.uniform(0, 2 * np.pi), 0.0
    points: list[Array] = []
    lifts: list[int] = []
    for character in text:
        shape = glyph(character)
        for stroke in shape.strokes:
            curve = _curve(stroke, hand, pen, phase, random)
            made = resampled(curve, hand.speed * hand.size, hand.slowing)
            points.append(made)
            lifts.append(len(made))
        space = hand.spacing + random.normal(0.0, 0.05 if hand.jitter else 0.0)
        pen += (shape.width * hand.width + max(space, 0.1)) * hand.size
    every = np.vstack(points)
    if hand.tremble:
        every = every + random.normal(0.0, hand.tremble, every.shape)
    return _movements(every, np.cumsum(lifts))


def _curve(
    stroke: Stroke, hand: Hand, pen: float, phase: float, random: np.random.Generator
) -> Array:
    """A stroke of the letter that begins at `pen`, as a fine curve on the page."""
    control = stroke.control
    if hand.jitter:
        control = control + random.normal(0.0, hand.jitter, control.shape)
    x = (control[:, 0] * hand.width + control[:, 1] * hand.slant) * hand.size + pen
    y = control[:, 1] * hand.size + hand.slope * x + hand.wave * np.sin(0.8 * x + phase)
    return stroke.curve @ np.stack([x, y], 1)


def _movements(points: Array, ends: Array) -> Array:
    """Points (N, 2) as movements from each to the next; the first is from where the line begins."""
    movements = np.zeros((len(points), 3))
    movements[1:, :2] = np.diff(points, axis=0)
    movements[ends - 1, 2] = 1
    return movements


def _check(text: str) -> None:
    if not text.strip():
        raise InputError("there is no text to write; give a letter at least.")
    unknown = sorted(set(text) - set(ALPHABET))
    if unknown:
        raise InputError(
            f"{', '.join(map(repr, unknown))} cannot be written with the built-in alphabet; "
            f"it has {ALPHABET.strip()} and the space."
        )
