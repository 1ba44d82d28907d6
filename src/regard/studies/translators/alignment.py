"""How well attention aligns words, and how wrong a map can be while the translation is right.

The maps of held-out sentences, with their translations given, become word links: each target word
is linked to the source word of its largest weight, in the row that predicts it or in the row where
it is the input (`alignment/heads.py`). Links are scored by the alignment error rate against the
grammar's gold links, for every layer and head and the mean of a layer's heads. A map of a mechanism
is the one with the lowest error rate on development sentences; its figures are of test sentences,
and intervals are of 1,000 bootstrap samples of the sentences.

To compare with: the diagonal, which links the j-th of V target words to the source word at the same
share of the sentence, and the statistical aligner, which learns from the same sentences.

Claims hold: 1. where every mechanism's interval is below the diagonal's; 2. where of the sentences
that a mechanism translates exactly at most 5 % (upper end of the interval) have a map with an error
rate above `WRONG`, for every mechanism.

Shapes: T target tokens, S source tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from regard.alignment import (
    AlignmentHead,
    Links,
    align_bidirectional,
    alignment_weights,
    layer_maps,
    word_links,
)
from regard.config import SearchOptions
from regard.cores import cores
from regard.corpus.grammar import GrammarPair
from regard.demo.translation_scores import mapped_batches
from regard.evaluation.aer import alignment_error_rate
from regard.studies.estimates import Estimate, share
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.studies.translators.trained import (
    ATTENTIONS,
    TranslatorChoice,
    held_out,
    trained_translators,
    training_table,
)
from regard.tasks.translation.translator import Translator
from regard.views.charts.panels import BarPanel, Bars, Bilingual, Curve, CurvePanel, GridPanel
from regard.views.maps.arrays import Floats
from regard.worker_pool import can_fork, parallel_map

WRONG = 0.25
MOST = 0.05
SAMPLES = 1000


class SentenceError(NamedTuple):
    """The two sums of a sentence's error rate: 1 − right / links."""

    right: float
    links: float

    @property
    def rate(self) -> float:
        """The alignment error rate of the sentence."""
        return 1 - self.right / self.links if self.links else 0.0


class MechanismAlignment(NamedTuple):
    """Figures of one translator.

    best    the map with the lowest error rate on development sentences
    errors  of the best map, one per test sentence
    rates   error rate of every layer, head (None: their mean) and row, over the test sentences
    exact   which test sentences are translated exactly
    """

    best: AlignmentHead
    errors: list[SentenceError]
    rates: dict[AlignmentHead, float]
    exact: list[bool]


def sentence_error(links: Links, pair: GrammarPair) -> SentenceError:
    """|A ∩ S| + |A ∩ P| and |A| + |S| of one sentence."""
    sure = [(link.source, link.target) for link in pair.links if link.sure]
    scores = alignment_error_rate([links], [sure], [[link[:2] for link in pair.links]])
    total = scores.predicted + scores.sure
    return SentenceError((1 - scores.error_rate) * total, float(total))


def error_rate(errors: Sequence[SentenceError]) -> float:
    """The error rate over sentences."""
    links = sum(error.links for error in errors)
    return 1 - sum(error.right for error in errors) / links if links else 0.0


def error_interval(errors: Sequence[SentenceError], seed: int = 0) -> Estimate:
    """The error rate with its 95 % bootstrap interval."""
    generator = np.random.default_rng(seed)
    values = np.array(errors)
    drawn = values[generator.integers(len(values), size=(SAMPLES, len(values)))].sum(1)
    rates = 1 - drawn[:, 0] / np.maximum(drawn[:, 1], 1)
    low, high = np.quantile(rates, [0.025, 0.975])
    return Estimate(error_rate(errors), float(low), float(high))


def diagonal_links(pair: GrammarPair) -> Links:
    """Each target word linked to the source word at the same share of the sentence.

    >>> from regard.corpus.grammar import seed_sentences
    >>> sorted(diagonal_links(seed_sentences("zh")[9]))[:2]
    [(0, 0), (1, 1)]
    """
    num_source, num_target = len(pair.source_words), len(pair.target_words)
    return frozenset(
        (int((target + 0.5) * num_source / num_target), target) for target in range(num_target)
    )


def head_errors(
    translator: Translator, pairs: Sequence[GrammarPair]
) -> dict[AlignmentHead, list[SentenceError]]:
    """The errors of every layer, head and row, sentence by sentence."""
    errors: dict[AlignmentHead, list[SentenceError]] = {}
    for part, batch in mapped_batches(translator, pairs):
        heads = [
            AlignmentHead(layer, head, shift)
            for layer, layer_map in layer_maps(batch.maps, "cross").items()
            for head in (*(layer_map.heads if len(layer_map.heads) > 1 else ()), None)
            for shift in (False, True)
        ]
        for head in heads:
            for row, pair in enumerate(part):
                source, target = batch.sources[row], batch.targets[row]
                weights_TS = alignment_weights(
                    batch.maps,
                    head,
                    row,
                    target_length=target.num_tokens + 1,
                    source_length=source.num_tokens + 1,
                )
                links = word_links(weights_TS, target, source)
                errors.setdefault(head, []).append(sentence_error(links, pair))
    return errors


