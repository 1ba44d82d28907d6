"""One head, many heads at equal parameters, the forms of many heads, and heads switched off.

Claims hold by their 95 % intervals over seeds, as their docstrings say.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from regard.cores import cores
from regard.studies.estimates import Estimate, estimate
from regard.studies.mechanics.heads.forms import HEADS, form_differences, form_seconds
from regard.studies.mechanics.heads.translators import (
    FULL,
    LAYERS,
    MANY,
    PARTS,
    QUICK,
    HeadFigures,
    HeadSizes,
    train_and_measure,
)
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.views.charts.panels import Bilingual, Curve, CurvePanel, GridPanel, Panel, Words
from regard.worker_pool import parallel_map

EXACT = 1e-12
"""Largest difference that counts as rounding in float64."""
KIND_NAMES = {
    "self": Bilingual("encoder", "编码器"),
    "causal": Bilingual("decoder", "解码器"),
    "cross": Bilingual("cross", "交叉"),
}
Trained = dict[int, list[HeadFigures]]
"""The figures of each seed, by number of heads."""
Measured = dict[int, dict[str, float]]
"""A number for each form, by number of heads."""


class HeadsJob(NamedTuple):
    """A training."""

    num_heads: int
    seed: int
    sizes: HeadSizes


def _train(job: HeadsJob) -> HeadFigures:
    return train_and_measure(*job)


def run(options: StudyOptions) -> Findings:
    """Measure the forms, train translators of 1 to 16 heads, and switch their heads off."""
    options.report("forms: separate, joint, sliced")
    differences = {heads: form_differences(heads) for heads in HEADS}
    seconds = {heads: form_seconds(heads, repeats=3 if options.quick else 15) for heads in HEADS}
    sizes, seeds = QUICK if options.quick else FULL, options.seeds(3)
    options.report(f"training {len(HEADS) * len(seeds)} translators of {HEADS} heads")
    jobs = [HeadsJob(heads, seed, sizes) for heads in HEADS for seed in seeds]
    results = parallel_map(_train, jobs, cores(), fork=True)
    trained: Trained = {
        heads: results[at * len(seeds) : (at + 1) * len(seeds)] for at, heads in enumerate(HEADS)
    }
    return Findings(
        Bilingual(
            "Translators of the same size with 1 to 16 heads: sentences and words right, the time "
            "of each form of heads, the weight that tokens give themselves, and the words right "
            "with heads switched off, at random and one by one (95 % intervals over seeds).",
            "参数量相同、头数为 1 至 16 的翻译模型：正确的句子与词的比例，各种多头形式的用时，"
            "词元给自己的权重，以及随机关闭或逐个关闭头后正确词的比例（各种子的 95 % 区间）。",
        ),
        [
            _quality_claim(trained),
            _forms_claim(differences, seconds),
            _self_weight_claim(trained),
            _cost_claim(trained),
        ],
        [_table(trained), _forms_table(differences, seconds)],
        _panels(trained, seconds),
        {
            "heads": {
                heads: [figures.as_dict() for figures in results]
                for heads, results in trained.items()
            },
            "differences": differences,
            "seconds": seconds,
        },
    )


def _estimate(trained: Trained, heads: int, field: str) -> Estimate:
    return estimate([getattr(figures, field) for figures in trained[heads]])


def _self_weight(trained: Trained, heads: int, layer: int, field: str = "self_weights") -> Estimate:
    return estimate([getattr(figures, field)[layer] for figures in trained[heads]])


def _mean_self_weight(trained: Trained, heads: int) -> Estimate:
    return estimate(
        [sum(figures.self_weights) / len(figures.self_weights) for figures in trained[heads]]
    )


def _quality_claim(trained: Trained) -> Claim:
    """Holds if the interval of exact sentences with eight heads lies above that with one."""
    single, multiple = (_estimate(trained, heads, "exact") for heads in (1, MANY))
    listed = {heads: _estimate(trained, heads, "exact").written(3) for heads in HEADS}
    return Claim(
        Bilingual(
            "Several heads widen the ability to look at different places.",
            "多头注意力扩展了模型关注不同位置的能力。",
        ),
        Bilingual(
            "Sentences translated exactly, at equal parameters: "
            + ", ".join(
                f"{interval} with {heads} heads" for heads, interval in listed.items()
            ).replace("with 1 heads", "with 1 head")
            + ".",
            "参数量相同时完全正确的句子比例："
            + "，".join(f"{heads} 个头 {interval}" for heads, interval in listed.items())
            + "。",
        ),
        single.high < multiple.low,
    )


def _forms_claim(differences: Measured, seconds: Measured) -> Claim:
    """Holds if all forms that should be equal are, up to rounding in float64."""
    largest = max(difference for row in differences.values() for difference in row.values())
    bound = f"{largest:.0e}" if largest else "0"
    ratio = seconds[HEADS[-1]]["separate"] / seconds[HEADS[-1]]["joint"]
    return Claim(
        Bilingual(
            "Instead of a set of matrices for each head, queries, keys and values can simply be "
            "cut into as many pieces.",
            "除了给每个头一组矩阵，也可以简单地把查询、键、值各截成若干段。",
        ),
        Bilingual(
            "One joint matrix that is cut, a matrix per head, and heads computed one by one "
            f"differ by at most {bound} in float64; with {HEADS[-1]} heads separate "
            f"matrices take {ratio:.1f} times as long as a joint one.",
            f"截开的一个大矩阵、每头一个矩阵、逐头计算，三者在 float64 下最多相差 {bound}；"
            f"{HEADS[-1]} 个头时，分开的矩阵用时是合并矩阵的 {ratio:.1f} 倍。",
        ),
        largest < EXACT,
    )


def _self_weight_claim(trained: Trained) -> Claim:
    """Holds if with one head the interval of a token's weight for itself lies above one half."""
    single, multiple = _mean_self_weight(trained, 1), _mean_self_weight(trained, MANY)
    uniform = trained[1][0].uniform
    before = estimate(
        [sum(result.self_weights_before) / len(result.self_weights_before) for result in trained[1]]
    )
    first = _estimate(trained, 1, "largest_on_self")
    return Claim(
        Bilingual(
            "With one head the output z1 of a position is mostly determined by that position.",
            "只有一个头时，某个位置的输出 z1 主要由该位置自身的信息决定。",
        ),
        Bilingual(
            f"In trained encoders a token gives itself {single.written()} of its weight with "
            f"1 head and {multiple.written()} with {MANY}, against {uniform:.2f} if weights were "
            f"equal and {before.written()} before training; with 1 head its own weight is the "
            f"largest for {first.written()} of the tokens.",
            f"训练后的编码器中，1 个头时词元给自己的权重为 {single.written()}，{MANY} 个头时为 "
            f"{multiple.written()}；平均分配时为 {uniform:.2f}，训练前为 {before.written()}；"
            f"1 个头时，有 {first.written()} 的词元给自己的权重最大。",
        ),
        single.low > 0.5,
    )


