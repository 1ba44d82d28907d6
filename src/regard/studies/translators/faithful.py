"""How far a displayed map is the reason: weight, gradient and what happens without a token.

For each output token t and source token k of a held-out sentence, four numbers:

    weight      a_tk, mean of the heads of the last layer, which is what is displayed
    gradient    ∂s/∂e_tk = a_tk (∂s/∂a_tk − Σ_j a_tj ∂s/∂a_tj), e the score before the softmax and
                s the log-probability of the whole output, mean of the same heads
    switch-off  decrease of log p(y_t) with k switched off in all cross-attention
    deletion    decrease of log p(y_t) with k deleted from the source sentence

Each two are compared by Spearman's rank correlation over the source tokens, mean over the output
tokens of a sentence; the intervals are over sentences. The claim that a map shows the reason holds
where the interval of weight against switch-off lies above `READABLE` for every mechanism; that the
largest weight is on the token that counts most, where its share is above `READABLE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from regard.cores import cores
from regard.corpus.grammar import GrammarPair, seed_sentences
from regard.models.batch import batch_of
from regard.studies.estimates import Estimate, estimate, share
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.studies.translators.trained import (
    ATTENTIONS,
    TranslatorChoice,
    held_out,
    trained_translators,
    training_table,
)
from regard.tasks.translation.translator import Translator
from regard.views.charts.panels import BarPanel, Bars, Bilingual, GridPanel
from regard.views.maps.arrays import Floats
from regard.views.maps.effects import gradient_times_attention, label_score, token_scores
from regard.views.maps.faithfulness import key_effects, row_correlations
from regard.views.maps.layers import layers_of
from regard.worker_pool import can_fork, parallel_map

READABLE = 0.5
COMPARED = {
    ("weight", "switch-off"): Bilingual("weight, switch-off", "权重与关闭"),
    ("weight", "deletion"): Bilingual("weight, deletion", "权重与删除"),
    ("weight", "gradient"): Bilingual("weight, gradient", "权重与梯度"),
    ("gradient", "switch-off"): Bilingual("gradient, switch-off", "梯度与关闭"),
}


class Attributions(NamedTuple):
    """What each source token is worth to each output token of one sentence, in four ways.

    by_name  "weight", "gradient", "switch-off" (T, S) and "deletion" (T, S − 1), without </s>
    heads    (L, H, T, S)  the weights of every layer and head
    """

    by_name: dict[str, Floats]
    heads: Floats


class AttributionFigures(NamedTuple):
    """Figures of one translator.

    correlations  of each two, one number per sentence
    hits, total   output tokens whose largest weight is on the token with the largest effect
    heads         (L, H)  correlation of each head's weights with the effects
    """

    correlations: dict[tuple[str, str], list[float]]
    hits: int
    total: int
    heads: Floats


def attributions(translator: Translator, pair: GrammarPair) -> Attributions:
    """The four attributions of one sentence, with its own translation as output."""
    network, tokenizers = translator.network, translator.tokenizers
    source, target = tokenizers.source.encode(pair.source), tokenizers.target.encode(pair.target)
    batch = batch_of([source], [target])
    score, num_keys = token_scores(batch), len(source) + 1
    with torch.no_grad():
        heads = np.stack([layer.weights for layer in layers_of(network.maps(batch), "cross")])
    maps = gradient_times_attention(network, batch, label_score(batch), kind="cross")
    product = layers_of(maps, "cross")[-1].weights
    gradient = product - heads[-1] * product.sum(-1, keepdims=True)
    return Attributions(
        {
            "weight": heads[-1].mean(0),
            "gradient": gradient.mean(0),
            "switch-off": key_effects(network, batch, score, "cross", num_keys).T,
            "deletion": deletion_effects(network, source, target),
        },
        heads,
    )


def deletion_effects(network: torch.nn.Module, source: list[int], target: list[int]) -> Floats:
    """(T, S − 1): the decrease of each output token's log-probability without a source token."""
    shortened = [source[:at] + source[at + 1 :] for at in range(len(source))]
    whole, batch = batch_of([source], [target]), batch_of(shortened, [target] * len(source))
    with torch.no_grad():
        whole_scores = token_scores(whole)(network(whole))
        deleted = token_scores(batch)(network(batch))
    effects: Floats = (whole_scores - deleted).double().numpy().T
    return effects


