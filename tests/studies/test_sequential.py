"""The exact parts of the study of sequential operations: chains, paths and bytes."""

import pytest
import torch

from regard.studies.estimates import exponent
from regard.studies.mechanics.layer_costs import (
    HEADS,
    LAYERS,
    influence,
    inputs,
    new_layer,
    operation_depth,
    path_length,
    peak_bytes,
    train_once,
)


def depths(name, *lengths):
    return [operation_depth(new_layer(name, n)(inputs(1, n))) for n in lengths]


def test_the_chain_of_a_recurrent_network_grows_by_the_same_number_with_every_vector():
    first, second, third = depths("rnn", 8, 9, 10)
    assert second - first == third - second > 0


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "rnn"])
def test_no_other_chain_grows(name):
    assert len({*depths(name, 16, 32)}) == 1


@pytest.mark.parametrize(
    ("name", "expected"), [("rnn", 39), ("cnn", 39), ("projected", 1), ("fused", 1)]
)
def test_path_length(name, expected):
    assert path_length(influence(name, 40)) == expected


def test_a_window_of_ten_takes_four_steps_over_forty_vectors():
    assert path_length(influence("local", 40)) == 4


def test_path_length_equals_that_of_a_search_step_by_step():
    torch.manual_seed(0)
    for _ in range(5):
        reached = (torch.rand(12, 12) < 0.2) | torch.eye(12, dtype=torch.bool)
        reached |= torch.eye(12, dtype=torch.bool).roll(1, 0).tril()
        steps, now = 1, reached
        while not (now | ~torch.ones_like(now).tril()).all():
            now, steps = (reached.float() @ now.float()) > 0, steps + 1
        assert path_length(reached) == steps


def test_vectors_that_never_meet_are_an_error():
    with pytest.raises(ValueError, match="never depends"):
        path_length(torch.eye(8, dtype=torch.bool))


@pytest.mark.parametrize("name", ["cnn", "local", "linear", "reformer"])
def test_influence_is_where_the_gradient_is(name):
    length = 24
    torch.manual_seed(0)
    layer, x = new_layer(name, length), inputs(1, length)
    y = layer(x)
    y = y.transpose(1, 2)[0] if name == "cnn" else y.transpose(1, 2)[0].flatten(1)
    found = torch.stack(
        [
            (torch.autograd.grad(row.sum(), x, retain_graph=True)[0] != 0).any(-1).any(1)[0]
            for row in y
        ]
    )
    if name == "reformer":  # hashes differ between the two
        assert found.shape == influence(name, length).shape
    else:
        assert torch.equal(found, influence(name, length))


def test_peak_bytes_counts_what_is_held_at_once():
    x = torch.ones(1000)

    def run():
        for _ in range(3):
            y = x + 1  # two at the most: the last one and the next
        return y

    assert peak_bytes(run) == 2 * 4000
    assert peak_bytes(lambda: x.view(10, 100)) == 0


def test_dense_attention_holds_all_weights_and_fused_does_not():
    n = 256
    dense, fused = (
        peak_bytes(lambda name=name: train_once(new_layer(name, n), inputs(1, n)))
        for name in ("dense", "fused")
    )
    assert dense > 2 * HEADS * n * n * 4
    assert fused < HEADS * n * n * 4


def test_exponent_has_an_interval_where_points_are_off_the_line():
    assert exponent([1, 2, 4], [5, 20, 80]) == pytest.approx((2, 2, 2))
    mean, low, high = exponent([1, 2, 4, 8], [1, 2.2, 3.9, 8.1])
    assert low < 1 < high
    assert low < mean < high
