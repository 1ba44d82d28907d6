"""Adam and AdamW: the updates and the state of torch.optim, without torch's compiler."""

import subprocess
import sys

import pytest
import torch

from regard.training.optimizers.adam import Adam, AdamW
from tests.training.test_loop import trainer

KINDS = [(Adam, torch.optim.Adam), (AdamW, torch.optim.AdamW)]


def _updated(kind, **options):
    """Return parameters and the optimizer after four updates of two groups."""
    torch.manual_seed(0)
    matrices = [torch.randn(7, 5), torch.randn(3, 4, 2)]
    vectors = [torch.randn(6), torch.randn(())]
    groups = [
        {"params": matrices, "weight_decay": 0.1},
        {"params": vectors, "weight_decay": 0.0},
    ]
    optimizer = kind(groups, lr=0.01, betas=(0.9, 0.98), eps=1e-9, **options)
    for number in range(4):
        for parameter in matrices + vectors:
            parameter.grad = torch.randn(parameter.shape)
        for group in optimizer.param_groups:
            group["lr"] = 0.01 * (number + 1)
        optimizer.step()
    return matrices + vectors, optimizer


@pytest.mark.parametrize(("own", "torchs"), KINDS)
def test_updates_and_state_are_those_of_torch_to_the_bit(own, torchs):
    parameters, optimizer = _updated(own)
    expected, reference = _updated(torchs, fused=True)
    for parameter, other in zip(parameters, expected, strict=True):
        assert torch.equal(parameter, other)
        state, there = optimizer.state[parameter], reference.state[other]
        assert set(state) == set(there)
        assert all(torch.equal(state[name], there[name]) for name in state)
        assert all(state[name].dtype == there[name].dtype for name in state)


@pytest.mark.parametrize(("own", "torchs"), KINDS)
def test_devices_without_a_fused_kernel(own, torchs, monkeypatch):
    monkeypatch.setattr("regard.training.optimizers.adam.FUSED", ())
    parameters, _ = _updated(own)
    expected, _ = _updated(torchs, foreach=True)
    torch.testing.assert_close(parameters, expected, rtol=1e-6, atol=1e-7)


def test_a_parameter_without_gradient_is_not_updated():
    used, unused = torch.ones(3), torch.ones(3)
    used.grad = torch.ones(3)
    optimizer = AdamW([{"params": [used, unused]}], lr=0.1, weight_decay=0.1)
    optimizer.step()
    assert torch.equal(unused, torch.ones(3)) and not torch.equal(used, unused)
    assert unused not in optimizer.state


def test_a_run_before_its_first_update_has_no_moments():
    updater = trainer(steps=1).updater
    assert not any(updater.optimizers.state(p) for p in updater.network.parameters())


@pytest.mark.slow
def test_training_imports_neither_torchs_compiler_nor_sympy():
    program = """
import sys
from tests.training.test_loop import trainer
trainer(steps=2, validated=False).train()
print(sorted({name for name in sys.modules if name in ("torch._dynamo", "sympy", "scipy")}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