def measure(pairs: Sequence[GrammarPair], translator: Translator) -> AttributionFigures:
    """The figures of a translator over sentences."""
    correlations: dict[tuple[str, str], list[float]] = {names: [] for names in COMPARED}
    hits = total = 0
    by_head = []
    for pair in pairs:
        attribution = attributions(translator, pair)
        effects = attribution.by_name["switch-off"]
        for first, second in COMPARED:
            first_values, second_values = attribution.by_name[first], attribution.by_name[second]
            num_keys = min(first_values.shape[1], second_values.shape[1])
            rows = row_correlations(first_values[:, :num_keys], second_values[:, :num_keys])
            correlations[first, second].append(float(np.nanmean(rows)))
        hits += int((attribution.by_name["weight"].argmax(1) == effects.argmax(1)).sum())
        total += len(effects)
        by_head.append(
            [
                [np.nanmean(row_correlations(head, effects)) for head in layer]
                for layer in attribution.heads
            ]
        )
    return AttributionFigures(correlations, hits, total, np.nanmean(by_head, axis=0))


def run(options: StudyOptions) -> Findings:
    """Measure every mechanism on the same sentences."""
    names = list(ATTENTIONS)
    choices = [TranslatorChoice(name, seed=options.seed) for name in names]
    translators = trained_translators(options, choices)
    pairs = held_out(options, 4 if options.quick else 100)
    options.report(f"switching tokens of {len(pairs)} sentences off, {len(names)} mechanisms")
    figures = parallel_map(
        partial(measure, pairs), translators, cores() if can_fork() else 1, fork=True
    )
    estimates = [
        {names: estimate(values) for names, values in measured.correlations.items()}
        for measured in figures
    ]
    tops = [share(measured.hits, measured.total) for measured in figures]
    example = attributions(translators[names.index("full")], seed_sentences("fr")[0])
    return Findings(
        Bilingual(
            "How well the order of the weights agrees with gradients and with what happens without "
            "a token, and how often the largest weight is on the token that counts most; below, "
            "the weights of one sentence beside the effects of switching tokens off.",
            "权重的大小顺序与梯度、与去掉词元的效果有多一致，最大的权重有多少落在最要紧的词元上；"
            "下方是一个句子的权重与关闭词元的效果。",
        ),
        _claims(names, estimates, tops),
        [_table(names, estimates, tops), training_table(choices, translators)],
        _panels(names, estimates, tops, figures[names.index("full")].heads, example),
        {
            name: {
                "top": top,
                **{" ".join(key): value for key, value in interval_of.items()},
                "heads": measured.heads.tolist(),
            }
            for name, interval_of, top, measured in zip(
                names, estimates, tops, figures, strict=True
            )
        },
    )


Pairs = dict[tuple[str, str], Estimate]


