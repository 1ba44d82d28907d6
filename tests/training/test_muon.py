"""Muon: orthogonal updates of matrices, in a real training, and after a resumed one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.training.optimizers.muon import (
    COEFFICIENTS,
    ITERATIONS,
    Muon,
    orthogonalize,
    suits,
)
from tests.training.test_loop import trainer, weights


@given(st.integers(16, 48), st.integers(16, 48), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_matrices_become_orthogonal_and_keep_their_directions(rows, columns, count, seed):
    generator = torch.Generator().manual_seed(seed)
    matrices = torch.randn(count, rows, columns, generator=generator, dtype=torch.float64)
    u, s, v = torch.linalg.svd(matrices, full_matrices=False)
    in_their_bases = u.mT @ orthogonalize(matrices) @ v.mT
    values = in_their_bases.diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(in_their_bases, torch.diag_embed(values))
    large = values[s > 0.1 * max(rows, columns) ** 0.5]  # the smallest need more iterations
    assert ((large > 0.5) & (large < 1.3)).all()


@pytest.mark.parametrize("shape", [(2, 16, 32), (1, 64, 16)])
def test_long_matrices_take_the_same_iterations(shape):
    a, b, c = COEFFICIENTS
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = matrices / torch.linalg.vector_norm(matrices, dim=(1, 2), keepdim=True)
    for _ in range(ITERATIONS):
        gram = expected @ expected.mT
        expected = a * expected + (b * gram + c * gram @ gram) @ expected
    torch.testing.assert_close(orthogonalize(matrices), expected, rtol=1e-4, atol=1e-6)


def test_an_update_of_several_matrices_together():
    torch.manual_seed(0)
    before = [torch.randn(shape) for shape in ((16, 48), (16, 48), (2, 32, 16), (32, 16))]
    after = [matrix.clone().requires_grad_() for matrix in before]
    for matrix in after:
        matrix.grad = torch.randn_like(matrix)
    Muon(after, lr=0.1, weight_decay=0.5, factor=2.0).step()
    for old, new in zip(before, after, strict=True):
        update = orthogonalize(new.grad.reshape(-1, *old.shape[-2:])).reshape(old.shape)
        length = 2.0 * 0.2 * max(old.shape[-2:]) ** 0.5
        expected = old * (1 - 0.1 * 0.5) - 0.1 * length * update
        torch.testing.assert_close(new.detach(), expected, rtol=1e-4, atol=1e-5)


def test_matrices_take_turns():
    torch.manual_seed(0)
    matrices = [torch.randn(16, 16, requires_grad=True) for _ in range(5)]
    muon = Muon(matrices, lr=0.1, period=3)
    for step in range(6):
        before = [matrix.detach().clone() for matrix in matrices]
        for matrix in matrices:
            matrix.grad = torch.randn_like(matrix)
        muon.step()
        changed = [not torch.equal(a, b) for a, b in zip(before, matrices, strict=True)]
        assert changed == [(number + step) % 3 == 0 for number in range(5)]


def test_only_matrices_of_useful_sizes_suit():
    assert suits(torch.empty(2, 16, 48)) and suits(torch.empty(64, 16))
    assert not any(map(suits, (torch.empty(64), torch.empty(1, 64), torch.empty(48, 8))))


def test_it_learns_and_leaves_tables_to_adam():
    made = trainer(steps=120, learning_rate=1e-2, schedule="linear", optimizer="muon")
    assert made.train().validation["accuracy"] == 1
    kinds = {
        name: type(made.updater.optimizers.of(parameter)).__name__
        for name, parameter in made.updater.network.named_parameters()
    }
    matrices = [name for name in kinds if "proj.weight" in name or "er.weight" in name]
    assert matrices == [name for name, kind in kinds.items() if kind == "Muon"]


def test_a_resumed_run_ends_with_the_same_weights(tmp_path):
    whole = trainer(steps=6, optimizer="muon", validated=False)
    whole.train()
    first = trainer(tmp_path, steps=3, optimizer="muon", validated=False)
    first.train()
    second = trainer(tmp_path, steps=6, optimizer="muon", validated=False)
    assert second.resume(tmp_path)
    second.train()
    pairs = zip(weights(whole.updater.network), weights(second.updater.network), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
