"""Does attention keep what a fixed context loses with the length of the sentence?

Translators of the built-in grammar, all trained on the same sentences of 4 to 28 words with the
same number of updates, are scored by the length of the source, as in Figure 2 of Bahdanau (2015):
recurrent networks that hand one vector to the decoder, at its start only (Sutskever 2014) or at
every step (Cho 2014), with three kinds of cells and one or two directions; recurrent networks with
attention before the step (Bahdanau 2015) and after it (Luong 2015); and a Transformer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from regard.config import RnnSettings, TransformerSettings
from regard.config.kind import ModelSettings
from regard.cores import cores
from regard.corpus.grammar import sample
from regard.corpus.pairs import Pair
from regard.corpus.splits import Split
from regard.evaluation import corpus_bleu, exact_match
from regard.studies.estimates import Estimate, estimate, estimated_curve
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.studies.translators.word_translator import (
    WordTranslator,
    encode_words,
    new_translator,
    train_translator,
)
from regard.views.charts.panels import BarPanel, Bars, Bilingual, Curve, CurvePanel
from regard.worker_pool import parallel_map

BUCKETS = ((4, 7), (8, 11), (12, 15), (16, 19), (20, 23), (24, 28))
"""Words of the source, from and to; every bucket has the same share of the training words."""
BATCH_TOKENS, RATE = 2000, 8e-3


class LengthNetwork(NamedTuple):
    """A network of this study; `fixed`: its decoder has one context vector."""

    title: Bilingual
    settings: ModelSettings
    fixed: bool = False


class LengthResult(NamedTuple):
    """BLEU and share of exact translations in every bucket, weights, and seconds of training."""

    bleu: list[float]
    exact: list[float]
    num_parameters: int
    seconds: float

    @property
    def mean(self) -> float:
        """BLEU, as the mean of the buckets."""
        return sum(self.bleu) / len(self.bleu)

    @property
    def retention(self) -> float:
        """The share of the shortest sentences' BLEU that is left in the longest ones."""
        return self.bleu[-1] / self.bleu[0] if self.bleu[0] else 0.0


_rnn = partial(RnnSettings, embedding=96, dim=128, attention_dim=64, dropout=0.0, max_length=100)


NETWORKS: dict[str, LengthNetwork] = {
    "fixed": LengthNetwork(
        Bilingual("fixed context, at the start", "固定上下文，只在开始时"),
        _rnn(attention="none"),
        True,
    ),
    "fixed every": LengthNetwork(
        Bilingual("fixed context, at every step", "固定上下文，每一步"),
        _rnn(attention="none", context="every"),
        True,
    ),
    "bahdanau": LengthNetwork(Bilingual("Bahdanau attention", "Bahdanau 注意力"), _rnn()),
    "luong": LengthNetwork(Bilingual("Luong attention", "Luong 注意力"), _rnn(attention="luong")),
    "transformer": LengthNetwork(
        Bilingual("Transformer", "Transformer"),
        TransformerSettings(
            dim=96,
            num_heads=4,
            num_encoder_layers=2,
            num_decoder_layers=2,
            ff=192,
            dropout=0.0,
            tied="output",
            max_length=100,
        ),
    ),
    **{
        cell: LengthNetwork(
            Bilingual(f"one-way {name}, fixed context", f"单向 {chinese}，固定上下文"),
            _rnn(attention="none", context="every", bidirectional=False, cell=cast(Any, cell)),
            True,
        )
        for cell, name, chinese in (
            ("rnn", "vanilla", "普通 RNN"),
            ("gru", "GRU", "GRU"),
            ("lstm", "LSTM", "LSTM"),
        )
    },
    "bahdanau rnn": LengthNetwork(
        Bilingual("one-way vanilla, Bahdanau", "单向普通 RNN，Bahdanau"),
        _rnn(bidirectional=False, cell="rnn"),
    ),
}
"""Recurrent networks have GRU cells and a bidirectional encoder unless their title says more."""
CONTEXTS = ("fixed", "fixed every", "bahdanau", "luong", "transformer")
ENCODERS = ("rnn", "gru", "lstm", "fixed every", "bahdanau rnn", "bahdanau")


