"""Why scores are divided by √d: variance, softmax and gradient with and without it.

Queries and keys of independent entries of mean 0 and variance 1. Verdicts: the variance of q·k
is d where it is within 5 % of d at every width, likewise 1 after the division; a gradient vanishes
where its median at the largest width is below a tenth of that at the smallest, beyond the 95 %
intervals over seeds; the training is better where its error at the largest width is lower, beyond
the intervals.

Shapes: Q queries, K keys, d features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention import ScaledDot, attend
from regard.cores import cores
from regard.studies.estimates import Estimate, estimate, estimated_curve
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.views.charts.panels import Bilingual, CurvePanel
from regard.worker_pool import parallel_map

WIDTHS = (4, 16, 64, 256, 1024)
TRAINED_WIDTHS = (4, 16, 64, 256)
QUICK_WIDTHS = (16, 64)
NUM_KEYS = 64
SATURATED = 0.99  # the largest weight of a row whose gradient is negligible

SCALES: dict[str, tuple[Bilingual, float]] = {
    "raw": (Bilingual("q·k", "q·k"), 0.0),
    "scaled": (Bilingual("q·k / √d", "q·k / √d"), -0.5),
    "by_d": (Bilingual("q·k / d", "q·k / d"), -1.0),
}
"""Names and the exponents of d that scores are multiplied by."""

VOCABULARY, CHOICES, BATCH, VALUE_DIM = 32, 16, 64, 16
RATES = (3e-4, 3e-3, 3e-2)


class ScoreFigures(NamedTuple):
    """Of one draw of queries and keys."""

    mean: float
    """Mean score."""
    variance: float
    """Variance of the scores."""
    entropy: float
    """Mean entropy of the weights, as a share of that of equal weights."""
    gradient: float
    """Median norm of the softmax's Jacobian."""
    query_gradient: float
    """Median norm of ∂weights/∂query, per feature."""
    saturated: float
    """Share of queries whose largest weight is above 0.99."""


