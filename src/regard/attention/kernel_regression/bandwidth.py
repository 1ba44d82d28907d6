"""Bandwidths of a Gaussian kernel learned from the data, by leaving out each sample in turn.

Legend: N samples, Q those left out, D features, V values.

The loss is that of attention with the Gaussian score where no query may attend to itself:
L(h) = mean_q |y_q - Σ_{k≠q} softmax_k(-|(x_q - x_k)/h|²/2) y_k|², with values of variance one.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

SAMPLE = 2048  # samples used, drawn at random if there are more
BATCH = 256  # samples left out in one step of the gradient descent
ROWS = 512  # samples left out at once when all are
NARROWEST, WIDEST = 1e-3, 1e3  # bandwidths stay between these, in standard deviations
LOG_BOUNDS = math.log(NARROWEST), math.log(WIDEST)
GRID_WIDEST, GRID_STEPS = 10.0, 25
GOLDEN_STEPS = 16  # each leaves 0.618 of the bracket


def sample(
    key_ND: Tensor, value_NV: Tensor, random: np.random.RandomState
) -> tuple[Tensor, Tensor, float]:
    """Draw at most SAMPLE samples, and return the factor for the bandwidth found with them.

    The best bandwidth falls like N^(-1/(D+4)) as samples grow denser (Stone 1982), so what is best
    for the n drawn is multiplied by (n/N)^(1/(D+4)).
    """
    num_samples, num_features = key_ND.shape
    if num_samples <= SAMPLE:
        return key_ND, value_NV, 1.0
    drawn = torch.from_numpy(random.choice(num_samples, SAMPLE, replace=False))
    return key_ND[drawn], value_NV[drawn], (SAMPLE / num_samples) ** (1 / (num_features + 4))


def searched_bandwidth(
    key_ND: Tensor, value_NV: Tensor, *, random: np.random.RandomState
) -> Tensor:
    """Return the multiple of the features' standard deviations with the least loss, (D,).

    A logarithmic grid search, then a golden-section search.
    """
    key_ND, value_NV, shrink = sample(key_ND, value_NV, random)
    deviation_D = deviations(key_ND)
    if len(key_ND) < 2:  # no sample is left to predict from
        return deviation_D
    standard_ND, value_NV = key_ND / deviation_D, value_NV / deviations(value_NV)

    def loss(log_width: float) -> float:
        return left_out_loss(standard_ND / math.exp(log_width), value_NV)

    grid = np.linspace(math.log(NARROWEST), math.log(GRID_WIDEST), GRID_STEPS).tolist()
    best = int(np.argmin([loss(log_width) for log_width in grid]))
    bracket = grid[max(best - 1, 0)], grid[min(best + 1, GRID_STEPS - 1)]
    return deviation_D * (math.exp(golden_section(loss, *bracket)) * shrink)


def descended_bandwidth(
    key_ND: Tensor,
    value_NV: Tensor,
    start_D: Tensor,
    *,
    steps: int,
    learning_rate: float,
    random: np.random.RandomState,
) -> tuple[Tensor, list[float]]:
    """Learn a bandwidth for each feature by gradient descent on their logarithms, (D,).

    Adam in minibatches, the rate falling to zero along a cosine, from the bandwidth `start_D`,
    which is returned if the end has a higher loss. A feature unrelated to the values gets a large
    bandwidth. Also returns the mean loss of each epoch, in the values' units squared.
    """
    key_ND, value_NV, shrink = sample(key_ND, value_NV, random)
    if len(key_ND) < 2:
        return start_D, []
    deviation_D, deviation_V = deviations(key_ND), deviations(value_NV)
    standard_ND, value_NV = key_ND / deviation_D, value_NV / deviation_V
    log_start_D = (start_D / shrink / deviation_D).log().clamp(*LOG_BOUNDS)
    log_width_D = log_start_D.clone().requires_grad_()
    optimizer = torch.optim.Adam([log_width_D], lr=learning_rate)
    losses: list[list[float]] = []
    batches: list[Tensor] = []
    for step in range(steps):
        if not batches:
            order = torch.from_numpy(random.permutation(len(key_ND)))
            batches = list(order.split(BATCH))
            losses.append([])
        optimizer.param_groups[0]["lr"] = learning_rate * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.zero_grad()
        with torch.enable_grad():
            scaled_ND = standard_ND * torch.exp(-log_width_D)
            error_QV = left_out_errors(scaled_ND, value_NV, batches.pop(0))
            error_QV.mean().backward()
        optimizer.step()
        losses[-1].append(float((error_QV.detach() * deviation_V.square()).mean()))
        with torch.no_grad():
            log_width_D.clamp_(*LOG_BOUNDS)
    ends = [log_start_D, log_width_D.detach()]
    best_D = min(ends, key=lambda log_D: left_out_loss(standard_ND / log_D.exp(), value_NV))
    means = [sum(epoch) / len(epoch) for epoch in losses]
    return best_D.exp() * deviation_D * shrink, means


def left_out_errors(scaled_ND: Tensor, value_NV: Tensor, rows_Q: Tensor) -> Tensor:
    """Return the squared errors of predicting some samples from all the others, (Q, V)."""
    half_square_N = scaled_ND.square().sum(1) / 2
    scores_QN = scaled_ND[rows_Q] @ scaled_ND.T - half_square_N  # -|q|²/2 cancels in the softmax
    itself_QN = rows_Q[:, None] == torch.arange(len(scaled_ND))
    weights_QN = scores_QN.masked_fill(itself_QN, -torch.inf).softmax(1)
    return (value_NV[rows_Q] - weights_QN @ value_NV).square()


@torch.no_grad()
def left_out_loss(scaled_ND: Tensor, value_NV: Tensor) -> float:
    """Return the mean squared error of predicting every sample from all the others."""
    rows_N = torch.arange(len(scaled_ND))
    errors = [left_out_errors(scaled_ND, value_NV, rows) for rows in rows_N.split(ROWS)]
    return float(torch.cat(errors).mean())


def golden_section(loss: Callable[[float], float], low: float, high: float) -> float:
    """Return the position of a minimum of a loss between two bounds."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    loss_left, loss_right = loss(left), loss(right)
    for _ in range(GOLDEN_STEPS):
        if loss_left <= loss_right:
            high, right, loss_right = right, left, loss_left
            left = high - ratio * (high - low)
            loss_left = loss(left)
        else:
            low, left, loss_left = left, right, loss_right
            right = low + ratio * (high - low)
            loss_right = loss(right)
    return (low + high) / 2


def deviations(column_NM: Tensor) -> Tensor:
    """Return the standard deviation of each column, one where a column is constant, (M,)."""
    largest_M = column_NM.abs().amax(0).clamp(min=torch.finfo(torch.float64).tiny)
    deviation_M = (column_NM / largest_M).std(0, correction=0) * largest_M  # no square overflows
    return torch.where(deviation_M > 0, deviation_M, torch.ones_like(deviation_M))
