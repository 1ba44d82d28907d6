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
from regard.demo.scores import mapped_batches
from regard.studies.estimates import Estimate, estimate, share
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.studies.translators.trained import (
    TranslatorChoice,
    held_out,
    trained_translators,
    training_table,
)
from regard.tasks.translation.translator import Translator
from regard.views.charts.panels import BarPanel, Bars, Curve, CurvePanel, GridPanel, Text
from regard.views.maps.effects import token_scores
from regard.views.maps.faithfulness import rank_correlation
from regard.worker_pool import can_fork, parallel_map

KINDS = {
    "self": Text("encoder", "编码器"),
    "causal": Text("decoder", "解码器"),
    "cross": Text("cross", "交叉"),
}


class HeadLook(NamedTuple):
    """Of one head's best row: how often its largest weight is on the antecedent, and the other."""

    antecedent: AntecedentCount
    other: AntecedentCount


class CoreferenceFigures(NamedTuple):
    """What was measured of one translator.

    pronouns   translated right with all heads
    best       the head that looks most at the antecedent, chosen on development sentences
    smallest   the smallest set, and its effect on test sentences
    translated accuracies in whole translations: with the best looker off, with the set off
    """

    pronouns: AntecedentCount
    looks: dict[HeadName, HeadLook]
    causes: dict[HeadName, float]
    best: HeadName
    smallest: AblationEffect
    translated: tuple[AblationEffect, AblationEffect]

    @property
    def correlation(self) -> float:
        """Rank correlation of looking and causing over heads."""
        shares = [look.antecedent.share for look in self.looks.values()]
        causes = [self.causes[head] for head in self.looks]
        return rank_correlation(np.array(shares), np.array(causes))

    @property
    def cause(self) -> HeadName:
        """The head whose switching off costs the pronoun most."""
        return max(self.causes, key=lambda head: self.causes[head])


def swapped(pair: GrammarPair) -> GrammarPair:
    """The pair with the antecedent and the other noun exchanged in its notes."""
    notes = [
        note._replace(antecedent=note.other, other=note.antecedent) for note in pair.coreference
    ]
    return replace(pair, coreference=tuple(notes))


def head_looks(translator: Translator, pairs: Sequence[GrammarPair]) -> dict[HeadName, HeadLook]:
    """Where each head looks, in the row that is most often on the antecedent."""
    right, wrong = [], []
    for part, batch in mapped_batches(translator, pairs):
        right.append(count_antecedents(part, batch))
        wrong.append(count_antecedents([swapped(pair) for pair in part], batch))
    rows, others = merge_counts(right), merge_counts(wrong)
    looks: dict[HeadName, HeadLook] = {}
    for row, count in sorted(rows.items()):
        head = row.kind, row.layer, row.head
        if row.step == "input":  # the pronoun is chosen before
            continue
        if head not in looks or count.share > looks[head].antecedent.share:
            looks[head] = HeadLook(count, others[row])
    return looks


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
    on_dev = head_looks(translator, dev)
    best = max(on_dev, key=lambda head: on_dev[head].antecedent.share)
    found = heads[:1] if quick else smallest_set(searched, heads).heads
    whole = translation_effect(translator, tested.pairs, [], "fr")
    num_pronouns = sum(len(pair.coreference) for pair in tested.pairs)
    return CoreferenceFigures(
        AntecedentCount(round(whole.pronouns * num_pronouns), num_pronouns),
        head_looks(translator, test),
        head_causes(tested, heads),
        best,
        tested.effect(found),
        (
            translation_effect(translator, tested.pairs, [best], "fr"),
            translation_effect(translator, tested.pairs, found, "fr"),
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
    correlation = estimate([each.correlation for each in figures])
    return Findings(
        Text(
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
                    "pronouns": share(*each.pronouns),
                    "correlation": each.correlation,
                    "looks": {_name(h).en: look for h, look in each.looks.items()},
                    "causes": {_name(h).en: value for h, value in each.causes.items()},
                    "smallest": [_name(h).en for h in each.smallest.heads],
                    "without": [effect.as_dict() for effect in each.translated],
                }
                for seed, each in zip(seeds, figures, strict=True)
            ],
        },
    )


