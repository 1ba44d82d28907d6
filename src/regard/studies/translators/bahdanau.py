"""Bahdanau attention on short sentences: learning curve, translations, and a map.

The experiment of the textbook Dive into Deep Learning (§11.4): a GRU encoder and a GRU decoder with
additive attention learn about a thousand short pairs, here beside the same network with a fixed
context at every step. The pairs are the built-in grammar's shortest sentences of frequent words, or
the first pairs of the user's own file; one source of ten is kept out of the training.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import CleaningSettings, RnnSettings
from regard.cores import cores
from regard.corpus.grammar import sample
from regard.corpus.pairs import Pair, clean
from regard.errors import InputError
from regard.evaluation import corpus_bleu
from regard.formats import read_pairs
from regard.models.batch import batch_of
from regard.studies.estimates import Estimate, estimate, estimated_curve
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.studies.translators.word_translator import (
    WordCorpus,
    WordTranslator,
    encode_words,
    new_translator,
    train_translator,
)
from regard.text.normalization import SPACE_MARK
from regard.views.charts.panels import BarPanel, Bars, Bilingual, CurvePanel, GridPanel
from regard.worker_pool import parallel_map

MAX_WORDS, NUM_FREQUENT = 8, 200
HELD_OUT = 10  # one source of so many is not trained on
NUM_SHOWN, NUM_POINTS = 4, 20
_rnn = partial(
    RnnSettings, embedding=64, dim=64, attention_dim=64, bidirectional=False, dropout=0.1
)
NETWORKS = {
    "attention": (Bilingual("additive attention", "加性注意力"), _rnn()),
    "fixed": (Bilingual("fixed context", "固定上下文"), _rnn(attention="none", context="every")),
}

Links = frozenset[tuple[int, int]]
"""Pairs of a source word and a target word that translate each other, counted from 0."""


class ShortPairs(NamedTuple):
    """Pairs to learn and pairs to be translated unseen; `links` by source, of the grammar only."""

    train: list[Pair]
    unseen: list[Pair]
    links: dict[str, Links]


class ShortResult(NamedTuple):
    """Of one training: loss by update, BLEU of trained and unseen sentences, and its attention.

    focus    mean largest weight of a row, times the number of source words: 1 for equal weights
    aligned  share of the linked target words whose largest weight is on a word linked to them
    chance   that share for a source word drawn at random
    shown    the translations of some unseen sentences
    map      the weights (T, S) of the last one, its words and those of the source
    """

    losses: list[float]
    trained_bleu: float
    unseen_bleu: float
    focus: float | None
    aligned: float | None
    chance: float | None
    shown: list[str]
    map: tuple[list[list[float]], list[str], list[str]] | None


def grammar_pairs(count: int, seed: int) -> ShortPairs:
    """The grammar's sentences of at most eight words, of the 200 most frequent source words."""
    drawn = sample("train", 8 * count, seed=seed, max_words=MAX_WORDS)
    counts = Counter(word for pair in drawn for word in pair.source_words)
    frequent = {word for word, _ in counts.most_common(NUM_FREQUENT)}
    chosen = [pair for pair in drawn if frequent.issuperset(pair.source_words)][:count]
    links = {
        pair.source: frozenset((link.source, link.target) for link in pair.links) for pair in chosen
    }
    return hold_out([Pair(pair.source, pair.target) for pair in chosen], links)


def file_pairs(path: Path, count: int) -> ShortPairs:
    """The first pairs of a file whose sides have at most ten words."""
    read = read_pairs([path], ("en", "fr"))
    pairs, _ = clean(read, CleaningSettings(max_length=10, drop_duplicates=True))
    data = hold_out(pairs[:count], {})
    if len(data.unseen) < NUM_SHOWN:
        raise InputError(
            f"{path}: there are {len(pairs)} pairs of at most ten words, too few with words in "
            "common; give some hundred."
        )
    return data


def hold_out(pairs: Sequence[Pair], links: dict[str, Links]) -> ShortPairs:
    """One source of ten, with all its translations, is unseen: one whose words others have too."""
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    counts = Counter(word for source in sources for word in set(source.split()))
    unseen: set[str] = set()
    for number, source in enumerate(sources, start=1):
        words = set(source.split())
        if len(unseen) < number // HELD_OUT and all(counts[word] > 1 for word in words):
            unseen.add(source)
            counts.subtract(words)
    return ShortPairs(
        [pair for pair in pairs if pair.source not in unseen],
        [pair for pair in pairs if pair.source in unseen],
        links,
    )


def run(options: StudyOptions) -> Findings:
    """Train both networks with every seed."""
    count, steps = (300, 20) if options.quick else (1000, 600)
    options.report("reading the pairs" if options.data else "drawing short sentences")
    if options.data is None:
        data = grammar_pairs(count, options.seed)
    else:
        data = file_pairs(options.data, count)
    corpus = encode_words(data.train)
    untrained = [
        (
            name,
            new_translator(corpus, settings, steps=steps, batch_tokens=1000, rate=8e-3, seed=seed),
        )
        for name, (_, settings) in NETWORKS.items()
        for seed in options.seeds(3)
    ]
    job = partial(_measure, options, os.getpid(), data)
    results: dict[str, list[ShortResult]] = defaultdict(list)
    for (name, _), result in zip(
        untrained, parallel_map(job, untrained, cores(), fork=True), strict=True
    ):
        results[name].append(result)
    return findings(results, data, corpus, steps)