def measure(
    dev: Sequence[GrammarPair], test: Sequence[GrammarPair], translator: Translator
) -> MechanismAlignment:
    """All measurements of one translator."""
    chosen, tested = head_errors(translator, dev), head_errors(translator, test)
    best = min(chosen, key=lambda head: error_rate(chosen[head]))
    translations = translator.translate(
        [pair.source for pair in test], settings=SearchOptions(beam=1), alignment=False, split=False
    )
    return MechanismAlignment(
        best,
        tested[best],
        {head: error_rate(errors) for head, errors in tested.items()},
        [
            translation.text == pair.target
            for translation, pair in zip(translations, test, strict=True)
        ],
    )


def run(options: StudyOptions) -> Findings:
    """Measure every mechanism on the same sentences."""
    names = list(ATTENTIONS)
    choices = [TranslatorChoice(name, seed=options.seed) for name in names]
    translators = trained_translators(options, choices)
    dev = held_out(options, 20 if options.quick else 100, split="dev")
    test = held_out(options, 20 if options.quick else 400)
    options.report(f"alignment of {len(test)} sentences, {len(names)} mechanisms")
    figures = parallel_map(
        partial(measure, dev, test), translators, cores() if can_fork() else 1, fork=True
    )
    aligned = align_bidirectional(
        [pair.source_words for pair in test], [pair.target_words for pair in test]
    ).forward
    baselines = {
        "diagonal": [sentence_error(diagonal_links(pair), pair) for pair in test],
        "statistical": [
            sentence_error(links, pair) for links, pair in zip(aligned, test, strict=True)
        ],
    }
    diagonal, statistical = (error_interval(errors, options.seed) for errors in baselines.values())
    rates = [error_interval(result.errors, options.seed) for result in figures]
    wrong = [_wrong(result) for result in figures]
    return Findings(
        Bilingual(
            "Alignment error rate of each mechanism's best map beside the diagonal's, and of every "
            "head of the Transformer; below, how many exactly translated sentences have a map "
            "whose error rate is above a level.",
            "各机制最好的注意力图的对齐错误率（虚线为对角线）以及 Transformer 各头的错误率；"
            "下方是译文完全正确而图的错误率高于某一水平的句子比例。",
        ),
        _claims(names, rates, diagonal, wrong),
        [
            *_tables(names, rates, [diagonal, statistical], wrong, figures),
            training_table(choices, translators),
        ],
        _panels(names, rates, [diagonal, statistical], figures),
        {
            "diagonal": diagonal,
            "statistical": statistical,
            **{
                name: {
                    "aer": rate,
                    "best": result.best,
                    "exact": share(sum(result.exact), len(result.exact)),
                    "exact_with_wrong_map": bad,
                    "maps": [[*head, value] for head, value in result.rates.items()],
                }
                for name, rate, bad, result in zip(names, rates, wrong, figures, strict=True)
            },
        },
    )


def _exact_rates(figures: MechanismAlignment) -> list[float]:
    """The error rates of the sentences that are translated exactly."""
    return [error.rate for error, exact in zip(figures.errors, figures.exact, strict=True) if exact]


def _wrong(figures: MechanismAlignment) -> Estimate:
    """The share of exactly translated sentences whose map is wrong."""
    rates = _exact_rates(figures)
    return share(sum(rate > WRONG for rate in rates), len(rates))


def _claims(
    names: list[str], rates: list[Estimate], diagonal: Estimate, wrong: list[Estimate]
) -> list[Claim]:
    def listed(values: list[Estimate]) -> Bilingual:
        pairs = [pair for pair in zip(names, values, strict=True) if np.isfinite(pair[1].mean)]
        return Bilingual(
            ", ".join(f"{ATTENTIONS[name].en} {value.written()}" for name, value in pairs),
            "，".join(f"{ATTENTIONS[name].zh} {value.written()}" for name, value in pairs),
        )

    errors, shares = listed(rates), listed(wrong)
    return [
        Claim(
            Bilingual(
                "For each word that it predicts, the model aligns with the part of the source that "
                "is relevant to it, and learns this by itself.",
                "在预测每个词元时，模型会对齐输入序列中与之相关的部分，并且这是自己学会的。",
            ),
            Bilingual(
                f"Alignment error rate of the best map: {errors.en}; of the diagonal "
                f"{diagonal.written()}.",
                f"最好的注意力图的对齐错误率：{errors.zh}；对角线为 {diagonal.written()}。",
            ),
            all(rate.high < diagonal.low for rate in rates),
        ),
        Claim(
            Bilingual(
                "Where the translation is right, the map shows which words it came from.",
                "译文正确时，注意力图显示它来自哪些词。",
            ),
            Bilingual(
                "Of the sentences translated exactly, this share has a map with an error rate "
                f"above {WRONG}: {shares.en or 'there are none'}.",
                f"译文完全正确的句子中，注意力图错误率超过 {WRONG} 的比例："
                f"{shares.zh or '没有这样的句子'}。",
            ),
            all(interval.high <= MOST for interval in wrong),
        ),
    ]


