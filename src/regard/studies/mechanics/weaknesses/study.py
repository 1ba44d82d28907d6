"""Five weaknesses of plain self-attention that the documents name, and what removes each.

Each is a small task; the network without and the network with the cure learn it from the same
batches, with about as many parameters. A weakness with its cure holds if the 95 % interval of the
accuracy with each cure, over seeds, lies above that without.

B sequences, N tokens, D features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention import Normalizer, Sigmoid, Softmax, attend, record
from regard.cores import cores
from regard.studies.estimates import Estimate, estimate
from regard.studies.mechanics.fitting import (
    TEST_SEED,
    accuracy,
    fit,
    guess_accuracy,
    num_parameters,
)
from regard.studies.mechanics.weaknesses.tasks import WEAKNESSES, Variant, Weakness
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.views.charts.panels import (
    BarPanel,
    Bars,
    Bilingual,
    Curve,
    CurvePanel,
    GridPanel,
    Words,
)
from regard.worker_pool import parallel_map

TEST = 2_000
QUICK_STEPS = 40
REPEATS = range(1, 9)
LETTERS = "abcdefgh"


class LearnedVariant(NamedTuple):
    """A trained variant.

    accuracy  on unseen sequences
    weights   (N, N) of one sequence with links, tokens in the order of their names; else None
    partners  the name of the token that each of these looks for
    """

    accuracy: float
    weights: list[list[float]] | None = None
    partners: str = ""


class VariantJob(NamedTuple):
    """A training: the weakness, which of its variants, and the seed."""

    weakness: Weakness
    variant: Variant
    seed: int
    steps: int


def asymmetry(x: Tensor) -> float:
    """The largest |s_ij − s_ji| of scores s = x xᵀ / √D of x (N, D) with itself: zero."""
    scores = x @ x.T / x.shape[1] ** 0.5
    return float((scores - scores.T).abs().max())


def repeated_context(x: Tensor, copies: int, normalizer: Normalizer) -> Tensor:
    """The contexts (N, D) of queries x (N, D) with their keys and values `copies` times over.

    Shares of a sum of one do not change with the copies; independent weights add up.
    """
    keys = x.repeat(copies, 1)
    context: Tensor = attend(x[None], keys[None], keys[None], normalizer=normalizer).context[0]
    return context


def train(job: VariantJob) -> LearnedVariant:
    """Train one variant and test it."""
    torch.manual_seed(job.seed)
    model = job.variant.build()
    fit(model, job.weakness.draw, steps=job.steps, seed=job.seed, rate=job.weakness.rate)
    test = job.weakness.draw(TEST, torch.Generator().manual_seed(TEST_SEED + job.seed))
    right = accuracy(model, test)
    if job.weakness.key != "roles":
        return LearnedVariant(right)
    with torch.no_grad(), record(model) as recording:
        model(test.fields[:1])
    by_name = test.fields[0, :, 0].argsort()
    weights = recording[0].weights[0, 0][by_name][:, by_name].tolist()
    partners = "".join(LETTERS[name] for name in test.fields[0, by_name, 1])
    return LearnedVariant(right, weights, partners)


def run(options: StudyOptions) -> Findings:
    """Train every variant of every weakness, and compare."""
    seeds = options.seeds(4)
    accuracies: dict[tuple[str, str], Estimate] = {}
    maps: list[GridPanel] = []
    for weakness in WEAKNESSES:
        options.report(f"training: {weakness.name.en}")
        steps = QUICK_STEPS if options.quick else weakness.steps
        variants = [weakness.plain, *weakness.cures]
        jobs = [
            VariantJob(weakness, variant, seed, steps) for variant in variants for seed in seeds
        ]
        results = parallel_map(train, jobs, cores(), fork=True)
        for at, variant in enumerate(variants):
            of_variant = results[at * len(seeds) : (at + 1) * len(seeds)]
            accuracies[weakness.key, variant.name.en] = estimate(
                [result.accuracy for result in of_variant]
            )
            if of_variant[0].weights is not None:
                maps.append(_map(variant, of_variant[0].weights, of_variant[0].partners))
    repeats = {name: _repeats(normalizer) for name, normalizer in _NORMALIZERS.items()}
    return Findings(
        Bilingual(
            "Accuracy on five tasks without and with the cure of a weakness (95 % intervals over "
            "seeds); the context when all keys are repeated; and the weights of one sequence, "
            "which with projections are where each token looks for its value.",
            "五个任务在没有与有解决办法时的准确率（各种子的 95 % 区间）；所有键重复时的上下文；"
            "以及一个序列的权重：有了投影，权重才落在每个词元所寻找的词元上。",
        ),
        [_claim(weakness, accuracies) for weakness in WEAKNESSES],
        [_table(accuracies)],
        [_bars(accuracies), _repeat_panel(repeats), *maps],
        {
            "seeds": list(seeds),
            "accuracy": {
                weakness.key: {
                    variant.name.en: accuracies[weakness.key, variant.name.en]._asdict()
                    for variant in (weakness.plain, *weakness.cures)
                }
                for weakness in WEAKNESSES
            },
            "guess": {weakness.key: _guess(weakness) for weakness in WEAKNESSES},
            "context of repeated keys": repeats,
        },
    )


_NORMALIZERS: dict[str, Normalizer] = {"softmax": Softmax(), "sigmoid": Sigmoid(bias=0.0)}


def _repeats(normalizer: Normalizer) -> list[float]:
    """The norm of the contexts for keys repeated 1, 2, … times, in parts of the first."""
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    norms = [float(repeated_context(x, copies, normalizer).norm()) for copies in REPEATS]
    return [norm / norms[0] for norm in norms]


def _guess(weakness: Weakness) -> float:
    return guess_accuracy(weakness.draw(TEST, torch.Generator().manual_seed(TEST_SEED)))


def cured(plain: Estimate, cures: Sequence[Estimate]) -> bool:
    """Whether every cure's interval lies above the one without."""
    return all(plain.high < cure.low for cure in cures)


