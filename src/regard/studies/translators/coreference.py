"""What `it` refers to: where each head looks, and what switching it off does.

In "The animal didn't cross the street because it was too tired" only the adjective decides between
animal and street, and the French pronoun (il, elle) shows the choice. For every head:

    looking  how often its largest weight is on the antecedent, in the best of its rows on the path
             from `it` to the choice of the pronoun (corpus/grammar/measures/coreference.py); and
             the same for the other noun, which is never right
    causing  decrease of the log-probability of the right pronoun when the head is switched off

Both are compared by Spearman's rank correlation over the heads of a model. The smallest set of
heads without which pronouns fail while other words stay right is searched for on development
sentences (`demo/head_ablation.py`) and tested on test sentences.

Claims hold: 1. where the lower end of the pronoun accuracy is above one half, for every seed; 2.
where for every seed the head that looks most at the antecedent (chosen on development sentences)
does so more often than at the other noun, intervals apart; 3. where for every seed that head is
also the one whose switching off costs the pronoun most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from regard.attention import intervene
from regard.cores import cores
from regard.corpus.grammar import GrammarPair
from regard.corpus.grammar.measures.coreference import (
    AntecedentCount,
    count_antecedents,
    merge_counts,
)
from regard.demo.head_ablation import (
    AblationEffect,
    AblationSentences,
    HeadName,
    all_heads,
    smallest_set,
    switch_off,
    translation_effect,
)
from regard.demo.translation_scores import mapped_batches
from regard.studies.estimates import Estimate, estimate, share
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.studies.translators.trained import (
    TranslatorChoice,
    held_out,
    trained_translators,
    training_table,
)
from regard.tasks.translation.translator import Translator
from regard.views.charts.panels import BarPanel, Bars, Bilingual, Curve, CurvePanel, GridPanel
from regard.views.maps.effects import token_scores
from regard.views.maps.faithfulness import rank_correlation
from regard.worker_pool import can_fork, parallel_map

KINDS = {
    "self": Bilingual("encoder", "编码器"),
    "causal": Bilingual("decoder", "解码器"),
    "cross": Bilingual("cross", "交叉"),
}


class HeadCounts(NamedTuple):
    """Of one head's best row: how often its largest weight is on the antecedent, and the other."""

    antecedent: AntecedentCount
    distractor: AntecedentCount


class CoreferenceFigures(NamedTuple):
    """What was measured of one translator.

    pronouns   translated right with all heads
    best       the head that looks most at the antecedent, chosen on development sentences
    smallest   the smallest set, and its effect on test sentences
    translated accuracies in whole translations: with the best looker off, with the set off
    """

    pronouns: AntecedentCount
    weight_counts: dict[HeadName, HeadCounts]
    causes: dict[HeadName, float]
    best: HeadName
    smallest: AblationEffect
    translated: tuple[AblationEffect, AblationEffect]

    @property
    def correlation(self) -> float:
        """Rank correlation of looking and causing over heads."""
        shares = [count.antecedent.share for count in self.weight_counts.values()]
        causes = [self.causes[head] for head in self.weight_counts]
        return rank_correlation(np.array(shares), np.array(causes))

    @property
    def cause(self) -> HeadName:
        """The head whose switching off costs the pronoun most."""
        return max(self.causes, key=lambda head: self.causes[head])


def swapped(pair: GrammarPair) -> GrammarPair:
    """The pair with the antecedent and the other noun exchanged in its notes."""
    notes = [
        note._replace(antecedent=note.distractor, distractor=note.antecedent)
        for note in pair.coreference
    ]
    return replace(pair, coreference=tuple(notes))


def head_counts(translator: Translator, pairs: Sequence[GrammarPair]) -> dict[HeadName, HeadCounts]:
    """Where each head looks, in the row that is most often on the antecedent."""
    right, wrong = [], []
    for part, batch in mapped_batches(translator, pairs):
        right.append(count_antecedents(part, batch))
        wrong.append(count_antecedents([swapped(pair) for pair in part], batch))
    rows, distractor_rows = merge_counts(right), merge_counts(wrong)
    counts: dict[HeadName, HeadCounts] = {}
    for row, count in sorted(rows.items()):
        head = row.kind, row.layer, row.head
        if row.step == "input":  # the pronoun is chosen before
            continue
        if head not in counts or count.share > counts[head].antecedent.share:
            counts[head] = HeadCounts(count, distractor_rows[row])
    return counts


def head_causes(sentences: AblationSentences, heads: Sequence[HeadName]) -> dict[HeadName, float]:
    """The decrease of the right pronoun's log-probability without each head."""
    score = token_scores(sentences.batch)

    def pronoun_score(off: Sequence[HeadName]) -> float:
        with torch.no_grad(), intervene(sentences.network, switch_off(off)):
            scores = score(sentences.network(sentences.batch))
        return float(scores[sentences.pronouns].mean())

    whole = pronoun_score([])
    return {head: whole - pronoun_score([head]) for head in heads}


