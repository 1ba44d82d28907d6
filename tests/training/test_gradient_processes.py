"""Processes that compute gradients: shared weights, unused parameters, errors and sudden ends."""

import multiprocessing
import os
import signal

import pytest
import torch
from torch import nn

from regard.errors import InputError
from regard.training.gradient_processes import GradientProcesses
from regard.training.update import shard_gradients
from regard.worker_pool import can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="gradients are computed in threads here")


class Network(nn.Module):
    """A layer that is used, and one that is not."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.used, self.unused = nn.Linear(3, 2), nn.Linear(3, 2)

    def gradients(self, shard, factor):
        if factor < 0:
            raise InputError(f"factor must be positive, got {factor}.")
        loss = self.used(torch.ones(4, 3) * shard * factor).pow(2).sum()
        return shard_gradients(loss, list(self.parameters()))


def test_a_process_computes_what_this_one_would_with_the_weights_of_the_moment():
    network = Network()
    with GradientProcesses(2, list(network.parameters()), network.gradients) as processes:
        for _ in range(3):
            processes.request(0.5)
            for shard, result in enumerate(processes.results(), start=1):
                expected = network.gradients(shard, 0.5)
                assert result.loss == expected.loss
                for gradient, other in zip(result.gradients, expected.gradients, strict=True):
                    assert gradient is other is None or torch.equal(gradient, other)
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.mul_(1.5)


def test_an_error_of_a_process_is_raised_here_and_the_process_goes_on():
    network = Network()
    with GradientProcesses(1, list(network.parameters()), network.gradients) as processes:
        processes.request(-1.0)
        with pytest.raises(InputError, match="factor must be positive, got -1"):
            processes.results()
        processes.request(1.0)
        assert processes.results()[0].loss == network.gradients(1, 1.0).loss


def test_a_killed_process_is_an_error_that_says_how_to_go_on():
    network = Network()
    with GradientProcesses(1, list(network.parameters()), network.gradients) as processes:
        (child,) = multiprocessing.active_children()
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        with pytest.raises(InputError, match="--resume"):
            processes.request(1.0)
            processes.results()


def test_processes_ignore_an_interrupt_and_end_with_the_context():
    network = Network()
    with GradientProcesses(1, list(network.parameters()), network.gradients) as processes:
        processes.request(1.0)
        processes.results()
        (child,) = multiprocessing.active_children()
        os.kill(child.pid, signal.SIGINT)
        processes.request(1.0)
        assert processes.results()
    assert not multiprocessing.active_children()
