"""NadarayaWatson against the formula, statsmodels, scikit-learn's checks and itself."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from regard.attention.kernel_regression import sums as kernel_sum
from regard.attention.kernel_regression.bandwidth import golden_section
from regard.attention.kernel_regression.compress import (
    NODES,
    Grid,
    pseudo_keys,
    transform,
    transform_pays,
)
from regard.attention.kernel_regression.nadaraya_watson import NadarayaWatson
from regard.attention.kernel_regression.sums import (
    compressed_sums,
    gaussian_average,
    gaussian_sums,
    merge_duplicates,
)
from regard.attention.kernel_regression.tiles import exact_sums, kd_blocks

REPEATABLE = settings(deadline=None, derandomize=True, max_examples=40)
SEEDS = st.integers(0, 10_000)
WIDTHS = st.floats(1e-3, 1e3)


@parametrize_with_checks(
    [
        NadarayaWatson(),
        NadarayaWatson(kernel="uniform"),
        NadarayaWatson(bandwidth="loo"),
        NadarayaWatson(bandwidth="gradient", steps=5),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def direct(X, y, queries, bandwidth):
    """The formula as it is written, with the best score subtracted."""
    scores = -0.5 * (((queries[:, None] - X[None]) / bandwidth) ** 2).sum(-1)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights @ y / weights.sum(1, keepdims=True)


def noisy_sine(num_samples, seed=0):
    """The classic demonstration, y = 2 sin x + x^0.8 and noise, with its noiseless curve."""
    random = np.random.default_rng(seed)
    x, grid = 5 * random.random(num_samples), np.linspace(0, 5, 200)
    truth = [2 * np.sin(points) + points**0.8 for points in (x, grid)]
    return x[:, None], truth[0] + random.normal(0, 0.5, num_samples), grid[:, None], truth[1]


# Agreement with the formula and with statsmodels.


@pytest.mark.parametrize("num_features", [1, 2, 3])
def test_agrees_with_statsmodels(num_features):
    from statsmodels.nonparametric.kernel_regression import KernelReg

    random = np.random.default_rng(num_features)
    X, queries = random.normal(size=(300, num_features)), random.normal(size=(100, num_features))
    y = np.sin(X[:, 0]) + random.normal(0, 0.1, 300)
    width = [0.3, 0.5, 0.7][:num_features]
    peer = KernelReg(y, X, "c" * num_features, reg_type="lc", bw=width)
    ours = NadarayaWatson(bandwidth=width).fit(X, y).predict(queries)
    np.testing.assert_allclose(ours, peer.fit(queries)[0], atol=1e-5)


@REPEATABLE
@given(SEEDS, st.integers(1, 400), st.integers(1, 300), st.sampled_from([1, 2, 5]), WIDTHS)
def test_agrees_with_the_formula(seed, num_keys, num_queries, num_features, width):
    random = np.random.default_rng(seed)
    X = random.normal(size=(num_keys, num_features))
    y = random.normal(size=(num_keys, 2))
    queries = random.normal(scale=2.0, size=(num_queries, num_features))
    predicted = NadarayaWatson(bandwidth=width).fit(X, y).predict(queries)
    np.testing.assert_allclose(predicted, direct(X, y, queries, width), atol=1e-7)


LAYOUTS = {
    "even": lambda random, n, d: random.random((n, d)),
    "heavy tails": lambda random, n, d: random.standard_cauchy((n, d)),
    "whole numbers": lambda random, n, d: random.integers(0, 30, (n, d)) / 30,
    "two clusters": lambda random, n, d: random.normal(0, 0.01, (n, d)) + random.integers(2),
    "constant": lambda random, n, d: np.zeros((n, d)),
}


@REPEATABLE
@given(SEEDS, st.sampled_from(sorted(LAYOUTS)), st.sampled_from([1, 1, 2, 3]), WIDTHS)
@example(0, "even", 1, 20.0)
@example(0, "even", 2, 10.0)
@example(0, "even", 3, 2.0)
@example(0, "even", 1, 5000.0)
@example(0, "two clusters", 1, 300.0)
def test_every_way_agrees_with_the_formula(seed, layout, num_features, width):
    random = np.random.default_rng(seed)
    key = LAYOUTS[layout](random, 3000, num_features) * width
    value = random.normal(size=(3000, 1))
    near = key[:150] + random.normal(size=(150, num_features))
    anywhere = random.uniform(-3, 3, (150, num_features)) * (np.abs(key).max() + 1)
    query = np.concatenate([near, anywhere])
    expected = direct(key, value, query, 1.0)
    charge = np.concatenate([np.ones_like(value), value], axis=1)
    sums = {"chosen": gaussian_sums(query, key, charge), "exact": exact_sums(query, key, charge)}
    if num_features == 1:
        sums["compressed"] = compressed_sums(query, *merge_duplicates(key, charge))
    for way, sums_QC in sums.items():
        assert np.abs(sums_QC[:, 1:] / sums_QC[:, :1] - expected).max() < 1e-7, way
    grid = Grid.over(query, key, 2)
    if grid is not None and grid.num_boxes * NODES**num_features < 200_000:
        sums_QC, trusted = transform(grid, query, key, charge)
        averages = sums_QC[trusted, 1:] / sums_QC[trusted, :1]
        np.testing.assert_allclose(averages, expected[trusted], atol=1e-9)


@pytest.mark.parametrize("width", [20, 5000])
def test_a_hundred_thousand_samples(width):
    random = np.random.default_rng(0)
    query, key = width * random.random((100_000, 1)), width * random.random((100_000, 1))
    value = random.normal(size=(100_000, 1))
    grid = Grid.over(query, key, 2)
    assert grid is not None and transform_pays(grid, query, key, 2)
    assert transform(grid, query, key, np.concatenate([np.ones_like(value), value], 1))[1].all()
    predicted = gaussian_average(query, key, value)[::2000]
    np.testing.assert_allclose(predicted, direct(key, value, query[::2000], 1.0), atol=1e-9)


def test_compression_keeps_few_nodes_and_all_the_charge():
    key = np.linspace(0, 10, 5000)[:, None]
    node, charge = pseudo_keys(key, np.ones_like(key), width=1.0)
    assert len(node) < 200
    assert charge.sum() == pytest.approx(5000)


def test_blocks_hold_every_point_once():
    point = torch.from_numpy(np.random.default_rng(0).normal(size=(1001, 3)))
    index = kd_blocks(point, 64).flatten()
    assert sorted(index[index < 1001].tolist()) == list(range(1001))


# Properties.


@REPEATABLE
@given(SEEDS, st.integers(1, 60), WIDTHS, st.floats(-1e3, 1e3))
def test_stays_within_targets_and_ignores_order_and_place(seed, num_keys, width, shift):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(num_keys, 2)), random.normal(size=num_keys)
    queries = random.normal(size=(20, 2)) * 3
    model = NadarayaWatson(bandwidth=width)
    predicted = model.fit(X, y).predict(queries)
    assert predicted.min() >= y.min() and predicted.max() <= y.max()
    order = random.permutation(num_keys)
    np.testing.assert_allclose(model.fit(X[order], y[order]).predict(queries), predicted, atol=1e-9)
    # A shift rounds the coordinates: by 1e-13 here, and a score by that times distance / width².
    rounding = 1e-12 * 20 / width**2
    np.testing.assert_allclose(
        model.fit(X + shift, y).predict(queries + shift), predicted, atol=1e-9 + rounding
    )


@REPEATABLE
@given(SEEDS, st.integers(1, 60), st.sampled_from([1, 3]), WIDTHS)
def test_the_map_gives_the_prediction(seed, num_keys, num_features, width):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(num_keys, num_features)), random.normal(size=num_keys)
    queries = random.normal(size=(7, num_features))
    model = NadarayaWatson(bandwidth=width).fit(X, y)
    weights = model.attention_weights(queries)
    assert weights.shape == (7, num_keys) and weights.dtype == np.float64
    np.testing.assert_allclose(weights.sum(1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(weights @ y, model.predict(queries), atol=1e-9)


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@REPEATABLE
@given(
    st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=8), FINITE, st.floats(1e-300, 1e300)
)
@example([(-1.7e308, 1.7e308), (1.7e308, -1.7e308)], 1.7e308, 1e-300)
def test_is_never_nan(samples, query, width):
    X, y = np.array(samples)[:, :1], np.array(samples)[:, 1]
    for kernel in ("gaussian", "uniform"):
        model = NadarayaWatson(kernel=kernel, bandwidth=width).fit(X, y)
        assert np.isfinite(model.predict([[query]])).all()
        assert np.isfinite(model.attention_weights([[query]])).all()


@pytest.mark.parametrize("num_samples", [10, 5000])
@pytest.mark.parametrize("distance", [100, 1e6, 1e12])
def test_far_away_gives_the_nearest_target(num_samples, distance):
    X = np.linspace(0, 1, num_samples)[:, None]
    y = np.arange(num_samples, dtype=float)
    width = 0.1 / num_samples
    queries = np.concatenate(
        [-distance * width * np.ones((100, 1)), 1 + distance * width * np.ones((100, 1))]
    )
    predicted = NadarayaWatson(bandwidth=width).fit(X, y).predict(queries)
    assert (predicted[:100] == 0).all() and (predicted[100:] == num_samples - 1).all()


def test_uniform_is_average_pooling():
    X, y, grid, _ = noisy_sine(50)
    model = NadarayaWatson(kernel="uniform").fit(X, y)
    np.testing.assert_allclose(model.predict(grid), y.mean())
    assert (model.attention_weights(grid) == 1 / 50).all()


def test_an_infinite_bandwidth_ignores_its_feature():
    X, y, grid, _ = noisy_sine(50)
    both = np.concatenate([X, np.random.default_rng(1).normal(size=X.shape)], axis=1)
    expected = NadarayaWatson(bandwidth=0.3).fit(X, y).predict(grid)
    model = NadarayaWatson(bandwidth=[0.3, np.inf]).fit(both, y)
    np.testing.assert_allclose(model.predict(np.repeat(grid, 2, axis=1)), expected, atol=1e-12)


# Learned bandwidths.


@pytest.mark.parametrize("bandwidth", ["loo", "gradient"])
@pytest.mark.parametrize("num_samples", [60, 3000])
def test_a_learned_bandwidth_beats_bad_ones(bandwidth, num_samples):
    X, y, grid, truth = noisy_sine(num_samples)

    def error(**how):
        predicted = NadarayaWatson(**how).fit(X, y).predict(grid)
        return np.mean((predicted - truth) ** 2)

    learned, too_wide = error(bandwidth=bandwidth), error(bandwidth=2.0)
    assert learned < 0.5 * error(bandwidth=0.003)
    assert learned < 0.2 * too_wide
    assert too_wide < error(kernel="uniform")


def test_gradient_widens_a_feature_that_tells_nothing():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 2)) * [1.0, 10.0]
    y = np.sin(2 * X[:, 0]) + random.normal(0, 0.1, 500)
    one, each = (NadarayaWatson(bandwidth=how).fit(X[:300], y[:300]) for how in ("loo", "gradient"))
    deviation = X[:300].std(0)
    relative = each.bandwidth_ / deviation
    assert relative[1] > 1.0 > 0.2 > relative[0]
    np.testing.assert_allclose(one.bandwidth_ / deviation, (one.bandwidth_ / deviation)[0])
    assert each.score(X[300:], y[300:]) > one.score(X[300:], y[300:]) + 0.02


@pytest.mark.parametrize("start", [3.0, [0.02], None, "loo"], ids=str)
def test_it_learns_from_where_it_is_told_to_start(start):
    X, y, _, _ = noisy_sine(60)

    def model(**how):
        return NadarayaWatson(bandwidth="gradient", initial_bandwidth=start, **how).fit(X, y)

    first, last = model(steps=0), model(steps=100)
    widths = {None: X.std(0), "loo": NadarayaWatson(bandwidth="loo").fit(X, y).bandwidth_}
    expected = widths[start] if start in (None, "loo") else np.atleast_1d(start)
    np.testing.assert_allclose(first.bandwidth_, expected)
    assert first.losses_.shape == (0,) and last.losses_.shape == (100,)  # one minibatch: one step
    left_out = [
        NadarayaWatson(bandwidth=expected)
        .fit(np.delete(X, n, 0), np.delete(y, n))
        .predict(X[n:][:1])
        for n in range(60)
    ]
    np.testing.assert_allclose(last.losses_[0], np.mean((np.concatenate(left_out) - y) ** 2))
    assert last.losses_[-1] <= last.losses_[0] * (1 + 1e-9)
    if start != "loo":
        assert last.losses_[-1] < 0.9 * last.losses_[0]
        ends = [NadarayaWatson(bandwidth="loo").fit(X, y).bandwidth_, last.bandwidth_]
        np.testing.assert_allclose(*ends, rtol=0.1)  # one feature: both have the same optimum


def test_an_epoch_is_every_sample_once():
    X, y, _, _ = noisy_sine(600)  # three minibatches
    model = NadarayaWatson(bandwidth="gradient", steps=7).fit(X, y)
    assert model.losses_.shape == (3,)
    assert not hasattr(NadarayaWatson(bandwidth="loo").fit(X, y), "losses_")


def test_learning_is_repeatable():
    X, y, _, _ = noisy_sine(600)
    X = np.concatenate([X, X[::-1]], axis=1)
    widths = [
        NadarayaWatson(bandwidth="gradient", steps=5, random_state=state).fit(X, y).bandwidth_
        for state in (3, 3, 4)
    ]
    assert (widths[0] == widths[1]).all() and (widths[0] != widths[2]).all()


def test_golden_section_finds_the_floor():
    assert golden_section(lambda x: (x - 0.3) ** 2, -1.0, 2.0) == pytest.approx(0.3, abs=2e-3)


# Bad input.


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"kernel": "box"}, "kernel must be 'gaussian' or 'uniform', got 'box'."),
        ({"bandwidth": 0}, "bandwidth must be positive numbers, got 0."),
        ({"bandwidth": [1.0, -2.0]}, r"bandwidth must be positive numbers, got \[1.0, -2.0\]."),
        ({"bandwidth": float("nan")}, "bandwidth must be positive numbers, got nan."),
        ({"bandwidth": None}, "bandwidth must be positive numbers, got None."),
        ({"bandwidth": [1.0, 2.0, 3.0]}, r"bandwidth must be a number or 2 of.*got shape \(3,\)"),
        (
            {"bandwidth": "gradient", "initial_bandwidth": -1.0},
            "initial_bandwidth must be positive numbers, got -1.0.",
        ),
        (
            {"bandwidth": "gradient", "initial_bandwidth": "best"},
            "initial_bandwidth must be a positive number, .*'loo', got 'best'.",
        ),
        ({"bandwidth": "silverman"}, "bandwidth must be .*'gradient' or 'loo', got 'silverman'."),
    ],
)
def test_bad_input_is_one_sentence(how, sentence):
    with pytest.raises(ValueError, match=sentence):
        NadarayaWatson(**how).fit(np.eye(2), np.ones(2))


def test_small_problems_skip_the_machinery(monkeypatch):
    monkeypatch.setattr(kernel_sum, "Grid", None)
    key = np.zeros((3, 1))
    assert gaussian_average(key, key, key).tolist() == [[0.0]] * 3