def measure(
    dev: Sequence[GrammarPair], test: Sequence[GrammarPair], quick: bool, translator: Translator
) -> CoreferenceFigures:
    """All measurements of one translator."""
    searched, tested = AblationSentences(translator, dev), AblationSentences(translator, test)
    heads = all_heads(tested)
    on_dev = head_counts(translator, dev)
    best = max(on_dev, key=lambda head: on_dev[head].antecedent.share)
    smallest = heads[:1] if quick else smallest_set(searched, heads).heads
    whole = translation_effect(translator, tested.pairs, [], "fr")
    num_pronouns = sum(len(pair.coreference) for pair in tested.pairs)
    return CoreferenceFigures(
        AntecedentCount(round(whole.pronouns * num_pronouns), num_pronouns),
        head_counts(translator, test),
        head_causes(tested, heads),
        best,
        tested.effect(smallest),
        (
            translation_effect(translator, tested.pairs, [best], "fr"),
            translation_effect(translator, tested.pairs, smallest, "fr"),
        ),
    )


def run(options: StudyOptions) -> Findings:
    """Measure several Transformers, trained with different seeds."""
    seeds = list(options.seeds(3))
    choices = [TranslatorChoice(seed=seed) for seed in seeds]
    translators = trained_translators(options, choices)
    dev = held_out(options, 60 if options.quick else 200, split="dev")
    test = held_out(options, 60 if options.quick else 600)
    options.report(f"looking and switching off, {len(seeds)} translators")
    figures = parallel_map(
        partial(measure, dev, test, options.quick),
        translators,
        cores() if can_fork() else 1,
        fork=True,
    )
    correlation = estimate([result.correlation for result in figures])
    return Findings(
        Bilingual(
            "Above, how often each head looks at the antecedent of “it”, beside what the pronoun "
            "loses without the head; below, both for the heads of all models, and pronouns with "
            "heads switched off.",
            "上方：各个头看向“it”的先行词的比例，以及关闭该头后代词的损失；"
            "下方：所有模型中各个头的两者关系，以及关闭一些头之后的代词。",
        ),
        _claims(figures, correlation),
        [_table(seeds, figures), training_table(choices, translators)],
        _panels(seeds, figures),
        {
            "correlation": correlation,
            "models": [
                {
                    "seed": seed,
                    "pronouns": share(*result.pronouns),
                    "correlation": result.correlation,
                    "looks": {_name(h).en: count for h, count in result.weight_counts.items()},
                    "causes": {_name(h).en: value for h, value in result.causes.items()},
                    "smallest": [_name(h).en for h in result.smallest.heads],
                    "without": [effect.as_dict() for effect in result.translated],
                }
                for seed, result in zip(seeds, figures, strict=True)
            ],
        },
    )


def _claims(figures: list[CoreferenceFigures], correlation: Estimate) -> list[Claim]:
    accuracies = [share(*result.pronouns) for result in figures]
    shares = [
        (
            share(*result.weight_counts[result.best].antecedent),
            share(*result.weight_counts[result.best].distractor),
        )
        for result in figures
    ]
    accuracy = "; ".join(interval.written() for interval in accuracies)
    antecedents = "; ".join(antecedent.written() for antecedent, _ in shares)
    distractors = "; ".join(f"{distractor.mean:.2f}" for _, distractor in shares)
    same = sum(result.best == result.cause for result in figures)
    sizes = ", ".join(str(len(result.smallest.heads)) for result in figures)
    lost = [result.causes[result.best] for result in figures]
    most = [max(result.causes.values()) for result in figures]
    costs = "; ".join(
        f"{loss:.2f} / {largest:.2f}" for loss, largest in zip(lost, most, strict=True)
    )
    return [
        Claim(
            Bilingual(
                "Self-attention lets a model connect “it” with the noun that it stands for.",
                "自注意力机制可以让模型把“it”与它所指代的名词关联起来。",
            ),
            Bilingual(
                f"The pronoun is translated right in {accuracy} of sentences (one half by chance) "
                "whose noun pairs were not in the training sentences.",
                f"代词译对的比例为 {accuracy}（随机为一半），"
                "这些句子的名词组合在训练中没有出现过。",
            ),
            all(interval.low > 0.5 for interval in accuracies),
        ),
        Claim(
            Bilingual(
                "The connection can be seen: a head looks from “it” to its antecedent.",
                "这种关联看得见：有一个头从“it”看向它的先行词。",
            ),
            Bilingual(
                f"The head of each seed that looks there most has its largest weight on the "
                f"antecedent in {antecedents} of cases, on the other noun in {distractors}.",
                f"每个种子中最常看向先行词的头，最大权重落在先行词上的比例为 {antecedents}，"
                f"落在另一个名词上的比例为 {distractors}。",
            ),
            all(antecedent.low > distractor.high for antecedent, distractor in shares),
        ),
        Claim(
            Bilingual(
                "The head that looks at the antecedent is the one that resolves “it”.",
                "看向先行词的头就是确定“it”指代的头。",
            ),
            Bilingual(
                f"It is the head whose switching off costs the pronoun most in {same} of "
                f"{len(figures)} models (decrease of log-probability of that head / of the most "
                f"costly one: {costs}); rank correlation of looking and causing over all heads "
                f"{correlation.written()}; the smallest sets that disturb pronouns alone have "
                f"{sizes} heads.",
                f"在 {len(figures)} 个模型中的 {same} 个里，关闭它对代词的损失最大"
                f"（对数概率的下降，该头 / 损失最大的头：{costs}）；"
                f"所有头的“看”与“起作用”的秩相关为 {correlation.written()}；"
                f"只影响代词的最小集合有 {sizes} 个头。",
            ),
            same == len(figures),
        ),
    ]


