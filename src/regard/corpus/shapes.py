"""Small images in which the cause of the label is known.

N color images of S × S pixels. The background is a slope of one dark color into another with noise;
bright lines and dots are strewn over it, independent of the label. One shape of random color, size
and angle is planted at a random place above them, and it alone decides the label:

    circle · square · triangle · cross
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError

SHAPES = ("circle", "square", "triangle", "cross")
"""The labels."""
RADIUS = (5.0, 7.5)
"""Of the circle around a shape, in pixels: from, to."""
MAX_ANGLE = 0.3
"""By which a shape is turned, in radians."""
CHUNK = 250  # images that are painted together

Floats = NDArray[np.float32]


class PlantedShapes(NamedTuple):
    """Images with known causes.

    x       (N, 3, S, S)  red, green and blue, from 0 to 1
    y       (N,)          label indices
    inside  (N, S, S)     the pixels of the planted shape
    labels                names of the labels
    """

    x: Floats
    y: NDArray[np.int64]
    inside: NDArray[np.bool_]
    labels: tuple[str, ...]


def planted_shapes(
    count: int, seed: int = 0, *, size: int = 32, num_lines: int = 4, num_dots: int = 6
) -> PlantedShapes:
    """Generate `count` images, as many of each label.

    >>> data = planted_shapes(8)
    >>> data.x.shape, sorted(data.y.tolist()), bool(data.inside.any(axis=(1, 2)).all())
    ((8, 3, 32, 32), [0, 0, 1, 1, 2, 2, 3, 3], True)
    """
    if count < 1:
        raise InputError(f"count must be at least 1, got {count}.")
    if size < 2 * RADIUS[1] + 2:
        raise InputError(f"size must be at least {2 * RADIUS[1] + 2:.0f} pixels, got {size}.")
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(count) % len(SHAPES))
    parts = [
        _plant(random, labels, size, num_lines, num_dots)
        for labels in np.array_split(y, -(-count // CHUNK))
    ]
    x, inside = (np.concatenate(part) for part in zip(*parts, strict=True))
    return PlantedShapes(x, y, inside, SHAPES)


def _plant(
    random: np.random.Generator, y: NDArray[np.int64], size: int, num_lines: int, num_dots: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Images of these labels (N,), and the pixels of their shapes."""
    count = len(y)
    pixels = np.stack(np.meshgrid(*[np.arange(size, dtype=np.float32)] * 2, indexing="xy"))
    x = _background(random, count, pixels)
    for _ in range(num_lines):
        _paint(random, x, _line(random, count, pixels))
    for _ in range(num_dots):
        center = random.uniform(0, size, (count, 2))
        _paint(random, x, 1.2 - _length(pixels - _spread(center)))
    radius = random.uniform(*RADIUS, count)
    center = random.uniform(radius[:, None], size - 1 - radius[:, None], (count, 2))
    turned = _turn(pixels - _spread(center), random.uniform(-MAX_ANGLE, MAX_ANGLE, count))
    depth = -_distance(turned, y, radius.astype(np.float32)[:, None, None])
    _paint(random, x, depth)
    x += random.normal(0, 0.04, x.shape).astype(np.float32)
    return x.clip(0, 1), depth > 0


def _background(random: np.random.Generator, count: int, pixels: Floats) -> Floats:
    """(N, 3, S, S): a slope between two similar colors, in a random direction."""
    size = pixels.shape[-1]
    first, second = random.uniform(0.05, 0.35, (2, count, 3))
    along = _turn(pixels[None] / size - 0.5, random.uniform(0, 2 * np.pi, count))[:, :1] + 0.5
    return _spread(first) * (1 - along) + _spread(second) * along


def _line(random: np.random.Generator, count: int, pixels: Floats) -> Floats:
    """(N, S, S): how far inside a line of one to two pixels, 6 to 16 long, each pixel is."""
    size = pixels.shape[-1]
    center = random.uniform(0, size, (count, 2))
    along, across = np.moveaxis(
        np.abs(_turn(pixels - _spread(center), random.uniform(0, np.pi, count))), 1, 0
    )
    length, width = random.uniform(3, 8, (2, count)).astype(np.float32)[:, :, None, None]
    inside: Floats = np.minimum(length - along, width / 8 + 0.2 - across)
    return inside


def _distance(place: Floats, label: NDArray[np.int64], radius: Floats) -> Floats:
    """(N, S, S): negative inside the shape of each label, by about the distance to its edge."""
    across, down = np.abs(place[:, 0]), np.abs(place[:, 1])
    height = place[:, 1]
    arm = 0.36 * radius
    shapes = (
        _length(place) - 0.85 * radius,
        np.maximum(across, down) - 0.72 * radius,
        np.maximum(-height - radius / 2, 0.866 * across + height / 2 - radius / 2),
        np.maximum(np.minimum(across, down) - arm, np.maximum(across, down) - radius),
    )
    chosen: Floats = np.choose(label[:, None, None], shapes)
    return chosen


def _paint(random: np.random.Generator, x: Floats, depth: Floats) -> None:
    """Paint where `depth` (N, S, S) is positive, in place, each image in a bright color."""
    color = random.uniform(0.2, 1, (len(x), 3))
    color /= color.max(axis=1, keepdims=True)
    x += (depth + 0.5).clip(0, 1)[:, None] * (_spread(color) - x)


def _turn(place: Floats, angle: NDArray[np.float64]) -> Floats:
    """Places (N, 2, S, S) turned by an angle each (N,)."""
    cos, sin = (part.astype(np.float32)[:, None, None] for part in (np.cos(angle), np.sin(angle)))
    x, y = place[:, 0], place[:, 1]
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=1)


def _length(place: Floats) -> Floats:
    """(N, S, S): the distance of each place from the origin."""
    length: Floats = np.sqrt(np.square(place).sum(axis=1))
    return length


def _spread(values: NDArray[np.float64]) -> Floats:
    """(N, K) as (N, K, 1, 1)."""
    return values.astype(np.float32)[:, :, None, None]
