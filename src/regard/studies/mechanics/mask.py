"""Masks: −∞ before the softmax against 0 after it, and one pass against one for each position.

Language models of the same size and data are trained with −∞ before the softmax, with 0 after it,
and without a mask. The apparent loss is that of whole sentences in one pass, as in training; the
honest loss is that of one pass for each target, over the tokens before it, as in use. Verdicts:
sums are 1 to float tolerance or are not; a model leaks where its honest loss is above its apparent
loss, beyond the 95 % intervals over seeds; passes are equal where logits and gradients differ by
less than 1e-9 in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from regard.bench.clock import seconds
from regard.cores import cores
from regard.corpus.grammar import sample
from regard.studies.estimates import Estimate, estimate, estimated_curve
from regard.studies.mechanics.masked_models import (
    WORDS,
    Checkpoint,
    MaskedModel,
    Sentences,
    draw_sentences,
    effect_of_the_future,
    labels_of,
    loss_of,
    masked_model,
    train,
)
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.views.charts.panels import (
    BarPanel,
    Bars,
    Bilingual,
    Curve,
    CurvePanel,
    GridPanel,
    Panel,
)
from regard.worker_pool import parallel_map

MASKINGS: dict[str, Bilingual] = {
    "before": Bilingual("−∞ before the softmax", "softmax 之前设为 −∞"),
    "after": Bilingual("0 after the softmax", "softmax 之后设为 0"),
    "none": Bilingual("no mask", "不掩蔽"),
}
LENGTHS = (8, 16, 32, 64, 128, 256)
QUICK_LENGTHS = (8, 16, 32)
TOLERANCE = 1e-9
PASSES = Bilingual("one pass", "一次前向"), Bilingual("n passes", "n 次前向")


class TrainedModel(NamedTuple):
    """Figures of one training."""

    checkpoints: list[Checkpoint]
    effect: float
    """Change of the prediction of the last token when that is replaced."""
    row_sums: list[float]
    """Mean sum of the weights of the query at each position, in the first layer."""
    weights: list[list[float]]
    """Weights of the first head of the first layer for the first sentence."""


@dataclass(frozen=True)
class Experiment:
    """A model to train; "one" is "before" with one target per sentence."""

    name: str
    masked: MaskedModel
    sentences: Sentences
    steps: int
    seed: int

    def run(self) -> TrainedModel:
        """Train and measure."""
        checkpoints = train(
            self.masked, self.sentences, self.steps, self.seed, one_target=self.name == "one"
        )
        dev = self.sentences.dev
        weights = self.masked.weights(dev)
        return TrainedModel(
            checkpoints,
            effect_of_the_future(self.masked, dev, self.seed),
            weights.sum(-1).mean((0, 1)).tolist(),
            weights[0, 0].tolist(),
        )


class Equality(NamedTuple):
    """Largest differences between one pass and a pass for each position, in float64."""

    logits: float
    gradients: float


def equality(length: int = 24, vocabulary: int = 50, seed: int = 0) -> Equality:
    """Compare logits, and gradients of the mean loss of all targets, of random tokens."""
    masked = masked_model("before", vocabulary, seed)
    masked.model.double()
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randint(4, vocabulary, (2, length), generator=generator)
    logits = masked.logits(inputs), masked.separate_logits(inputs)
    parameters = list(masked.model.parameters())
    gradients = [
        torch.autograd.grad(loss_of(model_logits, labels_of(inputs)), parameters)
        for model_logits in logits
    ]
    return Equality(
        float((logits[0] - logits[1]).detach().abs().max()),
        max(float((a - b).abs().max()) for a, b in zip(*gradients, strict=True)),
    )


def pass_seconds(length: int, vocabulary: int = 800, repeats: int = 3) -> tuple[float, float]:
    """Seconds of loss and gradient of one sentence: in one pass, and one pass for each target."""
    masked = masked_model("before", vocabulary, 0)
    inputs = torch.randint(4, vocabulary, (1, length), generator=torch.Generator().manual_seed(0))
    labels = labels_of(inputs)

    def step(tokens: Tensor, targets: Tensor) -> None:
        logits = masked.logits(tokens)[:, -targets.shape[1] :]
        loss_of(logits, targets).backward()

    def separate() -> None:
        for end in range(1, length + 1):
            step(inputs[:, :end], labels[:, end - 1 : end])

    single, separately = seconds([lambda: step(inputs, labels), separate], repeats)
    return single, separately


def run(options: StudyOptions) -> Findings:
    """Measure the study's claims."""
    seeds = options.seeds(full=5, quick=2)
    sentences = draw_sentences(*((500, 50) if options.quick else (6000, 300)), seed=options.seed)
    experiments = [
        Experiment(
            name,
            masked_model("before" if name == "one" else name, len(sentences.words), seed),
            sentences,
            60 if options.quick else 400,
            seed,
        )
        for name in (*MASKINGS, "one")
        for seed in seeds
    ]
    options.report(f"{len(experiments)} trainings of {experiments[0].steps} steps")
    results = iter(parallel_map(Experiment.run, experiments, cores(), fork=True))
    trained = {name: [next(results) for _ in seeds] for name in (*MASKINGS, "one")}
    options.report("one pass against one pass for each position")
    equal = equality()
    lengths = QUICK_LENGTHS if options.quick else LENGTHS
    times = {length: pass_seconds(length) for length in lengths}
    pairs = sample("test", 200 if options.quick else 1000, seed=options.seed)
    targets = estimate([len(pair.source_words) + 1 for pair in pairs])
    losses = {
        name: {
            field: estimate([getattr(model.checkpoints[-1], field) for model in models])
            for field in ("apparent", "honest")
        }
        for name, models in trained.items()
    }
    gaps = {
        name: estimate(
            [model.checkpoints[-1].honest - model.checkpoints[-1].apparent for model in models]
        )
        for name, models in trained.items()
    }
    effects = {name: estimate([model.effect for model in trained[name]]) for name in MASKINGS}
    sums = {
        name: [
            estimate(column) for column in zip(*(m.row_sums for m in trained[name]), strict=True)
        ]
        for name in MASKINGS
    }
    return Findings(
        caption=Bilingual(
            "Zeros after the softmax leave sums below 1 that tell of the words to come: the model "
            "seems better in training and is worse in use; with −∞ before it both losses are the "
            "same, and one pass over a sentence teaches all its next words.",
            "softmax 之后置零会使权重和小于 1，并泄露后文：训练时看似更好，使用时更差；"
            "softmax 之前置 −∞ 则两种损失相同，而且一次前向就能学到句中所有的下一个词。",
        ),
        claims=_claims(losses, gaps, effects, sums, equal, times, targets),
        tables=_tables(losses, gaps, effects, sums, times),
        panels=_panels(trained, losses, sums, times, sentences),
        values={
            "losses": losses,
            "gaps": gaps,
            "effects_of_the_future": effects,
            "row_sums": sums,
            "differences": equal._asdict(),
            "seconds": times,
            "targets_per_sentence": targets,
        },
    )