def _table(seeds: list[int], figures: list[CoreferenceFigures]) -> FindingsTable:
    def row(seed: int, result: CoreferenceFigures) -> list[Bilingual | str | float | int]:
        without_best, without_set = result.translated
        return [
            seed,
            share(*result.pronouns).written(),
            _name(result.best),
            result.weight_counts[result.best].antecedent.share,
            without_best.pronouns,
            Bilingual(
                *(", ".join(name) for name in zip(*map(_name, result.smallest.heads), strict=True))
            ),
            without_set.pronouns,
            without_set.other_words,
            result.correlation,
        ]

    return FindingsTable(
        Bilingual(
            "Pronouns with heads switched off, in whole translations",
            "关闭一些头之后整句翻译中的代词",
        ),
        [
            Bilingual("seed", "种子"),
            Bilingual("pronouns right", "代词译对"),
            Bilingual("looks most", "看得最多的头"),
            Bilingual("on the antecedent", "看向先行词"),
            Bilingual("pronouns without it", "关闭后代词译对"),
            Bilingual("smallest set", "最小集合"),
            Bilingual("pronouns without the set", "关闭集合后代词译对"),
            Bilingual("other words then", "此时其他词译对"),
            Bilingual("looking and causing, rank correlation", "“看”与“起作用”的秩相关"),
        ],
        [row(seed, result) for seed, result in zip(seeds, figures, strict=True)],
    )


def _panels(
    seeds: list[int], figures: list[CoreferenceFigures]
) -> list[CurvePanel | BarPanel | GridPanel]:
    first = figures[0]
    rows = sorted(
        {head[:2] for head in first.weight_counts}, key=lambda row: (list(KINDS).index(row[0]), row)
    )
    columns = sorted({head[2] for head in first.weight_counts})
    groups = [Bilingual(f"seed {seed}", f"种子 {seed}") for seed in seeds]

    def grid(title: Bilingual, values: dict[HeadName, float], signed: bool) -> GridPanel:
        return GridPanel(
            title,
            Bilingual("head", "头"),
            "",
            [str(head + 1) for head in columns],
            [
                Bilingual(f"{KINDS[kind].en} {layer + 1}", f"{KINDS[kind].zh} {layer + 1}")
                for kind, layer in rows
            ],
            [[values.get((kind, layer, head), 0.0) for head in columns] for kind, layer in rows],
            signed=signed,
            written=True,
        )

    looking = {head: count.antecedent.share for head, count in first.weight_counts.items()}
    return [
        grid(
            Bilingual(
                f"Looking at the antecedent (seed {seeds[0]})", f"看向先行词（种子 {seeds[0]}）"
            ),
            looking,
            False,
        ),
        grid(
            Bilingual("Cost of switching off, log-probability", "关闭的代价（对数概率）"),
            first.causes,
            True,
        ),
        CurvePanel(
            Bilingual("Looking and causing, each head a dot", "“看”与“起作用”，每点一个头"),
            Bilingual("share of largest weights on the antecedent", "最大权重落在先行词上的比例"),
            Bilingual("cost of switching off", "关闭的代价"),
            [
                Curve(
                    group,
                    [count.antecedent.share for count in result.weight_counts.values()],
                    [result.causes[head] for head in result.weight_counts],
                    kind="dots",
                )
                for group, result in zip(groups, figures, strict=True)
            ],
        ),
        BarPanel(
            Bilingual("Pronouns translated right", "代词译对的比例"),
            Bilingual("share", "比例"),
            groups,
            [
                Bars(
                    Bilingual("all heads", "全部头"), [result.pronouns.share for result in figures]
                ),
                Bars(
                    Bilingual("without the head that looks most", "关闭看得最多的头"),
                    [result.translated[0].pronouns for result in figures],
                ),
                Bars(
                    Bilingual("without the smallest set", "关闭最小集合"),
                    [result.translated[1].pronouns for result in figures],
                ),
            ],
            reference=(Bilingual("chance", "随机"), 0.5),
            y_range=(0.0, 1.0),
        ),
    ]


def _name(head: HeadName) -> Bilingual:
    kind, layer, number = head
    return Bilingual(
        f"{KINDS[kind].en} {layer + 1}.{number + 1}", f"{KINDS[kind].zh} {layer + 1}.{number + 1}"
    )
