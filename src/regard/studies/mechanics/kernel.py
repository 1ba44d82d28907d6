"""Kernel regression: average pooling, a fixed Gaussian width and a learned one.

Samples y = 2 sin x + x^0.8 + noise, x uniform on [0, 5), noise of deviation 0.5. The error is the
mean squared difference from the curve without noise at QUERIES points, so that the least possible
is 0. Verdicts compare 95 % intervals over data sets: one method is better than another where its
interval lies below the other's; a method is consistent as far as can be measured where its error
at the largest number of samples is below a tenth of that at the smallest (high end against a
tenth of the low end).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.attention import NadarayaWatson
from regard.cores import cores
from regard.studies.estimates import Estimate, estimate, estimated_curve
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.views.charts.panels import Bilingual, Curve, CurvePanel, GridPanel, Panel
from regard.worker_pool import parallel_map

Floats = NDArray[np.float64]

LENGTH, NOISE, QUERIES = 5.0, 0.5, 200
FEW = 50
"""Samples of the textbook experiment."""
SIZES = (FEW, 150, 500, 1500, 5000, 15_000, 50_000)
QUICK_SIZES = (FEW, 200, 1000)
FIXED_WIDTH = 1.0
SHOWN_QUERIES = 15
LEARNED = ("gradient", "loo")

METHODS: dict[str, tuple[Bilingual, Callable[[], NadarayaWatson]]] = {
    "average": (
        Bilingual("average pooling", "平均汇聚"),
        lambda: NadarayaWatson("uniform"),
    ),
    "fixed": (
        Bilingual("Gaussian, width 1", "高斯核，宽度 1"),
        lambda: NadarayaWatson(bandwidth=FIXED_WIDTH),
    ),
    "gradient": (
        Bilingual("width by gradient", "梯度下降的宽度"),
        lambda: NadarayaWatson(bandwidth="gradient", initial_bandwidth=FIXED_WIDTH),
    ),
    "loo": (
        Bilingual("width by leave-one-out", "留一法的宽度"),
        lambda: NadarayaWatson(bandwidth="loo"),
    ),
}


class Sample(NamedTuple):
    """A data set, x and y (n,), in the order of x."""

    x: Floats
    y: Floats


def curve(x: Floats) -> Floats:
    """2 sin x + x^0.8."""
    return 2 * np.sin(x) + x**0.8


def draw(num_samples: int, seed: int) -> Sample:
    """A data set: x uniform on [0, 5), y the curve with noise."""
    random = np.random.default_rng((seed, num_samples))
    x = np.sort(random.uniform(0, LENGTH, num_samples))
    return Sample(x, curve(x) + random.normal(0, NOISE, num_samples))


def queries(count: int = QUERIES) -> Floats:
    """Points in the middle of `count` equal parts of [0, 5)."""
    return (np.arange(count) + 0.5) * LENGTH / count


def fit_regression(method: str, sample: Sample) -> NadarayaWatson:
    """The method's regression, fitted to a data set."""
    return METHODS[method][1]().fit(sample.x[:, None], sample.y)


def error(model: NadarayaWatson) -> float:
    """Mean squared difference of the predictions from the curve without noise."""
    x = queries()
    return float(np.mean((model.predict(x[:, None]) - curve(x)) ** 2))


def limit_error(width: float) -> float:
    """The error that a fixed width keeps with any number of samples: that of the curve smoothed.

    f(x) = ∫ K((x − u)/h) f(u) du / ∫ K((x − u)/h) du over [0, 5), as a sum over many equal steps.
    """
    x = queries(20_000)
    return error(NadarayaWatson(bandwidth=width).fit(x[:, None], curve(x)))


def errors(item: tuple[int, int]) -> dict[str, tuple[float, float]]:
    """Error and width of each method on the data set of a size and seed."""
    sample = draw(*item)
    models = {method: fit_regression(method, sample) for method in METHODS}
    return {method: (error(model), float(model.bandwidth_[0])) for method, model in models.items()}


def closer_weighs_more(weights_QK: Floats, query_Q: Floats, key_K: Floats) -> float:
    """Share of neighboring pairs of keys, by distance from the query, of which the closer weighs
    at least as much: 1 where the weights order the keys by distance exactly."""
    order_QK = np.argsort(np.abs(query_Q[:, None] - key_K), axis=1, kind="stable")
    sorted_QK = np.take_along_axis(weights_QK, order_QK, axis=1)
    return float((sorted_QK[:, :-1] >= sorted_QK[:, 1:]).mean())


