"""The study of scaling: the exact gradients of the softmax, and the moments of scores."""

import math

import pytest
import torch

from regard.attention import ScaledDot
from regard.studies.estimates import Estimate
from regard.studies.mechanics.scaling import (
    SCALES,
    Training,
    jacobian_norm,
    near,
    query_jacobian_norm,
    retrieval_error,
    score_figures,
    vanishes,
)


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_norms_are_those_of_the_jacobians(spread):
    torch.manual_seed(0)
    query, key = spread * torch.randn(3, 5).double(), torch.randn(7, 5).double()
    score = ScaledDot(0.5)
    weights = score(query, key).softmax(-1)
    for row in range(3):
        scores = score(query[row : row + 1], key)[0]
        of_scores = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
        torch.testing.assert_close(jacobian_norm(weights[row]), of_scores.norm())
        of_query = torch.autograd.functional.jacobian(
            lambda q: score(q[None], key)[0].softmax(-1), query[row]
        )
        found = query_jacobian_norm(weights[row : row + 1], key, 0.5)[0]
        torch.testing.assert_close(found, of_query.norm())


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("width", [4, 64])
def test_the_variance_of_scores_is_that_of_theory(name, width):
    power = SCALES[name][1]
    figures = score_figures(width, power, 0, 20_000)
    assert figures.variance == pytest.approx(width ** (1 + 2 * power), rel=0.05)
    assert figures.mean == pytest.approx(0, abs=0.05 * math.sqrt(figures.variance))


def test_the_library_divides_by_the_root_of_the_width():
    query, key = torch.randn(2, 3, 64), torch.randn(2, 4, 64)
    torch.testing.assert_close(ScaledDot()(query, key), ScaledDot(64**-0.5)(query, key))


def test_only_unscaled_scores_saturate():
    raw, scaled = (score_figures(1024, power, 0, 500) for power in (0.0, -0.5))
    assert raw.saturated > 0.5 > scaled.saturated == 0.0
    assert raw.gradient < 0.01 < 0.1 < scaled.gradient


def test_retrieval_is_learned_with_scaling_only():
    raw, scaled = (retrieval_error(Training(128, power, 3e-3, 0, 40)) for power in (0.0, -0.5))
    assert scaled < 0.1 < 0.5 < raw


def test_verdicts():
    assert near([Estimate(4.1, 4.0, 4.2)], [4])
    assert not near([Estimate(4.3, 4.0, 4.6)], [4])
    high, low = Estimate(1.0, 0.9, 1.1), Estimate(0.05, 0.04, 0.06)
    assert vanishes([high, low])
    assert not vanishes([high, high])
