"""Kernel regression as attention: samples are keys, their targets values, new points queries.

Nadaraya (1964) and Watson (1964): f(x) = Σ_i softmax_i(-|(x - x_i)/h|²/2) y_i.

Legend: Q queries, K keys (the samples fitted), D features, V targets.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from regard.attention.inspection import probe
from regard.attention.kernel_regression.bandwidth import (
    descended_bandwidth,
    deviations,
    searched_bandwidth,
)
from regard.attention.kernel_regression.sums import gaussian_average
from regard.attention.kernel_regression.tiles import gaussian_weights

Floats = NDArray[np.float64]

KERNELS = ("gaussian", "uniform")
LEARNED = ("gradient", "loo")
MAP_PAIRS = 1 << 22  # weights computed at once
LARGEST = 1e150  # in bandwidths: the square of a larger coordinate would overflow


class NadarayaWatson(RegressorMixin, BaseEstimator):
    """Predict by the average of all targets, weighted by the distance of their samples.

    The weights are attention weights with the Gaussian score: a softmax over -|(x - x_i)/h|²/2. A
    query far from every sample gets the target of the nearest one; predictions never leave the
    range of the targets. Time and memory are those of `gaussian_average`: millions of samples are
    fine, and with one or two features a broad kernel costs no more than a narrow one.

    Parameters
    ----------
    kernel : {"gaussian", "uniform"}
        "uniform" gives every sample the same weight (average pooling) and ignores the bandwidth.
    bandwidth : float, sequence of one float per feature, "loo" or "gradient"
        The width h. "loo" is one multiple of the features' standard deviations, found by a search
        for the least leave-one-out squared error; "gradient" learns a width for each feature by
        gradient descent on the same error, from `initial_bandwidth`. Both use at most 2048 samples,
        drawn at random, and scale the result by (2048/n)^(1/(D+4)) if there are n > 2048.
    initial_bandwidth : float, sequence of one float per feature, "loo" or None
        Where "gradient" starts. None is the standard deviation of each feature, a broad kernel.
        If the target oscillates many times within the data, a broad start may not converge;
        "loo" starts from the search's result.
    steps : int
        Steps of the gradient descent, in minibatches of at most 256 samples.
    learning_rate : float
        Its first step, in units of log h.
    random_state : int, RandomState or None
        Draws samples and minibatches; an int, such as the default, makes learning repeatable.

    Attributes
    ----------
    bandwidth_ : ndarray of shape (D,)
        The width used for each feature; infinite for the uniform kernel.
    losses_ : ndarray of shape (epochs,)
        With "gradient" only: the mean leave-one-out squared error over the minibatches of each
        epoch, in the targets' units squared. Up to 256 samples are one minibatch: then every step
        is an epoch, and the first loss is that of the initial bandwidth.
    X_, y_ : ndarrays
        The samples (the keys) and their targets (the values), as float64.
    n_features_in_ : int
        The number of features D.

    Examples
    --------
    >>> model = NadarayaWatson(bandwidth=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> model.predict([[1.0], [50.0]]).round(3)
    array([1.213, 4.   ])
    >>> model.attention_weights([[1.0]]).round(3)
    array([[0.107, 0.787, 0.107]])
    >>> x = np.linspace(0, 5, 50)[:, None]
    >>> model = NadarayaWatson(bandwidth="gradient", initial_bandwidth=2.0).fit(x, np.sin(x[:, 0]))
    >>> bool(model.losses_[-1] < 0.1 * model.losses_[0]), model.bandwidth_.round(2)
    (True, array([0.09]))
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        bandwidth: float | Sequence[float] | Floats | str = 1.0,
        *,
        initial_bandwidth: float | Sequence[float] | Floats | str | None = None,
        steps: int = 150,
        learning_rate: float = 0.2,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.initial_bandwidth = initial_bandwidth
        self.steps = steps
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Store the samples X (n, D) and targets y, (n,) or (n, V), and choose the bandwidth."""
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        _check_choice("kernel", self.kernel, KERNELS)
        self.X_: Floats = np.array(X, dtype=np.float64)
        self.y_: Floats = np.array(y, dtype=np.float64)
        self.bandwidth_: Floats = self._choose_bandwidth()
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the attention-weighted averages of the targets at the points X, (Q,) or (Q, V)."""
        X = self._check_queries(X)
        if self.kernel == "uniform":
            mean_V = (_columns(self.y_) / len(self.y_)).sum(0)  # the plain sum could overflow
            average_QV = np.tile(mean_V, (len(X), 1))
        else:
            query_QD, key_KD = self._in_bandwidths(X)
            average_QV = gaussian_average(query_QD, key_KD, _columns(self.y_))
        if probe.probes():
            self._tell(X, torch.from_numpy(average_QV)[None])
        return average_QV if self.y_.ndim == 2 else average_QV[:, 0]

    def attention_weights(self, X: ArrayLike) -> Floats:
        """Return the whole attention map, (Q, K): row q has the weights of all samples at X[q]."""
        X = self._check_queries(X)
        if self.kernel == "uniform":
            return np.full((len(X), len(self.X_)), 1.0 / len(self.X_))
        query_QD, key_KD = self._in_bandwidths(X)
        weights_QK = np.empty((len(X), len(key_KD)))
        step = max(1, MAP_PAIRS // len(key_KD))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            weights_QK[rows] = gaussian_weights(query_QD[rows], key_KD)
        return weights_QK

    def _tell(self, X: Floats, average_1QV: Tensor) -> None:
        """Tell `trace` how the averages of the points X were computed."""

        def distances(rows: Tensor) -> Tensor:
            query_QD, key_KD = self._in_bandwidths(X)
            query, key = torch.from_numpy(query_QD)[rows], torch.from_numpy(key_KD)
            return torch.cdist(query, key, compute_mode="donot_use_mm_for_euclid_dist")[None]

        def kernel(rows: Tensor) -> Tensor:
            return torch.exp(-distances(rows).square() / 2)

        def weights(rows: Tensor) -> Tensor:
            return torch.from_numpy(self.attention_weights(X[rows.numpy()]))[None]

        probe.scope("regression", "cross-attention")
        told = average_1QV
        if self.kernel == "gaussian":
            probe.emit("distances", "d_i = |(x − x_i) / h|", told, "key", distances)
            probe.emit("kernel", "K_i = exp(−d_i² / 2)", told, "key", kernel)
        probe.emit("weights", "a_i = K_i / Σ_j K_j", told, "key", weights)
        probe.emit("prediction", "f(x) = Σ_i a_i y_i", told)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = self.kernel == "uniform"
        return tags

    def _check_queries(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        checked: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return checked

    def _choose_bandwidth(self) -> Floats:
        num_features = self.X_.shape[1]
        if self.kernel == "uniform":
            return np.full(num_features, np.inf)
        if not isinstance(self.bandwidth, str):
            return _check_widths(self.bandwidth, num_features)
        _check_choice("bandwidth", self.bandwidth, LEARNED)
        key_KD, value_KV = torch.tensor(self.X_), torch.tensor(_columns(self.y_))
        random = check_random_state(self.random_state)
        if self.bandwidth == "loo":
            return searched_bandwidth(key_KD, value_KV, random=random).numpy()
        if self.initial_bandwidth is None:
            start_D = deviations(key_KD)
        elif isinstance(self.initial_bandwidth, str):
            _check_choice("initial_bandwidth", self.initial_bandwidth, ("loo",))
            start_D = searched_bandwidth(key_KD, value_KV, random=random)
        else:
            widths = _check_widths(self.initial_bandwidth, num_features, "initial_bandwidth")
            start_D = torch.from_numpy(widths)
        learned_D, losses = descended_bandwidth(
            key_KD,
            value_KV,
            start_D,
            steps=self.steps,
            learning_rate=self.learning_rate,
            random=random,
        )
        self.losses_: Floats = np.array(losses)
        return learned_D.numpy()

    def _in_bandwidths(self, X: Floats) -> tuple[Floats, Floats]:
        """Return queries and keys from the keys' middle, in bandwidths, without overflow."""
        low_D, high_D = self.X_.min(0) / 2, self.X_.max(0) / 2
        middle_D = (low_D + high_D) / 2
        query_QD, key_KD = X / 2 - middle_D, self.X_ / 2 - middle_D  # halves cannot overflow
        largest_D = np.maximum(np.abs(query_QD).max(0), np.abs(key_KD).max(0))
        width_D = np.maximum(self.bandwidth_ / 2, largest_D / LARGEST)
        width_D = np.where(width_D > 0, width_D, 1.0)
        return query_QD / width_D, key_KD / width_D


def _columns(y: Floats) -> Floats:
    return y if y.ndim == 2 else y[:, None]


def _check_choice(argument: str, given: Any, choices: Sequence[str]) -> None:
    if given not in choices:
        expected = " or ".join(repr(choice) for choice in choices)
        more = "a positive number, one per feature, " if "bandwidth" in argument else ""
        raise ValueError(f"{argument} must be {more}{expected}, got {given!r}.")


def _check_widths(given: Any, num_features: int, name: str = "bandwidth") -> Floats:
    """Return one positive width per feature."""
    try:
        widths = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        widths = np.array([np.nan])
    if widths.ndim != 1 or (np.ndim(given) > 0 and len(widths) != num_features):
        raise ValueError(
            f"{name} must be a number or {num_features} of them, one per feature, got shape "
            f"{widths.shape}."
        )
    if not (widths > 0).all():
        raise ValueError(f"{name} must be positive numbers, got {given!r}.")
    return np.broadcast_to(widths, num_features).copy()