def rate(sizes: tuple[int, ...], means: list[float]) -> float:
    """Exponent a of error ~ n^a, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(means), 1)[0])


def consistent(few: Estimate, many: Estimate) -> bool:
    """Whether the error falls to less than a tenth, beyond the intervals."""
    return many.high < few.low / 10


def run(options: StudyOptions) -> Findings:
    """Measure the study's claims."""
    sizes = QUICK_SIZES if options.quick else SIZES
    seeds = options.seeds(full=10, quick=3)
    options.report(f"{FEW} samples: fitting and drawing one data set")
    sample = draw(FEW, options.seed)
    models = {method: fit_regression(method, sample) for method in METHODS}
    measured = {}
    for size in sizes:
        options.report(f"{size:,} samples: {len(seeds)} data sets")
        measured[size] = parallel_map(errors, [(size, seed) for seed in seeds], cores(), fork=True)
    by_size = {
        method: [estimate([figures[method][0] for figures in measured[size]]) for size in sizes]
        for method in METHODS
    }
    widths = {
        method: [estimate([figures[method][1] for figures in measured[size]]) for size in sizes]
        for method in LEARNED
    }
    key_K, query_Q = sample.x, queries(SHOWN_QUERIES)
    order = closer_weighs_more(
        models["gradient"].attention_weights(query_Q[:, None]), query_Q, key_K
    )
    limit = limit_error(FIXED_WIDTH)
    rates = {
        method: rate(sizes, [interval.mean for interval in estimates])
        for method, estimates in by_size.items()
    }
    return Findings(
        caption=Bilingual(
            "Average pooling ignores the query; a fixed width smooths the curve away however many "
            "samples there are; a width chosen by leave-one-out error follows it, and its error "
            "keeps falling.",
            "平均汇聚忽略查询；固定宽度无论有多少样本都会抹平曲线；按留一误差选择的宽度能跟上曲线，"
            "误差随样本增多持续下降。",
        ),
        claims=_claims(sizes, by_size, rates, order, limit),
        tables=_tables(sizes, by_size, widths),
        panels=_panels(sample, models, sizes, by_size, widths, limit),
        values={
            "sizes": list(sizes),
            "seeds": list(seeds),
            "errors": by_size,
            "widths": widths,
            "rates": rates,
            "limit_of_fixed_width": limit,
            "closer_weighs_more": order,
            "losses": models["gradient"].losses_.tolist(),
        },
    )


def _claims(
    sizes: tuple[int, ...],
    by_size: dict[str, list[Estimate]],
    rates: dict[str, float],
    order: float,
    limit: float,
) -> list[Claim]:
    few = {method: estimates[0] for method, estimates in by_size.items()}
    many = {method: estimates[-1] for method, estimates in by_size.items()}
    most = f"{sizes[-1]:,}"

    def falls(method: str, claimed: Bilingual, remark: Bilingual) -> Claim:
        start, end = few[method].written(3), many[method].written(4)
        return Claim(
            claimed,
            Bilingual(
                f"Error {start} with {FEW} samples and {end} with {most}: "
                f"it changes as n^{rates[method]:.2f}, {remark.en}.",
                f"{FEW} 个样本时误差为 {start}，{most} 个样本时为 {end}："
                f"随 n^{rates[method]:.2f} 变化，{remark.zh}。",
            ),
            consistent(few[method], many[method]),
        )

    return [
        Claim(
            Bilingual(
                "The closer a key is to the query, the larger its attention weight.",
                "键与查询越接近，分配到的注意力权重就越大。",
            ),
            Bilingual(
                f"In {order:.1%} of the pairs of neighboring keys the closer one weighs at least "
                "as much.",
                f"在 {order:.1%} 的相邻键对中，较近的键权重不小于较远的键。",
            ),
            order == 1.0,
        ),
        Claim(
            Bilingual(
                "Attention that depends on the query predicts better than average pooling.",
                "依赖查询的注意力汇聚比平均汇聚预测得更好。",
            ),
            Bilingual(
                f"With {FEW} samples the error is {few['fixed'].written()} with a Gaussian of "
                f"fixed width and {few['average'].written()} with average pooling.",
                f"{FEW} 个样本时，固定宽度高斯核的误差为 {few['fixed'].written()}，"
                f"平均汇聚为 {few['average'].written()}。",
            ),
            few["fixed"].high < few["average"].low,
        ),
        Claim(
            Bilingual(
                "A learned width in the score predicts better than the fixed one.",
                "评分函数中带可学习的宽度参数，比固定宽度预测得更好。",
            ),
            Bilingual(
                f"With {FEW} samples the error is {few['gradient'].written(3)} with the learned "
                f"width and {few['fixed'].written(3)} with the fixed one.",
                f"{FEW} 个样本时，学得宽度的误差为 {few['gradient'].written(3)}，"
                f"固定宽度为 {few['fixed'].written(3)}。",
            ),
            few["gradient"].high < few["fixed"].low,
        ),
        falls(
            "fixed",
            Bilingual(
                "Kernel regression without parameters is consistent: with enough data it converges "
                "to the optimum (measured with the fixed width of the textbook).",
                "非参数的核回归具有一致性：数据足够多时收敛到最优结果（以教科书的固定宽度测量）。",
            ),
            Bilingual(
                f"toward {limit:.4f}, the error of the curve smoothed with that width",
                f"趋向 {limit:.4f}，即用该宽度平滑后的曲线的误差",
            ),
        ),
        falls(
            "loo",
            Bilingual(
                "Kernel regression is consistent when its width is chosen from the data by "
                "leave-one-out error.",
                "宽度由留一误差从数据中选出时，核回归具有一致性。",
            ),
            Bilingual("toward 0 (theory: about n^−0.8)", "趋向 0（理论约为 n^−0.8）"),
        ),
    ]


