"""The study of kernel regression: what holds exactly, and the limit of a fixed width."""

import numpy as np
import pytest

from regard.studies.estimates import Estimate
from regard.studies.mechanics.kernel import (
    METHODS,
    closer_weighs_more,
    consistent,
    curve,
    draw,
    error,
    fit_regression,
    limit_error,
    queries,
    rate,
)


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_an_average_in_the_order_of_distance(method):
    sample, points = draw(50, 1), queries(20)
    weights = fit_regression(method, sample).attention_weights(points[:, None])
    np.testing.assert_allclose(weights.sum(1), 1.0, rtol=1e-12)
    assert closer_weighs_more(weights, points, sample.x) == 1.0


def test_weights_of_a_farther_key_are_noticed():
    keys, points = np.array([0.0, 1.0, 2.0]), np.array([0.0])
    assert closer_weighs_more(np.array([[0.2, 0.3, 0.5]]), points, keys) == 0.0


def test_average_pooling_predicts_the_mean_whatever_the_query():
    sample = draw(50, 2)
    predictions = fit_regression("average", sample).predict(queries(9)[:, None])
    np.testing.assert_allclose(predictions, sample.y.mean())


def test_noise_has_the_stated_deviation_and_no_bias():
    sample = draw(40_000, 0)
    noise = sample.y - curve(sample.x)
    assert noise.mean() == pytest.approx(0, abs=0.01)
    assert noise.std() == pytest.approx(0.5, abs=0.01)


def test_a_fixed_width_converges_to_the_smoothed_curve():
    assert error(fit_regression("fixed", draw(20_000, 3))) == pytest.approx(
        limit_error(1.0), rel=0.05
    )
    assert limit_error(0.01) < 1e-4 < 0.1 < limit_error(1.0)


def test_rate_and_consistency():
    sizes = (10, 100, 1000)
    assert rate(sizes, [n**-0.8 for n in sizes]) == pytest.approx(-0.8)
    falls, stays = Estimate(0.002, 0.001, 0.003), Estimate(0.09, 0.08, 0.1)
    assert consistent(Estimate(0.1, 0.09, 0.11), falls)
    assert not consistent(Estimate(0.1, 0.09, 0.11), stays)