def jacobian_norm(weights: Tensor) -> Tensor:
    """Frobenius norm of ∂p/∂s = diag(p) − p pᵀ of each row: √(Σp² − 2Σp³ + (Σp²)²).

    weights (…, K), result (…).
    """
    squares = weights.square().sum(-1)
    return (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp(min=0).sqrt()


def query_jacobian_norm(weights: Tensor, key: Tensor, scale: float) -> Tensor:
    """Frobenius norm of ∂p_j/∂q = scale · p_j (k_j − Σ_i p_i k_i) of each row.

    weights (Q, K), key (K, d), result (Q,).
    """
    distances: Tensor = torch.cdist(weights @ key, key)
    return (scale * weights * distances).square().sum(-1).sqrt()


def score_figures(width: int, power: float, seed: int, num_queries: int) -> ScoreFigures:
    """Statistics of the scores q·k · d^power of random queries and keys, and of their softmax."""
    generator = torch.Generator().manual_seed(seed)
    query_QD = torch.randn(num_queries, width, generator=generator)
    key_KD = torch.randn(NUM_KEYS, width, generator=generator)
    pair_QD = torch.randn(num_queries, width, generator=generator)
    scale = width**power
    score = ScaledDot(scale)
    # independent pairs, each query with a key of its own, for the moments
    scores_Q = score(query_QD[:, None], pair_QD[:, None]).flatten().double()
    weights_QK = score(query_QD, key_KD).double().softmax(-1)
    entropy_Q = torch.special.entr(weights_QK).sum(-1) / math.log(NUM_KEYS)
    reached = query_jacobian_norm(weights_QK, key_KD.double(), scale) / math.sqrt(width)
    return ScoreFigures(
        float(scores_Q.mean()),
        float(scores_Q.var()),
        float(entropy_Q.mean()),
        float(jacobian_norm(weights_QK).median()),
        float(reached.median()),
        float((weights_QK.amax(-1) > SATURATED).double().mean()),
    )


class Training(NamedTuple):
    """One training of the retrieval task."""

    width: int
    power: float
    rate: float
    seed: int
    steps: int


def retrieval_error(training: Training) -> float:
    """Error of retrieving the value of a query's partner, after training by Adam.

    A fixed permutation gives every token its partner. The query is a token, the keys are 16
    different ones with its partner among them, the values are random; W_q and W_k learn to match
    partners. The error is the mean squared one of the last tenth of the steps; that of average
    pooling is 1 − 1/16.
    """
    width, power, rate, seed, steps = training
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(VOCABULARY, width, generator=generator)
    partner = torch.randperm(VOCABULARY, generator=generator)
    weight = torch.randn(2, width, width, generator=generator) / math.sqrt(width)
    query_weight, key_weight = (values.clone().requires_grad_() for values in weight)
    score = ScaledDot(width**power)
    optimizer = torch.optim.Adam([query_weight, key_weight], lr=rate)
    rows = torch.arange(BATCH)
    losses = []
    for _ in range(steps):
        tokens = torch.rand(BATCH, VOCABULARY, generator=generator).argsort(1)[:, :CHOICES]
        target = torch.randint(CHOICES, (BATCH,), generator=generator)
        value = torch.randn(BATCH, CHOICES, VALUE_DIM, generator=generator)
        query = embedding[partner[tokens[rows, target]]] @ query_weight
        context, _ = attend(query[:, None], embedding[tokens] @ key_weight, value, score=score)
        loss = F.mse_loss(context[:, 0], value[rows, target])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    last = losses[-max(1, steps // 10) :]
    return sum(last) / len(last)


def run(options: StudyOptions) -> Findings:
    """Measure the study's claims."""
    num_queries = 3000 if options.quick else 20_000
    seeds = options.seeds(full=10, quick=2)
    figures: dict[str, list[list[ScoreFigures]]] = {}
    for name, (words, power) in SCALES.items():
        options.report(f"scores {words.en}: {len(WIDTHS)} widths, {len(seeds)} draws")
        figures[name] = [
            [score_figures(width, power, seed, num_queries) for seed in seeds] for width in WIDTHS
        ]
    measured = {
        name: {
            field: [estimate([getattr(draw, field) for draw in draws]) for draws in by_width]
            for field in ScoreFigures._fields
        }
        for name, by_width in figures.items()
    }
    trained = _train(options)
    return Findings(
        caption=Bilingual(
            "Without the division the variance of the scores grows with d, until one key takes "
            "nearly all the weight, the softmax has no gradient and a training through it fails; "
            "divided by √d, variance, entropy and gradient are the same at every d.",
            "不做缩放时，分数的方差随 d 增长，直到一个键几乎独占全部权重，softmax 没有梯度，"
            "经过它的训练失败；除以 √d 后，方差、熵和梯度在任何 d 都相同。",
        ),
        claims=_claims(measured, trained),
        tables=_tables(measured, trained),
        panels=_panels(measured, trained),
        values={
            "widths": WIDTHS,
            "keys": NUM_KEYS,
            "scores": measured,
            "trained_widths": TRAINED_WIDTHS,
            "trained": trained,
        },
    )


def _train(options: StudyOptions) -> dict[str, list[Estimate]]:
    """Errors of the retrieval task by scale and width, each at the best of the learning rates."""
    seeds = options.seeds(full=5)
    widths = QUICK_WIDTHS if options.quick else TRAINED_WIDTHS
    steps = 40 if options.quick else 300
    trainings = [
        Training(width, SCALES[name][1], rate, seed, steps)
        for name in ("raw", "scaled")
        for width in widths
        for rate in RATES
        for seed in seeds
    ]
    options.report(f"retrieval: {len(trainings)} trainings of {steps} steps")
    errors = iter(parallel_map(retrieval_error, trainings, cores(), fork=True))
    return {
        name: [
            min(
                (estimate([next(errors) for _ in seeds]) for _ in RATES),
                key=lambda interval: interval.mean,
            )
            for _ in widths
        ]
        for name in ("raw", "scaled")
    }


def near(values: Sequence[Estimate], expected: Sequence[float], tolerance: float = 0.05) -> bool:
    """Whether every mean is within a share `tolerance` of what is expected."""
    return all(
        abs(value.mean - right) <= tolerance * right
        for value, right in zip(values, expected, strict=True)
    )


def vanishes(gradients: Sequence[Estimate]) -> bool:
    """Whether the last gradient is below a tenth of the first, beyond the intervals."""
    return gradients[-1].high < gradients[0].low / 10


def _claims(
    measured: dict[str, dict[str, list[Estimate]]], trained: dict[str, list[Estimate]]
) -> list[Claim]:
    raw, scaled, by_d = (measured[name] for name in SCALES)
    ratios = [value.mean / width for value, width in zip(raw["variance"], WIDTHS, strict=True)]
    means = max(
        abs(value.mean) / math.sqrt(d) for value, d in zip(raw["mean"], WIDTHS, strict=True)
    )
    variances = [value.mean for value in scaled["variance"]]
    least, most = WIDTHS[0], WIDTHS[-1]
    raw_ends, scaled_ends = (
        " → ".join(figures["gradient"][at].written(4) for at in (0, -1))
        for figures in (raw, scaled)
    )
    larger = [
        str(d)
        for d, unscaled, rescaled in zip(WIDTHS, raw["gradient"], scaled["gradient"], strict=True)
        if unscaled.mean > rescaled.mean
    ]
    saturated = f"{raw['saturated'][-1].mean:.0%}", f"{scaled['saturated'][-1].mean:.0%}"
    best = {name: errors[-1].written(3) for name, errors in trained.items()}
    width = _trained_widths(trained)[-1]
    return [
        Claim(
            Bilingual(
                "For independent entries of mean 0 and variance 1, q·k has mean 0 and variance d.",
                "若查询和键的元素独立、零均值、单位方差，则点积的均值为 0，方差为 d。",
            ),
            Bilingual(
                f"Variance / d is between {min(ratios):.3f} and {max(ratios):.3f} for d from "
                f"{least} to {most}; the mean is at most {means:.3f} standard deviations from 0.",
                f"d 从 {least} 到 {most}，方差与 d 之比在 {min(ratios):.3f} 与 {max(ratios):.3f} "
                f"之间；均值偏离 0 至多 {means:.3f} 个标准差。",
            ),
            near(raw["variance"], WIDTHS) and means < 0.05,
        ),
        Claim(
            Bilingual(
                "Divided by √d the variance is 1 whatever the width.",
                "除以 √d 之后，无论向量长度如何，方差都是 1。",
            ),
            Bilingual(
                f"The variance is between {min(variances):.3f} and {max(variances):.3f}; divided "
                f"by d instead it would be {by_d['variance'][-1].mean:.4f} at d = {most}.",
                f"方差在 {min(variances):.3f} 与 {max(variances):.3f} 之间；"
                f"若改为除以 d，d = {most} 时方差为 {by_d['variance'][-1].mean:.4f}。",
            ),
            near(scaled["variance"], [1.0] * len(WIDTHS)),
        ),
        Claim(
            Bilingual(
                "Large widths push the softmax to where its gradient is small, and scaling "
                "prevents it.",
                "维度很大时 softmax 的梯度很小，缩放可以避免这一点。",
            ),
            Bilingual(
                f"From d = {least} to {most} the median gradient of the softmax goes {raw_ends} "
                f"without scaling and {scaled_ends} with it; it is larger without at d = "
                f"{', '.join(larger) or '–'}; one key has more than "
                f"{SATURATED:.0%} of the weight for {saturated[0]} of the queries at d = {most} "
                f"without, {saturated[1]} with.",
                f"d 从 {least} 到 {most}，softmax 梯度的中位数不缩放时为 {raw_ends}，"
                f"缩放时为 {scaled_ends}；在 d = {'、'.join(larger) or '–'} "
                f"时不缩放的梯度更大；d = {most} 时单个键权重超过 {SATURATED:.0%} 的查询占比："
                f"不缩放 {saturated[0]}，缩放 {saturated[1]}。",
            ),
            vanishes(raw["gradient"]) and not vanishes(scaled["gradient"]),
        ),
        Claim(
            Bilingual(
                "So a wide model trains worse without scaling.",
                "因此宽模型不缩放就更难训练。",
            ),
            Bilingual(
                f"At d = {width} the error of retrieving a value, at the best of {len(RATES)} "
                f"learning rates, is {best['raw']} without scaling and {best['scaled']} with it; "
                f"average pooling would have {1 - 1 / CHOICES:.2f}.",
                f"d = {width} 时，取三种学习率中最好的一种，检索值的误差不缩放为 {best['raw']}，"
                f"缩放为 {best['scaled']}；平均汇聚为 {1 - 1 / CHOICES:.2f}。",
            ),
            trained["scaled"][-1].high < trained["raw"][-1].low,
        ),
    ]


def _tables(
    measured: dict[str, dict[str, list[Estimate]]], trained: dict[str, list[Estimate]]
) -> list[FindingsTable]:
    scores = FindingsTable(
        Bilingual(
            f"Scores of random queries and {NUM_KEYS} keys, and their softmax",
            f"随机查询与 {NUM_KEYS} 个键的分数及其 softmax",
        ),
        [
            "d",
            Bilingual("score", "分数"),
            Bilingual("variance", "方差"),
            Bilingual("entropy / log n", "熵 / log n"),
            Bilingual("gradient of the softmax (median)", "softmax 的梯度（中位数）"),
            Bilingual(
                "gradient at the query, per feature (median)", "查询每个分量的梯度（中位数）"
            ),
            Bilingual("queries with a weight above 0.99", "权重超过 0.99 的查询"),
        ],
        [
            [
                str(width),
                SCALES[name][0],
                *(figures[field][at].mean for field in ScoreFigures._fields[1:]),
            ]
            for at, width in enumerate(WIDTHS)
            for name, figures in measured.items()
        ],
    )
    training = FindingsTable(
        Bilingual(
            "Error of retrieval after training, at the best learning rate",
            "训练后的检索误差（最佳学习率）",
        ),
        ["d", *(SCALES[name][0] for name in trained)],
        [
            [str(width), *(errors[at].written(3) for errors in trained.values())]
            for at, width in enumerate(_trained_widths(trained))
        ],
    )
    return [scores, training]


def _trained_widths(trained: dict[str, list[Estimate]]) -> Sequence[int]:
    return TRAINED_WIDTHS if len(trained["raw"]) == len(TRAINED_WIDTHS) else QUICK_WIDTHS


def _panels(
    measured: dict[str, dict[str, list[Estimate]]], trained: dict[str, list[Estimate]]
) -> list[CurvePanel]:
    def panel(
        title: Bilingual, label: Bilingual, field: str, log: Literal["x", "xy"]
    ) -> CurvePanel:
        curves = [
            estimated_curve(SCALES[name][0], WIDTHS, figures[field])
            for name, figures in measured.items()
        ]
        return CurvePanel(title, width, label, curves, log)

    width = Bilingual("width d", "维度 d")
    return [
        panel(
            Bilingual("Variance of the scores", "分数的方差"),
            Bilingual("variance", "方差"),
            "variance",
            "xy",
        ),
        panel(
            Bilingual("Entropy of the weights", "注意力权重的熵"),
            Bilingual("entropy / log n", "熵 / log n"),
            "entropy",
            "x",
        ),
        panel(
            Bilingual("Gradient of the softmax", "softmax 的梯度"),
            Bilingual("median norm of the Jacobian", "雅可比矩阵范数的中位数"),
            "gradient",
            "x",
        ),
        CurvePanel(
            Bilingual("Training through the softmax", "经过 softmax 的训练"),
            width,
            Bilingual("error of retrieval", "检索误差"),
            [
                estimated_curve(SCALES[name][0], _trained_widths(trained), errors)
                for name, errors in trained.items()
            ],
            log="x",
        ),
    ]
