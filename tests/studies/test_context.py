"""The probe and the distances of the study on context."""

import numpy as np
import pytest

from regard.studies.translators.sense_vectors import (
    SenseVectors,
    cosine_distances,
    probe_hits,
    sense_distances,
)


def vectors(seed, counts):
    """Occurrences whose layer 0 is one vector, and whose layer 1 has a direction for each sense."""
    generator = np.random.default_rng(seed)
    senses = [name for name, count in counts.items() for _ in range(count)]
    axes = {name: np.eye(len(counts), 6)[number] for number, name in enumerate(counts)}
    first = np.ones((len(senses), 6))
    second = np.stack([axes[sense] for sense in senses])
    second = second + 0.05 * generator.standard_normal(second.shape)
    return SenseVectors(senses, np.stack([first, second], 1))


def test_the_probe_names_the_most_frequent_sense_where_vectors_are_equal():
    fit, test = vectors(0, {"a": 9, "b": 5}), vectors(1, {"a": 3, "b": 4})
    assert probe_hits(fit, test, 0) == [True] * 3 + [False] * 4


def test_the_probe_finds_a_direction_for_each_sense():
    fit, test = vectors(0, {"a": 9, "b": 5, "c": 6}), vectors(1, {"a": 3, "b": 4, "c": 2})
    assert all(probe_hits(fit, test, 1))


def test_distances_within_and_between_senses():
    found = vectors(0, {"a": 4, "b": 4})
    assert sense_distances(found, 0) == pytest.approx((0, 0), abs=1e-12)
    within, between = sense_distances(found, 1)
    assert within < 0.05 < 0.8 < between
    assert np.isnan(sense_distances(SenseVectors(["a"], found.vectors[:1]), 1)).all()


def test_cosine_distances():
    np.testing.assert_allclose(
        cosine_distances(np.array([[1.0, 0], [0, 2], [-3, 0]])), [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    )
