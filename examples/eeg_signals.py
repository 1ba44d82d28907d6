"""EEG-shaped signals: a classifier of series, and the moment and electrode that decided.

The recordings are made up, two seconds of eight electrodes at 64 Hz: slow background activity, and
in two thirds of them an event: a burst of the 10 Hz alpha rhythm on one electrode, or an epileptic
spike and wave. The classifier learns from labels alone; where it looked is compared with where the
event was. With your own: `x` (recordings, channels, time), `y` and `channels` in an .npz file.

    python examples/eeg_signals.py [--steps 400]
"""

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import regard

LABELS = ("background", "alpha", "spike")
ELECTRODES = ("F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2")
RATE, SAMPLES, WIDTH = 64, 128, 24  # samples a second, of a recording, of an event


class Recordings(NamedTuple):
    """N recordings: x (N, C, T), label y, and channel and first sample of the event (N,)."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]
    channel: NDArray[np.int64]
    start: NDArray[np.int64]


def recorded(count: int, seed: int) -> Recordings:
    """Draw recordings, a third of each label."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((count, len(ELECTRODES), SAMPLES))
    for t in range(1, SAMPLES):  # power falls with frequency, as in a brain
        x[..., t] += 0.8 * x[..., t - 1]
    x /= x.std()
    time = np.arange(WIDTH) / RATE
    window = np.hanning(WIDTH)
    spike = 6 * np.exp(-(((time - 0.08) / 0.02) ** 2))
    wave = -2.5 * np.exp(-(((time - 0.22) / 0.07) ** 2))
    events = np.stack([0 * time, 4 * window * np.sin(2 * np.pi * 10 * time), spike + wave])
    y = draw.permutation(np.arange(count) % len(LABELS))
    channel = draw.integers(len(ELECTRODES), size=count)
    start = draw.integers(SAMPLES - WIDTH, size=count)
    for n in range(count):
        x[n, channel[n], start[n] : start[n] + WIDTH] += events[y[n]]
    return Recordings(x.astype(np.float32), y, channel, start)


def main(steps: int = 400, train: int = 4000, test: int = 200) -> dict[str, float]:
    """Train; then count labels that are right, and events that the map locates."""
    data, unseen = recorded(train, seed=0), recorded(test, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "eeg.npz")
        np.savez(file, x=data.x, y=np.array(LABELS)[data.y], channels=ELECTRODES)
        model = regard.train(
            file,
            out=Path(folder, "model"),
            preset="tiny",
            progress=False,
            # a token is 8 samples of all electrodes; each sample is seen by a filter of 16
            model={
                "kind": "classifier",
                "patch": 8,
                "kernel": 16,
                "dim": 48,
                "num_layers": 1,
                "ff": 96,
                "pooled": "tokens",
                "dropout": 0.0,
            },
            training={"steps": steps, "epochs": None, "batch_tokens": 1024, "tensorboard": False},
        )
        results = model.classify(list(unseen.x), why="gradient")
    right = sum(LABELS[y] == result.label for y, result in zip(unseen.y, results, strict=True))
    electrodes = moments = 0
    for result, y, channel, start in zip(results, *unseen[1:], strict=True):
        moment, electrode = result.peak
        if y > 0:
            electrodes += electrode.name == ELECTRODES[channel]
            moments += start <= (moment.start + moment.end) / 2 < start + WIDTH
    events = int((unseen.y > 0).sum())
    for result, y, channel, start in list(zip(results, *unseen[1:], strict=True))[:5]:
        moment, electrode = result.peak
        there = f"on {ELECTRODES[channel]} from {start / RATE:.2f} s" if y else "nowhere"
        print(
            f"{result.label:<10} {result.probability:4.0%}, most at {moment.start / RATE:.2f} s "
            f"on {electrode.name}; there was {LABELS[y]} {there}"
        )
    print(f"labels right: {right / test:.1%} of {test} unseen recordings")
    print(f"found of {events} events: electrode {electrodes / events:.1%}, ", end="")
    print(f"moment {moments / events:.1%}")
    found = {"electrode": electrodes / events, "moment": float(moments / events)}
    return {"right": right / test, **found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=400, help="updates of the classifier (400)")
    main(**vars(parser.parse_args()))