def _measure(
    options: StudyOptions, process: int, data: ShortPairs, named: tuple[str, WordTranslator]
) -> ShortResult:
    """Train one network and translate; only `process` reports."""
    name, untrained = named
    if os.getpid() == process:
        options.report(f"training: {NETWORKS[name][0].en}")
    trained = train_translator(untrained)
    shown = shown_sources(data)
    translated = trained.translate(shown)
    focus = aligned = chance = drawn = None
    if name == "attention":
        focus = mean_focus(trained, data.unseen)
        aligned, chance = alignment_share(trained, data)
        drawn = attention_map(trained, shown[-1], translated[-1])
    return ShortResult(
        trained.losses,
        _bleu(trained, data.train[:: max(1, len(data.train) // 100)]),
        _bleu(trained, data.unseen),
        focus,
        aligned,
        chance,
        translated,
        drawn,
    )


def shown_sources(data: ShortPairs) -> list[str]:
    """Some unseen sentences, the last of them the longest."""
    sources = list(dict.fromkeys(pair.source for pair in data.unseen))
    longest = max(sources, key=lambda source: len(source.split()))
    shorter = [source for source in sources if source != longest]
    step = max(1, len(shorter) // (NUM_SHOWN - 1))
    return [*shorter[::step][: NUM_SHOWN - 1], longest]


def references(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """All translations of each source."""
    targets_of: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        targets_of[pair.source].append(pair.target)
    return targets_of


def _bleu(trained: WordTranslator, pairs: Sequence[Pair]) -> float:
    known = references(pairs)
    return corpus_bleu(trained.translate(list(known)), list(known.values()), "fr")


def weights_of(trained: WordTranslator, source: str, target: str) -> Tensor:
    """(T, S): the weights with which every target word, and the end, attends to the source."""
    words = trained.data.tokenizers
    batch = batch_of([words.source.encode(source)], [words.target.encode(target)])
    with torch.inference_mode():
        weights: Tensor = trained.network.maps(batch)[0].weights  # type: ignore[operator]  # a network of translation
    return weights[0, 0]


def mean_focus(trained: WordTranslator, pairs: Sequence[Pair]) -> float:
    """The mean largest weight of a target word, in multiples of equal weights."""
    rows = [
        weights.max(1).values * weights.shape[1]
        for weights in (weights_of(trained, *pair[:2]) for pair in pairs)
    ]
    return float(torch.cat(rows).mean())


def alignment_share(
    trained: WordTranslator, data: ShortPairs
) -> tuple[float, float] | tuple[None, None]:
    """How often the largest weight is on a word that the target word is linked to, and chance."""
    hits = words = 0
    chance = 0.0
    for pair in data.unseen:
        weights = weights_of(trained, *pair[:2])
        links = data.links.get(pair.source, frozenset())
        for row in sorted({target for _, target in links}):
            linked = {source for source, target in links if target == row}
            words += 1
            hits += int(weights[row].argmax()) in linked
            chance += len(linked) / weights.shape[1]
    return (hits / words, chance / words) if words else (None, None)


def attention_map(
    trained: WordTranslator, source: str, target: str
) -> tuple[list[list[float]], list[str], list[str]]:
    """The weights of a translation, with its words and those of the source."""
    words = trained.data.tokenizers
    return (
        weights_of(trained, source, target).tolist(),
        [*_words(words.target.pieces(words.target.encode(target))), "</s>"],
        [*_words(words.source.pieces(words.source.encode(source))), "</s>"],
    )


def _words(pieces: Sequence[str]) -> list[str]:
    return [piece.removeprefix(SPACE_MARK) for piece in pieces]


def findings(
    results: Mapping[str, Sequence[ShortResult]], data: ShortPairs, corpus: WordCorpus, steps: int
) -> Findings:
    """Claims, tables and figures from the results."""
    first, known = results["attention"][0], references(data.unseen)
    return Findings(
        Bilingual(
            "Learning curves, BLEU, and the attention of each word that was written for an unseen "
            "sentence (bands and bars: 95 % intervals over seeds).",
            "学习曲线、BLEU，以及为一个未见过的句子写出每个词时的注意力"
            "（阴影和误差线：不同随机种子的 95% 区间）。",
        ),
        claims(results),
        [
            FindingsTable(
                Bilingual("Unseen sentences translated", "未见过的句子的翻译"),
                [
                    Bilingual("source", "源语句"),
                    Bilingual("translation", "翻译"),
                    Bilingual("reference", "参考译文"),
                    "BLEU",
                ],
                [
                    [source, output, known[source][0], corpus_bleu([output], [known[source]], "fr")]
                    for source, output in zip(shown_sources(data), first.shown, strict=True)
                ],
            )
        ],
        [*_panels(results)],
        {
            "pairs": len(data.train),
            "unseen": len(data.unseen),
            "words": [len(corpus.tokenizers.source), len(corpus.tokenizers.target)],
            "updates": steps,
            "results": {
                name: [{**result._asdict(), "losses": curve(result.losses)} for result in repeated]
                for name, repeated in results.items()
            },
        },
    )


def claims(results: Mapping[str, Sequence[ShortResult]]) -> list[Claim]:
    """Two claims; intervals are over seeds.

    1  holds if the largest weight is on a linked word more often than at chance, the interval
       apart; without links, if it is more than twice as large as equal weights
    2  holds if BLEU of unseen sentences is higher than with the fixed context, intervals apart
    """
    attending = results["attention"]
    focus = estimate([result.focus or 0.0 for result in attending])
    bleu = {
        name: estimate([result.unseen_bleu for result in repeated])
        for name, repeated in results.items()
    }
    selects = focus.low > 2
    where = Bilingual("", "")
    if attending[0].aligned is not None:
        aligned = estimate([result.aligned or 0.0 for result in attending])
        chance = estimate([result.chance or 0.0 for result in attending])
        selects = aligned.low > chance.high
        where = Bilingual(
            f", and is on a word that the written word translates in {_percent(aligned)} of the "
            f"cases, against {_percent(chance)} at chance",
            f"，并且在 {_percent(aligned)} 的情况下落在所写词对应的源词上，而随机时为 "
            f"{_percent(chance)}",
        )
    return [
        Claim(
            Bilingual(
                "When not all words of the source matter for a word, the decoder with Bahdanau "
                "attention selects those that do.",
                "在预测词元时，如果不是所有输入词元都相关，具有 Bahdanau 注意力的解码器会有选择地"
                "使用输入序列的不同部分。",
            ),
            Bilingual(
                f"In unseen sentences the largest weight of a written word is {focus.written(1)} "
                f"times that of equal weights{where.en}.",
                f"在未见过的句子中，所写每个词的最大权重是均匀权重的 {focus.written(1)} 倍"
                f"{where.zh}。",
            ),
            selects,
        ),
        Claim(
            Bilingual(
                "A context that is the output of additive attention serves the decoder better than "
                "the same context at every step.",
                "把上下文变量视为加性注意力汇聚的输出，优于在每个解码步骤使用相同的上下文。",
            ),
            Bilingual(
                f"BLEU of unseen sentences: {bleu['attention'].written(1)} with attention, "
                f"{bleu['fixed'].written(1)} with a fixed context.",
                f"未见过的句子的 BLEU：有注意力时为 {bleu['attention'].written(1)}，"
                f"固定上下文时为 {bleu['fixed'].written(1)}。",
            ),
            bleu["attention"].low > bleu["fixed"].high,
        ),
    ]


def _percent(part: Estimate) -> str:
    return f"{Estimate(*(100 * value for value in part)).written(0)} %"


def curve(losses: Sequence[float]) -> list[float]:
    """Means of about twenty equal parts of the updates."""
    size = max(1, len(losses) // NUM_POINTS)
    parts = [losses[start : start + size] for start in range(0, len(losses), size)]
    return [sum(part) / len(part) for part in parts]


def _panels(
    results: Mapping[str, Sequence[ShortResult]],
) -> Iterator[CurvePanel | BarPanel | GridPanel]:
    curves = []
    for name, repeated in results.items():
        size = max(1, len(repeated[0].losses) // NUM_POINTS)
        points = [
            estimate(losses) for losses in zip(*(curve(r.losses) for r in repeated), strict=True)
        ]
        x = [size * (number + 0.5) for number in range(len(points))]
        curves.append(estimated_curve(NETWORKS[name][0], x, points))
    yield CurvePanel(
        Bilingual("Loss in training", "训练损失"),
        Bilingual("updates", "更新次数"),
        Bilingual("nats per word", "每个词的损失"),
        curves,
    )
    bars = []
    for name, repeated in results.items():
        values = [
            estimate([result.trained_bleu for result in repeated]),
            estimate([result.unseen_bleu for result in repeated]),
        ]
        means, low, high = zip(*values, strict=True)
        bars.append(Bars(NETWORKS[name][0], means, low, high))
    yield BarPanel(
        "BLEU",
        "BLEU",
        [Bilingual("trained on", "训练过的句子"), Bilingual("unseen", "未见过的句子")],
        bars,
        y_range=(0, 100),
    )
    drawn = results["attention"][0].map
    assert drawn is not None
    cells, rows, columns = drawn
    yield GridPanel(
        Bilingual("Attention of the last sentence", "最后一个句子的注意力"),
        Bilingual("keys: words of the source", "键：源语句的词"),
        Bilingual("queries: words written", "查询：写出的词"),
        columns,
        rows,
        cells,
    )