def _head_name(head: AlignmentHead) -> Bilingual:
    """Such as "2.mean, predicts"."""
    layer = head.layer + 1
    step = Bilingual("as input", "作为输入") if head.shift else Bilingual("predicting", "预测时")
    number = (
        Bilingual("mean", "平均") if head.head is None else Bilingual(*[str(head.head + 1)] * 2)
    )
    return Bilingual(f"{layer}.{number.en}, {step.en}", f"{layer}.{number.zh}，{step.zh}")


def _tables(
    names: list[str],
    rates: list[Estimate],
    baselines: list[Estimate],
    wrong: list[Estimate],
    figures: list[MechanismAlignment],
) -> list[FindingsTable]:
    return [
        FindingsTable(
            Bilingual("Alignment by mechanism", "各种机制的对齐"),
            [
                Bilingual("attention", "注意力"),
                Bilingual("layer and head, row", "层与头，行"),
                Bilingual("alignment error rate", "对齐错误率"),
                Bilingual("translated exactly", "完全译对"),
                Bilingual(f"of these, map wrong (above {WRONG})", f"其中图有错（高于 {WRONG}）"),
                Bilingual("worst map among these", "其中最差的图"),
            ],
            [
                *[
                    [
                        ATTENTIONS[name],
                        _head_name(result.best),
                        rate.written(),
                        share(sum(result.exact), len(result.exact)).written(),
                        bad.written() if np.isfinite(bad.mean) else None,
                        max(_exact_rates(result), default=None),
                    ]
                    for name, rate, bad, result in zip(names, rates, wrong, figures, strict=True)
                ],
                [Bilingual("diagonal", "对角线"), "", baselines[0].written(), "", "", ""],
                [
                    Bilingual("statistical aligner", "统计对齐"),
                    "",
                    baselines[1].written(),
                    "",
                    "",
                    "",
                ],
            ],
        ),
        FindingsTable(
            Bilingual(
                "Transformer, every head: alignment error rate", "Transformer 各头的对齐错误率"
            ),
            [
                Bilingual("layer and head, row", "层与头，行"),
                Bilingual("alignment error rate", "对齐错误率"),
            ],
            [[_head_name(head), rate] for head, rate in figures[names.index("full")].rates.items()],
        ),
    ]


def _panels(
    names: list[str],
    rates: list[Estimate],
    baselines: list[Estimate],
    figures: list[MechanismAlignment],
) -> list[CurvePanel | BarPanel | GridPanel]:
    full = figures[names.index("full")].rates
    layers = sorted({head.layer for head in full})
    heads = [*sorted({head.head for head in full if head.head is not None}), None]
    bars = [*rates, baselines[1]]
    levels = np.linspace(0, 1, 21)

    def above(result: MechanismAlignment) -> list[float]:
        exact: Floats = np.array(_exact_rates(result) or [np.nan])
        return [float((exact > level).mean()) for level in levels]

    return [
        BarPanel(
            Bilingual("Alignment error rate of the best map", "最好的注意力图的对齐错误率"),
            Bilingual("alignment error rate", "对齐错误率"),
            [*[ATTENTIONS[name] for name in names], Bilingual("statistical aligner", "统计对齐")],
            [
                Bars(
                    Bilingual("error rate", "错误率"),
                    [e.mean for e in bars],
                    [e.low for e in bars],
                    [e.high for e in bars],
                )
            ],
            horizontal=True,
            reference=(Bilingual("diagonal", "对角线"), baselines[0].mean),
        ),
        GridPanel(
            Bilingual("Transformer: error rate by head", "Transformer：各头的错误率"),
            Bilingual("head", "头"),
            "",
            [Bilingual("mean", "平均") if head is None else str(head + 1) for head in heads],
            [
                Bilingual(
                    f"layer {layer + 1}, {'as input' if shift else 'predicting'}",
                    f"第 {layer + 1} 层，{'作为输入' if shift else '预测时'}",
                )
                for layer in layers
                for shift in (False, True)
            ],
            [
                [full[AlignmentHead(layer, head, shift)] for head in heads]
                for layer in layers
                for shift in (False, True)
            ],
            written=True,
        ),
        CurvePanel(
            Bilingual(
                "Exactly translated sentences whose map is wrong", "译文完全正确而图有错的句子"
            ),
            Bilingual("error rate of the map above", "图的错误率高于"),
            Bilingual("share of these sentences", "占这些句子的比例"),
            [
                Curve(ATTENTIONS[name], levels.tolist(), above(result))
                for name, result in zip(names, figures, strict=True)
            ],
            y_range=(0.0, 1.0),
        ),
    ]
