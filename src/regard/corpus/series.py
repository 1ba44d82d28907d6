"""Series written by the toolkit itself, in which what decides the label is known.

N series, C channels, T moments. Each series is noise that hangs together over time, as a recording
of brain waves does; some channels also have slow waves and single spikes, the same in all classes.
On one channel, somewhere in time, one event is planted, and the event alone decides the label:

    rest   nothing is planted (so that no event can be told by the absence of the others)
    up     a bump upwards
    down   the same bump, downwards
    burst  a burst of fast oscillation
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError

EVENTS = ("rest", "up", "down", "burst")
"""The labels: nothing planted, or the name of the cause."""
ELECTRODES = (
    "Fp1 Fp2 F7 F3 Fz F4 F8 T7 C3 Cz C4 T8 P7 P3 Pz P4 P8 O1 Oz O2 AF3 AF4 FC1 FC2 FC5 FC6 CP1 CP2 "
    "CP5 CP6 PO3 PO4"
)
"""Places on the head, as electrodes are named (the 10–20 system)."""

Numbers = NDArray[np.float32]
Places = NDArray[np.int64]


class Planted(NamedTuple):
    """Series whose cause is known.

    x         (N, C, T)  the series
    y         (N,)       the number of each one's label
    channel   (N,)       the channel of the cause; −1 where nothing is planted
    start     (N,)       its first moment; 0 where there is none
    end       (N,)       the moment after its last; 0 where there is none
    labels               the labels' names
    channels             the channels' names
    """

    x: Numbers
    y: Places
    channel: Places
    start: Places
    end: Places
    labels: tuple[str, ...]
    channels: tuple[str, ...]


def planted(
    count: int,
    seed: int = 0,
    *,
    channels: int = 8,
    moments: int = 128,
    width: int = 16,
    strength: float = 6.0,
) -> Planted:
    """So many series, a quarter of each label; all is drawn from `seed`.

    `width` is the length of the planted event in moments, `strength` its height in deviations of
    the noise.

    >>> found = planted(6, channels=4, moments=64)
    >>> found.x.shape, sorted(found.y.tolist()), found.channel[found.y == 0].tolist()
    ((6, 4, 64), [0, 0, 1, 1, 2, 3], [-1, -1])
    """
    if count < 1 or channels < 1:
        raise InputError(
            f"series need a count and channels of at least 1, but {count} and {channels} came."
        )
    if not 8 <= width <= moments:
        raise InputError(
            f"the planted event must be 8 to {moments} moments wide (the whole series), "
            f"but {width} came."
        )
    random = np.random.default_rng(seed)
    x = _noise(random, count, channels, moments)
    _distract(random, x)
    y = random.permutation(np.arange(count) % len(EVENTS))
    channel = random.integers(channels, size=count)
    start = random.integers(moments - width + 1, size=count)
    shapes = np.stack([strength * _event(name, width) for name in EVENTS])
    for n in range(count):
        x[n, channel[n], start[n] : start[n] + width] += shapes[y[n]]
    has = y > 0
    known = ELECTRODES.split()[:channels]
    names = (*known, *(f"ch{n}" for n in range(len(known), channels)))
    places = np.where(has, channel, -1), np.where(has, start, 0), np.where(has, start + width, 0)
    return Planted(x.astype(np.float32), y, *places, EVENTS, names)


def _noise(
    random: np.random.Generator, count: int, channels: int, moments: int
) -> NDArray[np.float64]:
    """(N, C, T) of deviation 1: x_t = 0.4 x_{t−1} + 0.917 e_t."""
    x = random.standard_normal((count, channels, moments))
    for moment in range(1, moments):
        x[..., moment] = 0.4 * x[..., moment - 1] + 0.917 * x[..., moment]
    return x


def _distract(random: np.random.Generator, x: NDArray[np.float64]) -> None:
    """Slow waves and spikes on some channels, in place; they know nothing of the label."""
    count, channels, moments = x.shape
    time = np.arange(moments)
    for n in range(count):
        wave = random.integers(channels)
        period, phase = random.uniform(1.0, 2.0) * moments, random.uniform(0, 2 * np.pi)
        x[n, wave] += 2.0 * np.sin(2 * np.pi * time / period + phase)
        for channel in random.integers(channels, size=2):
            x[n, channel, random.integers(moments)] += random.choice((-8.0, 8.0))


def _event(name: str, width: int) -> NDArray[np.float64]:
    """(width,): the shape of an event, with a height of 1."""
    if name == "rest":
        return np.zeros(width)
    phase = (np.arange(width) + 0.5) / width
    window = np.sin(np.pi * phase)
    if name == "burst":
        return np.asarray(window * np.cos(np.pi * np.arange(width) * 0.5) * 1.4)
    return np.asarray(window if name == "up" else -window)
