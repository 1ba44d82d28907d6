"""Kernel regression against its peers: KeOps for many samples, statsmodels for a few thousand.

Errors are the largest difference from the formula summed directly in float64 on some queries.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from benchmarks.measurement import Measurement
from regard.attention import NadarayaWatson
from regard.bench.clock import seconds
from regard.errors import InputError

Floats = NDArray[np.float64]
Predict = Callable[[Floats], Floats]

NUM_KEOPS, NUM_STATSMODELS = 100_000, 5_000
WIDTHS = (20, 5000)  # the range of the samples, in bandwidths
NUM_CHECKED = 200  # queries compared with the direct sum


def measurements(repeats: int) -> Iterator[Measurement]:
    """The rows of kernel regression."""
    for width in WIDTHS:
        what = f"NadarayaWatson.predict, {NUM_KEOPS:,} × {NUM_KEOPS:,}, width range/{width}"
        compare = partial(_compare, keops_predictor, NUM_KEOPS, width, repeats)
        yield Measurement(f"{what}: times faster than KeOps", compare, ">=", 1.5, faster=True)
        yield Measurement(f"{what}: largest error", partial(_error, NUM_KEOPS, width), "<=", 1e-4)
    yield Measurement(
        f"NadarayaWatson.predict, {NUM_STATSMODELS:,} × {NUM_STATSMODELS:,}: "
        "times faster than statsmodels",
        partial(_compare, statsmodels_predictor, NUM_STATSMODELS, WIDTHS[0], repeats),
        ">=",
        10.0,
        faster=True,
    )


@cache
def samples(num_samples: int) -> tuple[Floats, Floats, Floats]:
    """Queries and keys evenly from [0, 1], (n, 1), and noisy values of a sine, (n,)."""
    random = np.random.default_rng(0)
    query, key = random.random((num_samples, 1)), random.random((num_samples, 1))
    return query, key, np.sin(9.0 * key[:, 0]) + random.normal(0.0, 0.5, num_samples)


def our_predictor(num_samples: int, width: int) -> Predict:
    """`NadarayaWatson.predict` over the samples."""
    _, key, value = samples(num_samples)
    predict: Predict = NadarayaWatson(bandwidth=1.0 / width).fit(key, value).predict
    return predict


def keops_predictor(num_samples: int, width: int) -> Predict:
    """KeOps' softmax reduction over symbolic scores in float64, the faster of its precisions."""
    peer("pykeops").set_verbose(False)
    keops = peer("pykeops.numpy")
    _, key, value = samples(num_samples)

    def predict(query: Floats) -> Floats:
        symbolic_query = keops.LazyTensor(query[:, None, :] * width)
        symbolic_key = keops.LazyTensor(key[None, :, :] * width)
        score = -((symbolic_query - symbolic_key) ** 2).sum(-1) / 2
        predicted: Floats = score.sumsoftmaxweight(keops.LazyTensor(value[None, :, None]), axis=1)
        return predicted[:, 0]

    return predict


def statsmodels_predictor(num_samples: int, width: int) -> Predict:
    """statsmodels' local-constant KernelReg."""
    regression = peer("statsmodels.nonparametric.kernel_regression")
    _, key, value = samples(num_samples)
    model = regression.KernelReg(value, key, "c", reg_type="lc", bw=[1.0 / width])

    def predict(query: Floats) -> Floats:
        predicted: Floats = model.fit(query)[0]
        return predicted

    return predict


def direct(query: Floats, key: Floats, value: Floats, width: int) -> Floats:
    """The formula, key by key in float64."""
    score = -0.5 * ((query - key.T) * width) ** 2
    weights = np.exp(score - score.max(axis=1, keepdims=True))
    predicted: Floats = weights @ value / weights.sum(axis=1)
    return predicted


def _compare(
    make_peer: Callable[[int, int], Predict], num_samples: int, width: int, repeats: int
) -> tuple[float, float]:
    """Median seconds of ours, and of one run of the peer after a first one that compiles."""
    query = samples(num_samples)[0]
    theirs = make_peer(num_samples, width)
    theirs(query[:10])
    ours = our_predictor(num_samples, width)
    (our_seconds,) = seconds([lambda: ours(query)], repeats)
    (their_seconds,) = seconds([lambda: theirs(query)], 1, warm=False)
    return our_seconds, their_seconds


def _error(num_samples: int, width: int) -> tuple[float, None]:
    query, key, value = samples(num_samples)
    rows = np.linspace(0, num_samples - 1, NUM_CHECKED).astype(int)
    predicted = our_predictor(num_samples, width)(query)[rows]
    return float(np.abs(predicted - direct(query[rows], key, value, width)).max()), None


def peer(name: str) -> ModuleType:
    """Import a peer's module; an error says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise InputError(
            f"this comparison needs {package}: pip install 'regard[bench]', or `make bench`."
        ) from None