def _cost_claim(trained: Trained) -> Claim:
    """Holds if the interval of the costliest head's cost lies above that of the median head's."""
    ranked = [[cost for row in result.costs.values() for cost in row] for result in trained[MANY]]
    most, middle = estimate(list(map(max, ranked))), estimate(list(map(median, ranked)))
    cheap = estimate([sum(cost < 0.005 for cost in row) / len(row) for row in ranked])
    half = estimate([result.words - result.off[PARTS // 2] for result in trained[MANY]])
    return Claim(
        Bilingual(
            "Each head has a subspace of its own, so heads do different things.",
            "每个头有自己的“子表示空间”，因此各个头的作用不同。",
        ),
        Bilingual(
            f"With {MANY} heads, switching off the costliest loses {most.written(3)} of the words, "
            f"the median head {middle.written(3)}; {cheap.written()} of the heads cost less than "
            f"0.005 alone, but a random half of them {half.written()}.",
            f"{MANY} 个头时，关闭代价最大的头损失 {most.written(3)} 的词，中位的头损失 "
            f"{middle.written(3)}；{cheap.written()} 的头单独关闭时损失不到 0.005，"
            f"而随机关闭一半的头损失 {half.written()}。",
        ),
        most.low > middle.high,
    )


def _table(trained: Trained) -> FindingsTable:
    rows: list[list[Words | float]] = [
        [
            heads,
            trained[heads][0].parameters,
            _estimate(trained, heads, "exact").written(3),
            _estimate(trained, heads, "words").written(4),
            *(_self_weight(trained, heads, layer).written() for layer in range(LAYERS)),
            trained[heads][0].uniform,
        ]
        for heads in HEADS
    ]
    return FindingsTable(
        Bilingual("Translators by number of heads", "不同头数的翻译模型"),
        [
            Bilingual("heads", "头数"),
            Bilingual("parameters", "参数量"),
            Bilingual("sentences exact", "完全正确的句子"),
            Bilingual("words right", "正确的词"),
            *(
                Bilingual(f"own weight, layer {layer + 1}", f"自身权重，第 {layer + 1} 层")
                for layer in range(LAYERS)
            ),
            Bilingual("equal weights", "平均权重"),
        ],
        rows,
    )


def _forms_table(differences: Measured, seconds: Measured) -> FindingsTable:
    forms = {
        "separate": Bilingual("separate", "分开的矩阵"),
        "joint": Bilingual("joint", "合并的矩阵"),
        "sliced": Bilingual("sliced, no matrices", "切片，无矩阵"),
    }
    return FindingsTable(
        Bilingual(
            "Forms of multi-head attention: difference, and milliseconds (8 sentences of 64 "
            "tokens, width 256)",
            "多头注意力的各种形式：差异，以及毫秒数（8 个 64 词元的句子，宽度 256）",
        ),
        [
            Bilingual("heads", "头数"),
            Bilingual("separate − joint", "分开 − 合并"),
            Bilingual("one by one − joint", "逐头 − 合并"),
            Bilingual("sliced − joint with identity", "切片 − 单位矩阵的合并"),
            *(Bilingual(f"{name.en}, ms", f"{name.zh}，毫秒") for name in forms.values()),
        ],
        [
            [heads, *differences[heads].values(), *(1e3 * seconds[heads][form] for form in forms)]
            for heads in HEADS
        ],
    )


def _curve(name: Words, estimates: Sequence[Estimate], x: Sequence[float] = HEADS) -> Curve:
    mean, low, high = ([interval[part] for interval in estimates] for part in range(3))
    return Curve(name, x, mean, low, high)


def _panels(trained: Trained, seconds: Measured) -> list[Panel]:
    heads_label, share = Bilingual("heads", "头数"), Bilingual("share right", "正确的比例")
    forms = (
        ("separate", Bilingual("separate", "分开")),
        ("joint", Bilingual("joint", "合并")),
        ("sliced", Bilingual("sliced", "切片")),
    )
    uniform = trained[1][0].uniform
    off = {
        heads: [
            estimate(values)
            for values in zip(*(result.off for result in trained[heads]), strict=True)
        ]
        for heads in HEADS
    }
    return [
        CurvePanel(
            Bilingual("Quality at equal parameters", "参数量相同时的质量"),
            heads_label,
            share,
            [
                _curve(Bilingual("words", "词"), [_estimate(trained, n, "words") for n in HEADS]),
                _curve(
                    Bilingual("sentences", "句子"), [_estimate(trained, n, "exact") for n in HEADS]
                ),
            ],
            log="x",
        ),
        CurvePanel(
            Bilingual("Time of each form", "各种形式的用时"),
            heads_label,
            Bilingual("ms", "毫秒"),
            [
                Curve(name, HEADS, [1e3 * seconds[heads][form] for heads in HEADS])
                for form, name in forms
            ],
            log="x",
        ),
        CurvePanel(
            Bilingual("Weight of a token for itself", "词元给自己的权重"),
            heads_label,
            Bilingual("weight", "权重"),
            [
                *(
                    _curve(
                        Bilingual(f"encoder layer {layer + 1}", f"编码器第 {layer + 1} 层"),
                        [_self_weight(trained, heads, layer) for heads in HEADS],
                    )
                    for layer in range(LAYERS)
                ),
                Curve(
                    Bilingual("equal weights", "平均权重"),
                    HEADS,
                    [uniform] * len(HEADS),
                    kind="dashed",
                ),
            ],
            log="x",
        ),
        CurvePanel(
            Bilingual("Random heads switched off", "随机关闭头"),
            Bilingual("share of all heads off", "关闭的比例"),
            share,
            [
                _curve(
                    Bilingual(f"{heads} heads" if heads > 1 else "1 head", f"{heads} 个头"),
                    off[heads],
                    [sixths / PARTS for sixths in range(PARTS + 1)],
                )
                for heads in HEADS
            ],
        ),
        _cost_panel(trained),
    ]


def _cost_panel(trained: Trained) -> GridPanel:
    """The cost of each head, sorted within its layer, mean over seeds."""
    rows = list(trained[MANY][0].costs)
    cells = [
        [
            100 * sum(ranks) / len(ranks)
            for ranks in zip(
                *(sorted(result.costs[row], reverse=True) for result in trained[MANY]), strict=True
            )
        ]
        for row in rows
    ]
    names = [(KIND_NAMES[row.split()[0]], int(row.split()[1]) + 1) for row in rows]
    return GridPanel(
        Bilingual(
            f"Words lost by switching off one of {MANY} heads, in %",
            f"{MANY} 个头中关闭一个所损失的词，%",
        ),
        Bilingual("head, from the costliest of its layer on", "头，按同层代价从大到小"),
        "",
        [str(rank + 1) for rank in range(MANY)],
        [Bilingual(f"{name.en} {layer}", f"{name.zh} {layer}") for name, layer in names],
        cells,
        signed=True,
        written=True,
    )
