"""The additive score with features of what is remembered, against its formula written out."""

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn import functional as F

from regard.attention import Coverage, LocationSensitive
from regard.attention.aligners.energy import energies, windows

F64 = torch.float64
B, S, DIM, HIDDEN = 2, 7, 4, 3


def queries_and_memory(aligner):
    memory = aligner.memory(torch.randn(B, S, DIM, dtype=F64), torch.tensor([S, S]))
    return torch.randn(3, B, DIM, dtype=F64), memory


def test_location_is_a_convolution_of_the_last_weights():
    aligner = LocationSensitive(DIM, DIM, HIDDEN, filters=2, width=5).double()
    queries, memory = queries_and_memory(aligner)
    state, last = aligner.initial_state(memory), torch.zeros(B, S, dtype=F64)
    for query in queries:
        attended, state = aligner.align(query, memory, state)
        features = F.conv1d(last[:, None], aligner.filters[:, None], padding=2).transpose(1, 2)
        hidden = aligner.energy.query_proj(query)[:, None] + memory.keys
        scores = torch.tanh(hidden + features @ aligner.feature_proj) @ aligner.energy.v
        last = torch.softmax(scores, -1)
        torch.testing.assert_close(attended.weights[:, 0], last)
        torch.testing.assert_close(state.weights, last)


def test_coverage_is_the_sum_of_all_weights():
    aligner = Coverage(DIM, DIM, HIDDEN).double()
    queries, memory = queries_and_memory(aligner)
    state, total = aligner.initial_state(memory), torch.zeros(B, S, dtype=F64)
    for query in queries:
        attended, state = aligner.align(query, memory, state)
        hidden = aligner.energy.query_proj(query)[:, None] + memory.keys
        hidden = hidden + total[..., None] * aligner.feature_proj[0]
        weights = torch.softmax(torch.tanh(hidden) @ aligner.energy.v, -1)
        torch.testing.assert_close(attended.weights[:, 0], weights)
        total = total + weights
        torch.testing.assert_close(state.total, total)


@pytest.mark.parametrize("remembered", [0, 2])
def test_energies_go_back_by_the_chain_rule(remembered):
    shapes = [(B, HIDDEN), (B, S, HIDDEN), (HIDDEN,)]
    shapes += [(B, S, remembered), (remembered, HIDDEN)] if remembered else []
    inputs = [torch.randn(shape, dtype=F64, requires_grad=True) for shape in shapes]
    assert gradcheck(energies, inputs)


def test_windows_of_any_width():
    weights = torch.rand(B, S)
    for width in (1, 3, 9, 21):
        result = windows(weights, width)
        kernel = torch.eye(width)[:, None]
        expected = F.conv1d(weights[:, None], kernel, padding=width // 2).transpose(1, 2)
        assert torch.equal(result, expected)


def test_a_width_without_a_middle_is_refused():
    with pytest.raises(ValueError, match="odd"):
        LocationSensitive(DIM, DIM, HIDDEN, width=4)