def _claims(names: list[str], estimates: list[Pairs], tops: list[Estimate]) -> list[Claim]:
    main = [interval_of["weight", "switch-off"] for interval_of in estimates]
    deleted = [interval_of["weight", "deletion"] for interval_of in estimates]

    def listed(values: list[Estimate]) -> Bilingual:
        pairs = list(zip(names, values, strict=True))
        return Bilingual(
            ", ".join(f"{ATTENTIONS[name].en} {value.written()}" for name, value in pairs),
            "，".join(f"{ATTENTIONS[name].zh} {value.written()}" for name, value in pairs),
        )

    top, order = listed(tops), listed(main)
    low, high = min(e.mean for e in deleted), max(e.mean for e in deleted)
    return [
        Claim(
            Bilingual(
                "The attention weights tell which element of the sentence is the most important.",
                "注意力权重能判别句子中哪个元素最重要。",
            ),
            Bilingual(
                "The largest weight of an output token is on the source token whose "
                f"switching-off costs it most, in this share of tokens: {top.en}.",
                f"输出词元的最大权重落在“关闭后损失最大”的源词元上的比例：{top.zh}。",
            ),
            all(interval.low > READABLE for interval in tops),
        ),
        Claim(
            Bilingual(
                "A displayed map shows what the output depends on.",
                "显示出来的注意力图说明输出依赖于什么。",
            ),
            Bilingual(
                f"Rank correlation of weight and switching-off effect over all tokens: {order.en}; "
                f"of weight and deletion of the word {low:.2f} to {high:.2f}.",
                f"全部词元的权重与关闭效果的秩相关：{order.zh}；"
                f"与删除该词的效果的秩相关为 {low:.2f} 至 {high:.2f}。",
            ),
            all(interval.low > READABLE for interval in main),
        ),
    ]


def _table(names: list[str], estimates: list[Pairs], tops: list[Estimate]) -> FindingsTable:
    return FindingsTable(
        Bilingual("Rank correlations, by mechanism", "各种机制的秩相关"),
        [
            Bilingual("attention", "注意力"),
            *COMPARED.values(),
            Bilingual("largest on largest", "最大对最大"),
        ],
        [
            [ATTENTIONS[name], *[interval_of[key].written() for key in COMPARED], top.written()]
            for name, interval_of, top in zip(names, estimates, tops, strict=True)
        ],
    )


def _panels(
    names: list[str],
    estimates: list[Pairs],
    tops: list[Estimate],
    heads: Floats,
    example: Attributions,
) -> list[BarPanel | GridPanel]:
    groups = [ATTENTIONS[name] for name in names]
    pair = seed_sentences("fr")[0]
    rows, columns = [*pair.target_words, "</s>"], [*pair.source_words, "</s>"]
    output, source = Bilingual("output token", "输出词元"), Bilingual("source token", "源词元")

    def bars(name: Bilingual, values: list[Estimate]) -> Bars:
        return Bars(
            name, [e.mean for e in values], [e.low for e in values], [e.high for e in values]
        )

    return [
        BarPanel(
            Bilingual("Do the orders agree?", "顺序是否一致？"),
            Bilingual("rank correlation", "秩相关"),
            groups,
            [bars(name, [e[key] for e in estimates]) for key, name in COMPARED.items()],
            reference=(Bilingual("unrelated", "无关"), 0.0),
        ),
        BarPanel(
            Bilingual(
                "Largest weight on the token of largest effect", "最大的权重落在效果最大的词元上"
            ),
            Bilingual("share of output tokens", "输出词元的比例"),
            groups,
            [bars(Bilingual("largest on largest", "最大对最大"), tops)],
            y_range=(0.0, 1.0),
        ),
        GridPanel(
            Bilingual("Transformer: weights", "Transformer：权重"),
            source,
            output,
            columns,
            rows,
            example.by_name["weight"].tolist(),
        ),
        GridPanel(
            Bilingual("Transformer: effect of switching off", "Transformer：关闭的效果"),
            source,
            output,
            columns,
            rows,
            example.by_name["switch-off"].tolist(),
            signed=True,
        ),
        GridPanel(
            Bilingual(
                "Transformer: weight and switch-off by head", "Transformer：各头的权重与关闭效果"
            ),
            Bilingual("head", "头"),
            Bilingual("layer", "层"),
            [str(head + 1) for head in range(heads.shape[1])],
            [str(layer + 1) for layer in range(heads.shape[0])],
            heads.tolist(),
            signed=True,
            written=True,
        ),
    ]