def draw_pairs(split: Split, count: int, seed: int, *, even_words: bool) -> list[list[Pair]]:
    """`count` sentences of the first bucket, and as many of each other one, or as many words."""
    return [
        [
            Pair(pair.source, pair.target)
            for pair in sample(
                split,
                max(1, count * sum(BUCKETS[0]) // (low + high)) if even_words else count,
                seed=seed,
                min_words=low,
                max_words=high,
            )
        ]
        for low, high in BUCKETS
    ]


def run(options: StudyOptions) -> Findings:
    """Train every network with every seed, and score it by length."""
    count, steps, tested = (200, 12, 10) if options.quick else (4_000, 700, 150)
    options.report("drawing sentences of 4 to 28 words from the built-in grammar")
    drawn = draw_pairs("train", count, options.seed, even_words=True)
    test = draw_pairs("test", tested, options.seed, even_words=False)
    corpus = encode_words([pair for bucket in drawn for pair in bucket])
    seeds = options.seeds(3)
    untrained = [
        (
            name,
            new_translator(
                corpus,
                network.settings,
                steps=steps,
                batch_tokens=BATCH_TOKENS,
                rate=RATE,
                seed=seed,
            ),
        )
        for name, network in NETWORKS.items()
        for seed in seeds
    ]
    options.report(
        f"training {len(NETWORKS)} networks {len(seeds)} times, {steps} updates each, "
        f"on {len(corpus.sources):,} sentences"
    )
    job = partial(_measure, options, os.getpid(), test)
    results = parallel_map(job, untrained, cores(), fork=True)
    scores: dict[str, list[LengthResult]] = {name: [] for name in NETWORKS}
    for (name, _), result in zip(untrained, results, strict=True):
        scores[name].append(result)
    return findings(scores, {"sentences": len(corpus.sources), "updates": steps})


def findings(scores: Mapping[str, Sequence[LengthResult]], about: dict[str, int]) -> Findings:
    """Claims, tables and figures from the scores."""
    return Findings(
        Bilingual(
            "BLEU by the length of the source: what one context vector for the whole sentence "
            "loses, and what attention keeps (bands: 95 % intervals over seeds).",
            "按源语句长度的 BLEU：整句只用一个上下文向量会丢失多少，注意力又能保留多少"
            "（阴影：不同随机种子的 95% 区间）。",
        ),
        claims(scores),
        [_table(scores)],
        [*_panels(scores)],
        {
            "buckets": BUCKETS,
            **about,
            "scores": {
                name: [result._asdict() for result in repeated] for name, repeated in scores.items()
            },
        },
    )


def _measure(
    options: StudyOptions,
    process: int,
    test: Sequence[Sequence[Pair]],
    named: tuple[str, WordTranslator],
) -> LengthResult:
    """Train one network and score it in every bucket; only `process` reports."""
    name, untrained = named
    if os.getpid() == process:
        options.report(f"training: {NETWORKS[name].title.en}")
    trained = train_translator(untrained)
    bleu, exact = [], []
    for pairs in test:
        outputs = trained.translate([pair.source for pair in pairs])
        references = [pair.target for pair in pairs]
        bleu.append(corpus_bleu(outputs, references, "fr"))
        exact.append(exact_match(outputs, references))
    return LengthResult(bleu, exact, trained.num_parameters, trained.seconds)


def claims(scores: Mapping[str, Sequence[LengthResult]]) -> list[Claim]:
    """Four claims; intervals are over seeds.

    1  holds if no network with a fixed context keeps as much of its BLEU, from the shortest to the
       longest sentences, as any with attention: all intervals apart
    2  holds if the mean BLEU of GRU and of LSTM is above that of the vanilla cell, intervals apart
    3  holds if the bidirectional encoder with a fixed context still keeps less than Bahdanau
       attention, intervals apart
    4  holds if Bahdanau attention at least doubles the weights of the same network without it
    """
    retention = {name: estimate([result.retention for result in scores[name]]) for name in NETWORKS}
    mean = {name: estimate([result.mean for result in scores[name]]) for name in NETWORKS}
    share = {name: _percent(part) for name, part in retention.items()}
    bleu = {name: part.written(1) for name, part in mean.items()}
    fixed = max(
        (name for name in NETWORKS if NETWORKS[name].fixed), key=lambda n: retention[n].high
    )
    attending = min(
        (name for name in NETWORKS if not NETWORKS[name].fixed), key=lambda n: retention[n].low
    )
    with_attention, without = scores["bahdanau"], scores["fixed every"]
    weights = with_attention[0].num_parameters / without[0].num_parameters
    seconds = _seconds(with_attention) / _seconds(without)
    return [
        Claim(
            Bilingual(
                "The longer the sentence, the more of it a fixed context vector loses; attention, "
                "which reads all hidden states at every step, keeps it.",
                "句子越长，固定的上下文向量丢失得越多；注意力在每一步读取所有隐状态，因而能够保留。",
            ),
            Bilingual(
                f"From the shortest to the longest sentences, the network with a fixed context "
                f"that keeps most keeps {share[fixed]} of its BLEU "
                f"({NETWORKS[fixed].title.en}); the one with attention that keeps least, "
                f"{share[attending]} ({NETWORKS[attending].title.en}).",
                f"从最短到最长的句子，固定上下文的网络中保留最多的保留了 {share[fixed]} "
                f"的 BLEU（{NETWORKS[fixed].title.zh}）；有注意力的网络中保留最少的保留了 "
                f"{share[attending]}（{NETWORKS[attending].title.zh}）。",
            ),
            retention[fixed].high < retention[attending].low,
        ),
        Claim(
            Bilingual(
                "The gates of LSTM and GRU help greatly to carry only what matters from step to "
                "step.",
                "LSTM 和 GRU 的门控机制对逐步只传递相关信息有巨大帮助。",
            ),
            Bilingual(
                "BLEU over all lengths, fixed context, one direction: vanilla "
                f"{bleu['rnn']}, GRU {bleu['gru']}, "
                f"LSTM {bleu['lstm']}.",
                f"固定上下文、单向时所有长度的 BLEU：普通 RNN {bleu['rnn']}，"
                f"GRU {bleu['gru']}，LSTM {bleu['lstm']}。",
            ),
            min(mean["gru"].low, mean["lstm"].low) > mean["rnn"].high,
        ),
        Claim(
            Bilingual(
                "Reading in both directions eases the strict order, but does not remove the "
                "bottleneck of one vector.",
                "双向读取缓解了严格的顺序，但没有消除单个向量的瓶颈。",
            ),
            Bilingual(
                f"With a fixed context BLEU is {bleu['gru']} in one direction and "
                f"{bleu['fixed every']} in two, which keep "
                f"{share['fixed every']} of it in the longest sentences; with Bahdanau "
                f"attention {share['bahdanau']}.",
                f"固定上下文时，单向的 BLEU 为 {bleu['gru']}，双向为 "
                f"{bleu['fixed every']}，在最长的句子中保留 "
                f"{share['fixed every']}；有 Bahdanau 注意力时保留 "
                f"{share['bahdanau']}。",
            ),
            retention["fixed every"].high < retention["bahdanau"].low,
        ),
        Claim(
            Bilingual(
                "A context of its own for every step makes the model very large and needs a lot of "
                "computation.",
                "为每个输出步骤准备单独的上下文会使模型变得非常大，并需要大量计算。",
            ),
            Bilingual(
                f"Bahdanau attention has {weights:.2f} times the weights of the fixed context at "
                f"every step, and takes {seconds:.2f} times its time in training.",
                f"与每一步使用固定上下文相比，Bahdanau 注意力的参数量为其 {weights:.2f} 倍，"
                f"训练时间为其 {seconds:.2f} 倍。",
            ),
            weights >= 2,
        ),
    ]


def _seconds(results: Sequence[LengthResult]) -> float:
    return estimate([result.seconds for result in results]).mean


def _percent(part: Estimate) -> str:
    """A share in percent, with its interval."""
    return f"{Estimate(*(100 * value for value in part)).written(0)} %"


def _table(scores: Mapping[str, Sequence[LengthResult]]) -> FindingsTable:
    rows: list[list[Bilingual | str | float]] = []
    for name, results in scores.items():
        bleu = [estimate([result.bleu[at] for result in results]) for at in range(len(BUCKETS))]
        rows.append(
            [
                NETWORKS[name].title,
                *(interval.written(1) for interval in bleu),
                _percent(estimate([result.retention for result in results])),
                f"{results[0].num_parameters:,}",
                _seconds(results),
            ]
        )
    return FindingsTable(
        Bilingual("BLEU by the number of source words", "按源语句词数的 BLEU"),
        [
            Bilingual("network", "网络"),
            *(Bilingual(f"{low}–{high} words", f"{low}–{high} 词") for low, high in BUCKETS),
            Bilingual("kept", "保留"),
            Bilingual("parameters", "参数"),
            Bilingual("seconds of training, one core", "训练秒数（单核）"),
        ],
        rows,
    )


def _panels(scores: Mapping[str, Sequence[LengthResult]]) -> Iterator[CurvePanel | BarPanel]:
    x = [(low + high) / 2 for low, high in BUCKETS]
    x_label = Bilingual("words of the source", "源语句词数")

    def curves(names: Sequence[str], measure: str) -> list[Curve]:
        drawn = []
        for name in names:
            by_seed = [getattr(result, measure) for result in scores[name]]
            points = [estimate(values) for values in zip(*by_seed, strict=True)]
            drawn.append(estimated_curve(NETWORKS[name].title, x, points))
        return drawn

    yield CurvePanel(
        Bilingual("One vector, or attention", "单个向量与注意力"),
        x_label,
        "BLEU",
        curves(CONTEXTS, "bleu"),
        y_range=(0, 100),
    )
    yield CurvePanel(
        Bilingual("Cells and directions", "循环单元与方向"),
        x_label,
        "BLEU",
        curves(ENCODERS, "bleu"),
        y_range=(0, 100),
    )
    yield CurvePanel(
        Bilingual("Sentences translated exactly", "完全正确的句子"),
        x_label,
        Bilingual("share", "比例"),
        curves(CONTEXTS, "exact"),
        y_range=(0, 1),
    )
    yield BarPanel(
        Bilingual("Time of training, one core", "训练时间（单核）"),
        Bilingual("seconds", "秒"),
        [NETWORKS[name].title for name in scores],
        [Bars("", [_seconds(results) for results in scores.values()])],
        horizontal=True,
    )