def _claims(
    losses: dict[str, dict[str, Estimate]],
    gaps: dict[str, Estimate],
    effects: dict[str, Estimate],
    sums: dict[str, list[Estimate]],
    equal: Equality,
    times: dict[int, tuple[float, float]],
    targets: Estimate,
) -> list[Claim]:
    before, after = sums["before"], sums["after"]
    off = max(abs(interval.mean - 1) for interval in before)
    lowest = min(after, key=lambda interval: interval.mean)
    longest = max(times)
    single, separately = times[longest]
    all_targets, one_target = (losses[name]["honest"] for name in ("before", "one"))

    def leak(name: str) -> Bilingual:
        seems, is_ = (losses[name][field].written() for field in ("apparent", "honest"))
        return Bilingual(
            f"The loss seems {seems} and is {is_} in use, against "
            f"{losses['before']['honest'].written()} with −∞; replacing the last token changes "
            f"{effects[name].written(3)} of the prediction of it, against "
            f"{effects['before'].written(3)} with −∞.",
            f"损失看似 {seems}，使用时为 {is_}，而用 −∞ 时为 "
            f"{losses['before']['honest'].written()}；替换最后一个词元会使对它的预测改变 "
            f"{effects[name].written(3)}，用 −∞ 时为 {effects['before'].written(3)}。",
        )

    def leaks(name: str) -> bool:
        return (
            gaps[name].low > 0
            and effects[name].low > 0
            and abs(gaps["before"].mean) < 1e-3
            and effects["before"].mean == 0.0
        )

    return [
        Claim(
            Bilingual(
                "Weights set to 0 after the softmax no longer sum to 1; with −∞ before it they do.",
                "在 softmax 之后设为 0，权重之和就不再是 1；在 softmax 之前设为 −∞ 则保持归一化。",
            ),
            Bilingual(
                f"With 0 after the softmax the mean sum is as low as {lowest.written()}; with −∞ "
                f"before it no sum differs from 1 by more than {off:.0g}.",
                f"之后设为 0 时，权重和的均值最低为 {lowest.written()}；之前设为 −∞ 时，"
                f"与 1 的差不超过 {off:.0g}。",
            ),
            off < 1e-5 and lowest.high < 1,
        ),
        Claim(
            Bilingual(
                "Without a mask later words influence earlier ones, and the data leak.",
                "不掩蔽时，后面的词会影响前面的词，造成数据泄露。",
            ),
            leak("none"),
            leaks("none"),
        ),
        Claim(
            Bilingual(
                "A 0 after the softmax leaks too: later words stay in the denominator.",
                "softmax 之后设为 0 同样泄露：后面的词仍留在分母里。",
            ),
            leak("after"),
            leaks("after"),
        ),
        Claim(
            Bilingual(
                "One masked pass predicts the token after every prefix, as separate passes do.",
                "一次掩蔽的前向同时预测每个前缀之后的下一个词元，与分别计算相同。",
            ),
            Bilingual(
                f"Logits differ by at most {equal.logits:.0e}, gradients by {equal.gradients:.0e} "
                f"(float64); a sentence of {longest} tokens takes {single * 1e3:.0f} ms in one "
                f"pass and {separately * 1e3:.0f} ms in {longest}: {separately / single:.0f} times "
                "as long.",
                f"logits 之差不超过 {equal.logits:.0e}，梯度之差不超过 {equal.gradients:.0e}"
                f"（float64）；{longest} 个词元的句子一次前向用 {single * 1e3:.0f} 毫秒，"
                f"{longest} 次分别计算用 {separately * 1e3:.0f} 毫秒，"
                f"是其 {separately / single:.0f} 倍。",
            ),
            max(equal) < TOLERANCE and separately > single,
        ),
        Claim(
            Bilingual(
                "So one training sentence offers many chances to learn.",
                "因此一个训练样本可以提供多次训练机会。",
            ),
            Bilingual(
                f"A sentence of the built-in grammar has {targets.written(1)} targets; after the "
                f"same sentences of {WORDS} words the loss is {all_targets.written()} with all "
                f"targets and {one_target.written()} with one each.",
                f"内置语法的一个句子有 {targets.written(1)} 个目标；学过同样多的 {WORDS} "
                f"词句子之后，用全部目标时损失为 {all_targets.written()}，每句只用一个目标时为 "
                f"{one_target.written()}。",
            ),
            all_targets.high < one_target.low,
        ),
    ]


