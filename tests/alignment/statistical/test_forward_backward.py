"""The hidden Markov model: posteriors and expected jumps against the sum over all alignments."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.alignment.statistical import jumps as jumps_module
from regard.alignment.statistical.forward_backward import (
    NULL,
    JumpCounts,
    forward_backward,
    without_order,
)
from regard.alignment.statistical.jumps import REACH, Jumps, Spread, shifted


def some_jumps(seed=0):
    random = np.random.default_rng(seed)
    return Jumps(random.random(2 * REACH + 1) + 0.1, 0.05)


def enumerated(emission_JI, null_J, jumps):
    """Posterior (J, I), that of NULL (J,) and counts of jumps, by every path of states."""
    num_words, num_positions = emission_JI.shape

    def weight(distance):
        return float(jumps.weights(np.array(distance)))

    def jump(origin, to):
        return weight(to - origin) / sum(weight(k - origin) for k in range(num_positions))

    linked, null = np.zeros(emission_JI.shape), np.zeros(num_words)
    counts, total = {}, 0.0
    states = [(i, is_null) for i in range(num_positions) for is_null in (False, True)]
    for path in itertools.product(states, repeat=num_words):
        probability, moves, before = 1.0, [], -1
        for word, (position, is_null) in enumerate(path):
            if is_null and word == 0:  # the first position is drawn even for NULL
                probability *= NULL * null_J[0] * jump(-1, position)
            elif is_null:
                probability *= NULL * null_J[word] * (position == before)
            else:
                probability *= (1 - NULL) * jump(before, position) * emission_JI[word, position]
                moves.append(position - before)
            before = position
        probability *= weight(num_positions - before)
        total += probability
        for word, (position, is_null) in enumerate(path):
            if is_null:
                null[word] += probability
            else:
                linked[word, position] += probability
        for distance in moves:
            counts[distance] = counts.get(distance, 0.0) + probability
    return linked / total, null / total, {d: count / total for d, count in counts.items()}


@pytest.mark.parametrize(("num_words", "num_positions"), [(1, 1), (1, 3), (3, 1), (4, 3), (3, 4)])
def test_posteriors_and_jumps_are_sums_over_all_alignments(num_words, num_positions):
    random = np.random.default_rng(num_words)
    emission = random.random((num_words, num_positions)).astype(np.float32)
    null = random.random(num_words).astype(np.float32)
    jumps, counts = some_jumps(), JumpCounts()
    found = forward_backward(
        emission[:, None],
        null[:, None],
        jumps,
        np.array([num_positions]),
        np.array([num_words]),
        counts,
    )
    linked, of_null, moves = enumerated(emission, null, jumps)
    np.testing.assert_allclose(found.linked[:, 0], linked, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.null[:, 0], of_null, rtol=1e-4, atol=1e-6)
    for distance in range(-REACH, REACH + 1):
        expected = moves.get(distance, 0.0)
        assert counts.near[distance + REACH] == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert counts.far == pytest.approx(0.0, abs=1e-4)


def test_padding_changes_nothing():
    random = np.random.default_rng(1)
    lengths, num_steps = np.array([5, 3, 4]), np.array([2, 6, 4])
    emission = random.random((6, 3, 5)).astype(np.float32)
    null = random.random((6, 3)).astype(np.float32)
    jumps, counts, one_by_one = some_jumps(), JumpCounts(), JumpCounts()
    alone = []
    for row, (length, steps) in enumerate(zip(lengths, num_steps, strict=True)):
        part = emission[:steps, row : row + 1, :length], null[:steps, row : row + 1]
        sizes = lengths[row : row + 1], num_steps[row : row + 1]
        alone.append(forward_backward(*part, jumps, *sizes, one_by_one))
        emission[:, row, length:] = 0
        emission[steps:, row, :length] = 1
        null[steps:, row] = 0
    together = forward_backward(emission, null, jumps, lengths, num_steps, counts)
    for row, found in enumerate(alone):
        steps, length = num_steps[row], lengths[row]
        np.testing.assert_allclose(
            together.linked[:steps, row, :length], found.linked[:, 0], rtol=1e-4, atol=1e-6
        )
        np.testing.assert_allclose(together.null[:steps, row], found.null[:, 0], rtol=1e-4)
    np.testing.assert_allclose(counts.near, one_by_one.near, rtol=1e-3, atol=1e-5)


def test_long_sentences_take_another_way_to_the_same_result(monkeypatch):
    values = np.random.default_rng(2).random((3, 40)).astype(np.float32)
    jumps = some_jumps()
    by_matrix = Spread(jumps, 40)
    monkeypatch.setattr(jumps_module, "DENSE", 10)
    by_band = Spread(jumps, 40)
    np.testing.assert_allclose(by_matrix.into(values), by_band.into(values), rtol=1e-4)
    np.testing.assert_allclose(by_matrix.out_of(values), by_band.out_of(values), rtol=1e-4)


@given(st.integers(1, 12), st.integers(-15, 15))
def test_shifted_positions(num_positions, distance):
    to, origin = (list(range(num_positions))[part] for part in shifted(num_positions, distance))
    wanted = [i for i in range(num_positions) if 0 <= i - distance < num_positions]
    assert to == wanted
    assert origin == [i - distance for i in wanted]


def test_jumps_of_each_length_sum_to_one():
    jumps, lengths = some_jumps(), np.array([1, 4, 7])
    share = jumps.inverse_totals(7, lengths)
    for row, length in enumerate(lengths):
        position = np.arange(length)
        weights = jumps.weights(position - position[:, None])
        np.testing.assert_allclose(weights.sum(axis=1) * share[row, :length], 1, rtol=1e-5)
    first = jumps.first(7, lengths)
    np.testing.assert_allclose(first.sum(axis=1), 1, rtol=1e-5)


def test_without_order_every_position_is_alike():
    emission = np.array([[[0.2, 0.6]]], np.float32)
    found = without_order(emission, np.array([[0.4]], np.float32), np.array([2]))
    joint = np.array([0.2, 0.6]) * (1 - NULL) / 2
    total = joint.sum() + 0.4 * NULL
    np.testing.assert_allclose(found.linked[0, 0], joint / total, rtol=1e-5)
    np.testing.assert_allclose(found.null[0, 0], 0.4 * NULL / total, rtol=1e-5)