def _claim(weakness: Weakness, accuracies: dict[tuple[str, str], Estimate]) -> Claim:
    plain = accuracies[weakness.key, weakness.plain.name.en]
    cures = [accuracies[weakness.key, cure.name.en] for cure in weakness.cures]
    named = list(zip(weakness.cures, cures, strict=True))
    english = "; ".join(f"{cure.name.en} {interval.written(3)}" for cure, interval in named)
    chinese = "；".join(f"{cure.name.zh} {interval.written(3)}" for cure, interval in named)
    return Claim(
        weakness.claimed,
        Bilingual(
            f"Accuracy: {weakness.plain.name.en} {plain.written(3)}; {english}; "
            f"guessing {_guess(weakness):.3f}.",
            f"准确率：{weakness.plain.name.zh} {plain.written(3)}；{chinese}；"
            f"猜测 {_guess(weakness):.3f}。",
        ),
        cured(plain, cures),
    )


def _table(accuracies: dict[tuple[str, str], Estimate]) -> FindingsTable:
    rows: list[list[Words | float]] = [
        [
            weakness.name,
            variant.name,
            accuracies[weakness.key, variant.name.en].written(3),
            num_parameters(variant.build()),
            weakness.steps,
        ]
        for weakness in WEAKNESSES
        for variant in (weakness.plain, *weakness.cures)
    ]
    return FindingsTable(
        Bilingual("Accuracy on unseen sequences", "未见序列上的准确率"),
        [
            Bilingual("weakness", "弱点"),
            Bilingual("network", "网络"),
            Bilingual("accuracy", "准确率"),
            Bilingual("parameters", "参数量"),
            Bilingual("batches (full run)", "批次（完整运行）"),
        ],
        rows,
    )


def _bars(accuracies: dict[tuple[str, str], Estimate]) -> BarPanel:
    plain = [accuracies[weakness.key, weakness.plain.name.en] for weakness in WEAKNESSES]
    by_cure = [
        [
            accuracies[weakness.key, weakness.cures[at].name.en]
            if len(weakness.cures) > at
            else None
            for weakness in WEAKNESSES
        ]
        for at in range(max(len(weakness.cures) for weakness in WEAKNESSES))
    ]
    names = [
        Bilingual("with the cure", "有解决办法"),
        Bilingual("another cure: three-way", "另一办法：三元"),
    ]
    return BarPanel(
        Bilingual("Five weaknesses and their cures", "五个弱点及其解决办法"),
        Bilingual("accuracy", "准确率"),
        [weakness.name for weakness in WEAKNESSES],
        [
            Bars(Bilingual("guessing", "猜测"), [_guess(weakness) for weakness in WEAKNESSES]),
            _interval_bars(Bilingual("plain", "朴素自注意力"), plain),
            *(
                _interval_bars(name, intervals)
                for name, intervals in zip(names, by_cure, strict=True)
            ),
        ],
        horizontal=True,
        y_range=(0.0, 1.0),
    )


def _interval_bars(name: Bilingual, estimates: Sequence[Estimate | None]) -> Bars:
    parts = [
        (interval.mean, interval.low, interval.high) if interval else (None,) * 3
        for interval in estimates
    ]
    mean, low, high = ([part[at] for part in parts] for at in range(3))
    return Bars(name, mean, low, high)


def _repeat_panel(repeats: dict[str, list[float]]) -> CurvePanel:
    return CurvePanel(
        Bilingual("All keys repeated: only shares stay equal", "所有键重复：只有份额不变"),
        Bilingual("copies of all keys and values", "键和值的份数"),
        Bilingual("size of the context", "上下文的大小"),
        [Curve(name, list(REPEATS), values) for name, values in repeats.items()],
    )


def _map(variant: Variant, weights: list[list[float]], partners: str) -> GridPanel:
    return GridPanel(
        Bilingual(f"Weights: {variant.name.en}", f"权重：{variant.name.zh}"),
        Bilingual("key: name of the token", "键：词元的名称"),
        Bilingual("query: name → name it looks for", "查询：名称 → 所寻找的名称"),
        list(LETTERS),
        [f"{name} → {partner}" for name, partner in zip(LETTERS, partners, strict=True)],
        weights,
    )
