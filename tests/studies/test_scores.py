"""The study of scores: the dot product with projections, and what is counted."""

import pytest
import torch

from regard.attention import Additive, ScaledDot, attend
from regard.studies.mechanics.scores import (
    SCORES,
    AlignmentRun,
    ProjectedDot,
    alignment_accuracy,
    costs,
    num_parameters,
    saved_megabytes,
    takes_unequal_widths,
)


@pytest.mark.parametrize("engine", ["dense", "fused", "blockwise"])
def test_a_projected_dot_product_is_the_scaled_one_of_projections(engine):
    torch.manual_seed(0)
    score = ProjectedDot(6, 10, 8)
    query, key, value = torch.randn(2, 3, 6), torch.randn(2, 5, 10), torch.randn(2, 5, 4)
    context = attend(query, key, value, score=score, engine=engine).context
    expected = attend(score.query_proj(query), score.key_proj(key), value).context
    torch.testing.assert_close(context, expected)


def test_only_the_plain_dot_product_needs_equal_widths():
    assert not takes_unequal_widths(ScaledDot(), 6, 10)
    assert takes_unequal_widths(ScaledDot(), 6, 6)
    assert all(takes_unequal_widths(make(6, 10, 8), 6, 10) for make in SCORES.values())


def test_parameters_are_those_of_the_equations():
    assert num_parameters(ScaledDot()) == 0
    assert num_parameters(Additive(6, 10, 8)) == 8 * (6 + 10) + 8
    assert num_parameters(ProjectedDot(6, 10, 8)) == 8 * (6 + 10)


def test_memory_kept_is_counted_once_for_each_tensor():
    x = torch.ones(1000, requires_grad=True)
    assert saved_megabytes(lambda: x * x) == pytest.approx(4000 / 1e6)
    assert saved_megabytes(lambda: x + x) == 0.0


def test_all_sums_at_once_keep_the_most_memory():
    kept = {name: cost.megabytes for name, cost in costs(16, 1).items()}
    assert kept["dot"] <= kept["additive"] <= kept["textbook"]
    assert kept["textbook"] > 16 * 64 * 64 * 16 * 4 / 1e6


@pytest.mark.parametrize("name", SCORES)
def test_alignment_is_learned_with_keys_of_another_width(name):
    torch.manual_seed(0)
    run = AlignmentRun(SCORES[name](32, 48, 32), 32, True, 1e-2, 0, 40)
    assert alignment_accuracy(run) > 0.5