def _tables(
    sizes: tuple[int, ...],
    by_size: dict[str, list[Estimate]],
    widths: dict[str, list[Estimate]],
) -> list[FindingsTable]:
    def table(
        title: Bilingual, methods: list[str], rows: dict[str, list[Estimate]]
    ) -> FindingsTable:
        return FindingsTable(
            title,
            [Bilingual("samples", "样本数"), *(METHODS[method][0] for method in methods)],
            [
                [f"{size:,}", *(rows[method][at].written(4) for method in methods)]
                for at, size in enumerate(sizes)
            ],
        )

    return [
        table(
            Bilingual(
                "Mean squared error against the curve without noise",
                "与无噪声曲线的均方误差",
            ),
            list(METHODS),
            by_size,
        ),
        table(Bilingual("Width chosen", "选出的宽度"), list(LEARNED), widths),
    ]


def _panels(
    sample: Sample,
    models: dict[str, NadarayaWatson],
    sizes: tuple[int, ...],
    by_size: dict[str, list[Estimate]],
    widths: dict[str, list[Estimate]],
    limit: float,
) -> list[Panel]:
    points = queries(100)
    predictions = [
        Curve(
            METHODS[method][0],
            _rounded(points),
            _rounded(models[method].predict(points[:, None])),
        )
        for method in ("average", "fixed", "gradient")
    ]
    fits = CurvePanel(
        Bilingual(f"Predictions from {FEW} samples", f"{FEW} 个样本的预测"),
        "x",
        "y",
        [
            Curve(
                Bilingual("samples", "样本"), _rounded(sample.x), _rounded(sample.y), kind="dots"
            ),
            Curve(
                Bilingual("without noise", "无噪声曲线"),
                _rounded(points),
                _rounded(curve(points)),
                kind="dashed",
            ),
            *predictions,
        ],
    )
    losses = models["gradient"].losses_
    learning = CurvePanel(
        Bilingual("Learning the width", "学习宽度"),
        Bilingual("epoch", "迭代轮数"),
        Bilingual("leave-one-out squared error", "留一平方误差"),
        [
            Curve(
                METHODS["gradient"][0],
                list(range(len(losses))),
                _rounded(losses),
            )
        ],
    )
    consistency = CurvePanel(
        Bilingual("Error by number of samples", "误差随样本数的变化"),
        Bilingual("samples", "样本数"),
        Bilingual("mean squared error", "均方误差"),
        [
            *(estimated_curve(METHODS[method][0], sizes, by_size[method]) for method in METHODS),
            Curve(
                Bilingual("limit of width 1", "宽度 1 的极限"),
                sizes,
                [limit] * len(sizes),
                kind="dashed",
            ),
        ],
        log="xy",
    )
    chosen = CurvePanel(
        Bilingual("Width by number of samples", "宽度随样本数的变化"),
        Bilingual("samples", "样本数"),
        Bilingual("width", "宽度"),
        [estimated_curve(METHODS[method][0], sizes, widths[method]) for method in LEARNED],
        log="xy",
    )
    return [
        fits,
        consistency,
        learning,
        chosen,
        *(_weights(sample, models[method], METHODS[method][0]) for method in ("fixed", "gradient")),
    ]


def _weights(sample: Sample, model: NadarayaWatson, name: Bilingual) -> GridPanel:
    query_Q = queries(SHOWN_QUERIES)
    weights_QK = model.attention_weights(query_Q[:, None])
    return GridPanel(
        Bilingual(f"Weights: {name.en}", f"注意力权重：{name.zh}"),
        Bilingual("keys, in the order of x", "键（按 x 排序）"),
        Bilingual("query x", "查询 x"),
        [f"{x:.1f}" for x in sample.x],
        [f"{x:.2f}" for x in query_Q],
        [_rounded(row) for row in weights_QK],
    )


def _rounded(numbers: Floats) -> list[float]:
    rounded: list[float] = np.round(numbers, 4).tolist()
    return rounded
