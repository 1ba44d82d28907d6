"""Synthetic series in which the cause of the label is known.

N series, C channels, T time steps. Each series is autocorrelated noise, like an EEG recording, with
slow waves and single spikes that are independent of the label. On one channel an event is planted
at a random time, and the event alone decides the label:

    rest   no event (so that no event can be recognized by the absence of the others)
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
"""The labels: no event, or the name of the event."""
ELECTRODES = (
    "Fp1 Fp2 F7 F3 Fz F4 F8 T7 C3 Cz C4 T8 P7 P3 Pz P4 P8 O1 Oz O2 AF3 AF4 FC1 FC2 FC5 FC6 CP1 CP2 "
    "CP5 CP6 PO3 PO4"
)
"""Names of electrodes (the 10–20 system)."""


class PlantedSeries(NamedTuple):
    """Series with known causes.

    x         (N, C, T)  the series
    y         (N,)       label indices
    channel   (N,)       the channel of the event; −1 without one
    start     (N,)       its first time step; 0 without one
    end       (N,)       one past its last time step; 0 without one
    labels               names of the labels
    channels             names of the channels
    """

    x: NDArray[np.float32]
    y: NDArray[np.int64]
    channel: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
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
) -> PlantedSeries:
    """Generate `count` series, a quarter of each label.

    `width` is the length of the event in time steps, `strength` its height in standard deviations
    of the noise.

    >>> data = planted(6, channels=4, moments=64)
    >>> data.x.shape, sorted(data.y.tolist()), data.channel[data.y == 0].tolist()
    ((6, 4, 64), [0, 0, 1, 1, 2, 3], [-1, -1])
    """
    if count < 1 or channels < 1:
        raise InputError(f"count and channels must be at least 1, got {count} and {channels}.")
    if not 8 <= width <= moments:
        raise InputError(
            f"the planted event must be 8 to {moments} moments wide (the whole series), "
            f"got {width}."
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
    has_event = y > 0
    known = ELECTRODES.split()[:channels]
    names = (*known, *(f"ch{n}" for n in range(len(known), channels)))
    causes = (
        np.where(has_event, channel, -1),
        np.where(has_event, start, 0),
        np.where(has_event, start + width, 0),
    )
    return PlantedSeries(x.astype(np.float32), y, *causes, EVENTS, names)


def _noise(
    random: np.random.Generator, count: int, channels: int, moments: int
) -> NDArray[np.float64]:
    """(N, C, T) of standard deviation 1: x_t = 0.4 x_{t−1} + 0.917 e_t."""
    x = random.standard_normal((count, channels, moments))
    for moment in range(1, moments):
        x[..., moment] = 0.4 * x[..., moment - 1] + 0.917 * x[..., moment]
    return x


def _distract(random: np.random.Generator, x: NDArray[np.float64]) -> None:
    """Add slow waves and spikes to some channels, in place, independent of the label."""
    count, channels, moments = x.shape
    time = np.arange(moments)
    for n in range(count):
        wave = random.integers(channels)
        period, phase = random.uniform(1.0, 2.0) * moments, random.uniform(0, 2 * np.pi)
        x[n, wave] += 2.0 * np.sin(2 * np.pi * time / period + phase)
        for channel in random.integers(channels, size=2):
            x[n, channel, random.integers(moments)] += random.choice((-8.0, 8.0))


def _event(name: str, width: int) -> NDArray[np.float64]:
    """(width,): the shape of an event of height 1."""
    if name == "rest":
        return np.zeros(width)
    phase = (np.arange(width) + 0.5) / width
    window = np.sin(np.pi * phase)
    if name == "burst":
        return np.asarray(window * np.cos(np.pi * np.arange(width) * 0.5) * 1.4)
    return np.asarray(window if name == "up" else -window)