def _tables(
    losses: dict[str, dict[str, Estimate]],
    gaps: dict[str, Estimate],
    effects: dict[str, Estimate],
    sums: dict[str, list[Estimate]],
    times: dict[int, tuple[float, float]],
) -> list[FindingsTable]:
    models = FindingsTable(
        Bilingual("Language models by their mask", "不同掩蔽方式的语言模型"),
        [
            Bilingual("mask", "掩蔽方式"),
            Bilingual("apparent loss", "表面损失"),
            Bilingual("honest loss", "真实损失"),
            Bilingual("honest − apparent", "真实 − 表面"),
            Bilingual(
                "change of its prediction when a token is replaced", "替换词元时对它的预测的改变"
            ),
            Bilingual("sum of weights at the first token", "第一个词元处的权重和"),
        ],
        [
            [
                MASKINGS[name],
                losses[name]["apparent"].written(3),
                losses[name]["honest"].written(3),
                gaps[name].written(3),
                effects[name].written(4),
                sums[name][0].written(3),
            ]
            for name in MASKINGS
        ],
    )
    passes = FindingsTable(
        Bilingual(
            "Loss and gradient of one sentence, in milliseconds",
            "一个句子的损失与梯度用时（毫秒）",
        ),
        [
            Bilingual("tokens n", "词元数 n"),
            *PASSES,
            Bilingual("ratio", "倍数"),
        ],
        [
            [n, single * 1e3, separately * 1e3, separately / single]
            for n, (single, separately) in times.items()
        ],
    )
    return [models, passes]