def _claims(figures: list[CoreferenceFigures], correlation: Estimate) -> list[Claim]:
    accuracies = [share(*each.pronouns) for each in figures]
    looks = [
        (share(*each.looks[each.best].antecedent), share(*each.looks[each.best].other))
        for each in figures
    ]
    accuracy = "; ".join(each.written() for each in accuracies)
    owns = "; ".join(own.written() for own, _ in looks)
    others = "; ".join(f"{other.mean:.2f}" for _, other in looks)
    same = sum(each.best == each.cause for each in figures)
    sizes = ", ".join(str(len(each.smallest.heads)) for each in figures)
    lost = [each.causes[each.best] for each in figures]
    most = [max(each.causes.values()) for each in figures]
    costs = "; ".join(f"{own:.2f} / {top:.2f}" for own, top in zip(lost, most, strict=True))
    return [
        Claim(
            Text(
                "Self-attention lets a model connect “it” with the noun that it stands for.",
                "自注意力机制可以让模型把“it”与它所指代的名词关联起来。",
            ),
            Text(
                f"The pronoun is translated right in {accuracy} of sentences (one half by chance) "
                "whose noun pairs were not in the training sentences.",
                f"代词译对的比例为 {accuracy}（随机为一半），"
                "这些句子的名词组合在训练中没有出现过。",
            ),
            all(each.low > 0.5 for each in accuracies),
        ),
        Claim(
            Text(
                "The connection can be seen: a head looks from “it” to its antecedent.",
                "这种关联看得见：有一个头从“it”看向它的先行词。",
            ),
            Text(
                f"The head of each seed that looks there most has its largest weight on the "
                f"antecedent in {owns} of cases, on the other noun in {others}.",
                f"每个种子中最常看向先行词的头，最大权重落在先行词上的比例为 {owns}，"
                f"落在另一个名词上的比例为 {others}。",
            ),
            all(own.low > other.high for own, other in looks),
        ),
        Claim(
            Text(
                "The head that looks at the antecedent is the one that resolves “it”.",
                "看向先行词的头就是确定“it”指代的头。",
            ),
            Text(
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
    def row(seed: int, each: CoreferenceFigures) -> list[Text | str | float | int]:
        looker, off = each.translated
        return [
            seed,
            share(*each.pronouns).written(),
            _name(each.best),
            each.looks[each.best].antecedent.share,
            looker.pronouns,
            Text(*(", ".join(name) for name in zip(*map(_name, each.smallest.heads), strict=True))),
            off.pronouns,
            off.others,
            each.correlation,
        ]

    return FindingsTable(
        Text(
            "Pronouns with heads switched off, in whole translations",
            "关闭一些头之后整句翻译中的代词",
        ),
        [
            Text("seed", "种子"),
            Text("pronouns right", "代词译对"),
            Text("looks most", "看得最多的头"),
            Text("on the antecedent", "看向先行词"),
            Text("pronouns without it", "关闭后代词译对"),
            Text("smallest set", "最小集合"),
            Text("pronouns without the set", "关闭集合后代词译对"),
            Text("other words then", "此时其他词译对"),
            Text("looking and causing, rank correlation", "“看”与“起作用”的秩相关"),
        ],
        [row(seed, each) for seed, each in zip(seeds, figures, strict=True)],
    )


def _panels(
    seeds: list[int], figures: list[CoreferenceFigures]
) -> list[CurvePanel | BarPanel | GridPanel]:
    first = figures[0]
    rows = sorted(
        {head[:2] for head in first.looks}, key=lambda row: (list(KINDS).index(row[0]), row)
    )
    columns = sorted({head[2] for head in first.looks})
    groups = [Text(f"seed {seed}", f"种子 {seed}") for seed in seeds]

    def grid(title: Text, values: dict[HeadName, float], signed: bool) -> GridPanel:
        return GridPanel(
            title,
            Text("head", "头"),
            "",
            [str(head + 1) for head in columns],
            [
                Text(f"{KINDS[kind].en} {layer + 1}", f"{KINDS[kind].zh} {layer + 1}")
                for kind, layer in rows
            ],
            [[values.get((kind, layer, head), 0.0) for head in columns] for kind, layer in rows],
            signed=signed,
            written=True,
        )

    looking = {head: look.antecedent.share for head, look in first.looks.items()}
    return [
        grid(
            Text(f"Looking at the antecedent (seed {seeds[0]})", f"看向先行词（种子 {seeds[0]}）"),
            looking,
            False,
        ),
        grid(
            Text("Cost of switching off, log-probability", "关闭的代价（对数概率）"),
            first.causes,
            True,
        ),
        CurvePanel(
            Text("Looking and causing, each head a dot", "“看”与“起作用”，每点一个头"),
            Text("share of largest weights on the antecedent", "最大权重落在先行词上的比例"),
            Text("cost of switching off", "关闭的代价"),
            [
                Curve(
                    group,
                    [look.antecedent.share for look in each.looks.values()],
                    [each.causes[head] for head in each.looks],
                    kind="dots",
                )
                for group, each in zip(groups, figures, strict=True)
            ],
        ),
        BarPanel(
            Text("Pronouns translated right", "代词译对的比例"),
            Text("share", "比例"),
            groups,
            [
                Bars(Text("all heads", "全部头"), [each.pronouns.share for each in figures]),
                Bars(
                    Text("without the head that looks most", "关闭看得最多的头"),
                    [each.translated[0].pronouns for each in figures],
                ),
                Bars(
                    Text("without the smallest set", "关闭最小集合"),
                    [each.translated[1].pronouns for each in figures],
                ),
            ],
            reference=(Text("chance", "随机"), 0.5),
            y_range=(0.0, 1.0),
        ),
    ]


def _name(head: HeadName) -> Text:
    kind, layer, number = head
    return Text(
        f"{KINDS[kind].en} {layer + 1}.{number + 1}", f"{KINDS[kind].zh} {layer + 1}.{number + 1}"
    )
