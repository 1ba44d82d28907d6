"""Averages of weights, by their formulas."""

import pytest
import torch

from regard.training.averaging import EVERY, RunningMean, mean_weights


def test_the_running_mean_by_its_formula():
    """m ← d·m + (1 − d)·w at every fourth update, with the decay of four; shorter at first."""
    weights = [torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])]
    running = RunningMean(weights, 0.9)
    expected = [weight.double() for weight in weights]
    for step in range(1, 60):
        weights = [weight + 0.1 * step for weight in weights]
        running.update(weights, step)
        if step < EVERY or step % EVERY == 0:
            decay = min(0.9, (1 + step) / (10 + step)) ** (1 if step < EVERY else EVERY)
            expected = [
                decay * mean + (1 - decay) * weight
                for mean, weight in zip(expected, weights, strict=True)
            ]
    for found, mean in zip(running.mean, expected, strict=True):
        torch.testing.assert_close(found.double(), mean, rtol=1e-5, atol=1e-5)


def test_the_running_mean_leaves_the_weights_alone():
    weight = torch.ones(3)
    running = RunningMean([weight], 0.5)
    weight += 1
    running.update([weight], 1)
    assert weight.tolist() == [2, 2, 2]
    assert running.mean[0].tolist() == pytest.approx([2 - 2 / 11] * 3)


def test_the_mean_of_checkpoints():
    files = [
        {"a": torch.tensor([1.0, float(n)]), "b": torch.full((2, 2), 2.0 * n)} for n in range(5)
    ]
    mean = mean_weights(files)
    assert mean["a"].tolist() == [1, 2]
    assert mean["b"].tolist() == [[4, 4], [4, 4]]
    assert mean["a"].dtype == torch.float32
    same = mean_weights([{"a": torch.tensor(0.1)}] * 3)
    assert same["a"] == torch.tensor(0.1)