def _panels(
    trained: dict[str, list[TrainedModel]],
    losses: dict[str, dict[str, Estimate]],
    sums: dict[str, list[Estimate]],
    times: dict[int, tuple[float, float]],
    sentences: Sentences,
) -> list[Panel]:
    def bars(name: Bilingual, field: str) -> Bars:
        values = [losses[masking][field] for masking in MASKINGS]
        means, low, high = ([interval[end] for interval in values] for end in range(3))
        return Bars(name, means, low, high)

    def learning(name: str, words: Bilingual) -> Curve:
        steps = zip(*(model.checkpoints for model in trained[name]), strict=True)
        points = [
            (step[0].sentences, estimate([checkpoint.honest for checkpoint in step]))
            for step in steps
        ]
        return estimated_curve(
            words, [at for at, _ in points], [interval for _, interval in points]
        )

    words = [sentences.words[at] for at in sentences.dev[0].tolist()]
    grids = [
        GridPanel(
            Bilingual(f"Weights: {MASKINGS[name].en}", f"注意力权重：{MASKINGS[name].zh}"),
            Bilingual("key", "键"),
            Bilingual("query", "查询"),
            words,
            words,
            [[round(weight, 3) for weight in row] for row in trained[name][0].weights],
        )
        for name in ("before", "after")
    ]
    loss = Bilingual("loss per word (nats)", "每词损失（奈特）")
    return [
        BarPanel(
            Bilingual("The leak as loss", "以损失衡量的泄露"),
            loss,
            list(MASKINGS.values()),
            [
                bars(Bilingual("apparent: whole sentences", "表面：整句输入"), "apparent"),
                bars(Bilingual("honest: only earlier words", "真实：只有之前的词"), "honest"),
            ],
        ),
        CurvePanel(
            Bilingual("Sum of the weights of a query", "一个查询的权重之和"),
            Bilingual("position of the query", "查询的位置"),
            Bilingual("sum", "和"),
            [
                estimated_curve(MASKINGS[name], list(range(1, len(sums[name]) + 1)), sums[name])
                for name in ("before", "after")
            ],
            y_range=(0.0, 1.05),
        ),
        *grids,
        CurvePanel(
            Bilingual("One pass against n", "一次前向与 n 次前向"),
            Bilingual("tokens n", "词元数 n"),
            Bilingual("milliseconds", "毫秒"),
            [
                Curve(name, list(times), [seconds[at] * 1e3 for seconds in times.values()])
                for at, name in enumerate(PASSES)
            ],
            log="xy",
        ),
        CurvePanel(
            Bilingual("All targets against one per sentence", "全部目标与每句一个目标"),
            Bilingual("training sentences", "训练句数"),
            loss,
            [
                learning("before", Bilingual("all targets", "全部目标")),
                learning("one", Bilingual("one target", "一个目标")),
            ],
        ),
    ]
