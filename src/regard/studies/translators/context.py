"""How the vector of a word changes with its sentence: ambiguous nouns, and nouns with adjectives.

1. "mole" in three sentences, and every ambiguous noun of held-out sentences: the cosine distance of
   two of its vectors, in the same sense and in different ones. Layer 0 is the table of embeddings.
2. A linear probe names the sense from the vector. It is fitted by ridge regression on development
   sentences, W = (XᵀX + λI)⁻¹XᵀY with the noun's mean removed, and tested on test sentences; on
   layer 0, where all vectors of a noun are equal, it can only name its most frequent sense.
3. How often the largest weight in the noun's row of a self-attention head is on one of its
   adjectives. Compared with chance (adjectives / words) and with the other words of the same
   sentences, looking as far to the left: a head that always looks at the word before is as often
   right there. The best head is chosen on development sentences.

Claims hold where the intervals do not overlap: 1. distance between senses above that within, after
the last layer; 2. the probe's accuracy after the last layer above that before the first; 3. the
head's share above both chance and the other words', for every seed.

Shapes: L layers, H heads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from regard.alignment import TokenizedWords, layer_maps, tokenized_words
from regard.alignment.tokenized_words import Array
from regard.corpus.grammar import GrammarPair, seed_sentences
from regard.corpus.grammar.measures.coreference import on_word
from regard.models.batch import batch_of
from regard.studies.estimates import Estimate, estimate, share
from regard.studies.study import Claim, Findings, FindingsTable, StudyOptions
from regard.studies.translators.sense_vectors import (
    BATCH,
    mean,
    probe_hits,
    sense_distances,
    sense_vectors,
)
from regard.studies.translators.trained import (
    TranslatorChoice,
    held_out,
    trained_translators,
    training_table,
)
from regard.tasks.translation.translator import Translator
from regard.tasks.word_states import WordStates, word_states
from regard.views.charts.panels import BarPanel, Bars, Bilingual, GridPanel
from regard.views.maps.arrays import Floats

WORD = "mole"


class AdjectiveCounts(NamedTuple):
    """How often each head's largest weight is on an adjective of the noun, (L, H) counts.

    others  the same for other words of the sentences and the words as far to their left
    """

    hits: Floats
    total: int
    other_words: Floats
    other_total: int
    chance: float


def adjective_counts(translator: Translator, pairs: Sequence[GrammarPair]) -> AdjectiveCounts:
    """Count for all nouns with adjectives, in every head of the encoder."""
    tokenizers = translator.tokenizers
    noted = [pair for pair in pairs if pair.adjectives]
    hits: list[Floats] = []
    other_words: list[Floats] = []
    chances: list[float] = []
    for start in range(0, len(noted), BATCH):
        part = noted[start : start + BATCH]
        batch = batch_of(
            [tokenizers.source.encode(pair.source) for pair in part], [[] for _ in part]
        )
        with torch.no_grad():
            layers = layer_maps(translator.network.maps(batch), "self")
        for row, pair in enumerate(part):
            words = tokenized_words(pair.source, tokenizers.source, word_list=pair.source_words)
            weights = [layer.weights[row] for layer in layers.values()]
            by_noun: dict[int, set[int]] = defaultdict(set)
            for noun, adjective in pair.adjectives:
                by_noun[noun].add(adjective)

            for noun, adjectives in by_noun.items():
                hits.append(_largest_on(words, weights, noun, adjectives))
                chances.append(len(adjectives) / (len(pair.source_words) + 1))
                offsets = [noun - adjective for adjective in adjectives]
                for word in range(max(offsets), len(pair.source_words)):
                    if word not in by_noun:
                        targets = {word - offset for offset in offsets}
                        other_words.append(_largest_on(words, weights, word, targets))
    return AdjectiveCounts(
        np.sum(hits, axis=0),
        len(hits),
        np.sum(other_words, axis=0),
        len(other_words),
        mean(chances),
    )


def _largest_on(
    words: TokenizedWords, weights: Sequence[Array], word: int, targets: set[int]
) -> Floats:
    """(layers, heads): 1 where the largest weight of a word is on one of the targets, else 0."""
    rows = words.means[word]
    layers = [on_word(weights_HRC, rows, words.shares, targets) for weights_HRC in weights]
    return np.stack(layers).astype(float)


class ModelFigures(NamedTuple):
    """What was measured of one translator; lists are by layer, from the table on."""

    word: WordStates
    distances: list[tuple[list[float], list[float]]]
    probe: list[tuple[int, int]]
    adjectives: AdjectiveCounts
    best: tuple[int, int]


def measure(options: StudyOptions, translator: Translator) -> ModelFigures:
    """All measurements of one translator."""
    fit_size, size = (300, 120) if options.quick else (3000, 1500)
    dev, test = held_out(options, fit_size, split="dev"), held_out(options, size)
    fit, tested = sense_vectors(translator, dev), sense_vectors(translator, test)
    nouns = sorted(set(fit) & set(tested))
    layers = range(next(iter(fit.values())).vectors.shape[1])
    distances, probe = [], []
    for layer in layers:
        both = [sense_distances(tested[noun], layer) for noun in nouns]
        distances.append(
            ([d for d, _ in both if np.isfinite(d)], [d for _, d in both if np.isfinite(d)])
        )
        hits = [hit for noun in nouns for hit in probe_hits(fit[noun], tested[noun], layer)]
        probe.append((sum(hits), len(hits)))
    choice = adjective_counts(translator, dev[: 2 * size])
    best = np.unravel_index(choice.hits.argmax(), choice.hits.shape)
    sentences = [
        pair.source for pair in seed_sentences("fr") if any(s.lemma == WORD for s in pair.senses)
    ]
    return ModelFigures(
        word_states(translator, sentences, WORD, count=3),
        distances,
        probe,
        adjective_counts(translator, test),
        (int(best[0]), int(best[1])),
    )


def run(options: StudyOptions) -> Findings:
    """Measure several Transformers, trained with different seeds."""
    seeds = options.seeds(3)
    choices = [TranslatorChoice(seed=seed) for seed in seeds]
    translators = trained_translators(options, choices)
    figures = []
    for choice, translator in zip(choices, translators, strict=True):
        options.report(f"vectors and heads of {choice.name}")
        figures.append(measure(options, translator))
    layers = range(len(figures[0].probe))
    word = [estimate([_word_distance(model, layer) for model in figures]) for layer in layers]
    within, between = (
        [
            estimate([d for model in figures for d in model.distances[layer][side]])
            for layer in layers
        ]
        for side in (0, 1)
    )
    probe = [
        share(
            sum(model.probe[layer][0] for model in figures),
            sum(model.probe[layer][1] for model in figures),
        )
        for layer in layers
    ]
    heads = [_best_head(model) for model in figures]
    return Findings(
        Bilingual(
            "Layer by layer: how far apart the vectors of a noun are in different sentences, and "
            "how often a linear probe names its sense; below, how often the largest weight of a "
            "noun is on one of its adjectives.",
            "逐层来看：同一名词在不同句子中的向量相距多远，线性探针说对词义的比例；"
            "下方是名词的最大权重落在其形容词上的比例。",
        ),
        _claims(word, within, between, probe, heads, figures),
        [
            _layer_table(word, within, between, probe),
            _head_table(list(seeds), heads, figures),
            _neighbor_table(figures[0].word),
            training_table(choices, translators),
        ],
        _panels(word, within, between, probe, heads, figures[0].adjectives, list(seeds)),
        {
            "word": word,
            "within": within,
            "between": between,
            "probe": probe,
            "heads": [
                {
                    "seed": seed,
                    "layer": model.best[0],
                    "head": model.best[1],
                    "on_adjective": from_noun,
                    "others": from_other,
                    "chance": model.adjectives.chance,
                }
                for seed, model, (from_noun, from_other) in zip(seeds, figures, heads, strict=True)
            ],
        },
    )


def _word_distance(figures: ModelFigures, layer: int) -> float:
    """Mean distance of the word's vectors in the three sentences."""
    cosines = figures.word.cosines()[layer]
    return float(np.clip(1 - cosines[np.triu_indices(len(cosines), 1)], 0, None).mean())


def _best_head(figures: ModelFigures) -> tuple[Estimate, Estimate]:
    counts, best = figures.adjectives, figures.best
    return (
        share(int(counts.hits[best]), counts.total),
        share(int(counts.other_words[best]), counts.other_total),
    )


def _claims(
    word: list[Estimate],
    within: list[Estimate],
    between: list[Estimate],
    probe: list[Estimate],
    heads: list[tuple[Estimate, Estimate]],
    figures: list[ModelFigures],
) -> list[Claim]:
    noun_shares = "; ".join(from_noun.written() for from_noun, _ in heads)
    other_shares = "; ".join(f"{from_other.mean:.2f}" for _, from_other in heads)
    chance = mean([model.adjectives.chance for model in figures])
    return [
        Claim(
            Bilingual(
                "Every “mole” has the same vector at first; attention turns it into different "
                "vectors for different senses.",
                "每个“mole”起初的向量相同；经过注意力之后，不同词义的向量变得不同。",
            ),
            Bilingual(
                f"Distance of “mole” in three sentences: {word[0].mean:.2f} before the first layer,"
                f" {word[-1].written()} after the last; of all ambiguous nouns after the last "
                f"layer {within[-1].written()} within a sense and {between[-1].written()} between "
                "senses.",
                f"“mole”在三个句子中的距离：第一层之前 {word[0].mean:.2f}，最后一层之后 "
                f"{word[-1].written()}；所有多义名词在最后一层之后：同一词义 "
                f"{within[-1].written()}，不同词义 {between[-1].written()}。",
            ),
            word[0].mean < 1e-6 and between[-1].low > within[-1].high,
        ),
        Claim(
            Bilingual(
                "After attention the vector of a word carries the meaning that it has in its "
                "sentence.",
                "经过注意力之后，词的向量包含它在句中的含义。",
            ),
            Bilingual(
                f"A linear probe names the sense in {probe[0].written()} of cases before the first "
                f"layer (the most frequent sense), {probe[1].written()} after the first and "
                f"{probe[-1].written()} after the last.",
                f"线性探针说对词义的比例：第一层之前 {probe[0].written()}（即最常见的词义），"
                f"第一层之后 {probe[1].written()}，最后一层之后 {probe[-1].written()}。",
            ),
            probe[-1].low > probe[0].high,
        ),
        Claim(
            Bilingual(
                "The query of a noun matches the keys of its adjectives: “creature” meets “fluffy” "
                "and “blue”.",
                "名词的查询与其形容词的键匹配：“creature”对上“fluffy”和“blue”。",
            ),
            Bilingual(
                f"The best head of each seed has its largest weight on an adjective of the noun in "
                f"{noun_shares} of cases; other words look as far to the left in {other_shares}; "
                f"chance is {chance:.2f}.",
                f"每个种子中最好的头，其最大权重落在该名词的形容词上的比例为 {noun_shares}；"
                f"其他词看向同样距离处的比例为 {other_shares}；随机为 {chance:.2f}。",
            ),
            all(
                from_noun.low > from_other.high and from_noun.low > model.adjectives.chance
                for (from_noun, from_other), model in zip(heads, figures, strict=True)
            ),
        ),
    ]


def _layer_table(
    word: list[Estimate], within: list[Estimate], between: list[Estimate], probe: list[Estimate]
) -> FindingsTable:
    return FindingsTable(
        Bilingual("Layer by layer (0: the table of embeddings)", "逐层结果（0：嵌入表）"),
        [
            Bilingual("layer", "层"),
            Bilingual("distance of “mole”", "“mole”的距离"),
            Bilingual("within a sense", "同一词义"),
            Bilingual("between senses", "不同词义"),
            Bilingual("probe's accuracy", "探针准确率"),
        ],
        [
            [layer, *(by_layer[layer].written() for by_layer in (word, within, between, probe))]
            for layer in range(len(word))
        ],
    )


def _head_table(
    seeds: list[int], heads: list[tuple[Estimate, Estimate]], figures: list[ModelFigures]
) -> FindingsTable:
    return FindingsTable(
        Bilingual("Largest weight of nouns on their adjectives", "名词的最大权重落在其形容词上"),
        [
            Bilingual("seed", "种子"),
            Bilingual("layer", "层"),
            Bilingual("head", "头"),
            Bilingual("on an adjective", "在形容词上"),
            Bilingual("other words, as far", "其他词，同样距离"),
            Bilingual("chance", "随机"),
        ],
        [
            [
                seed,
                model.best[0] + 1,
                model.best[1] + 1,
                from_noun.written(),
                from_other.written(),
                model.adjectives.chance,
            ]
            for seed, model, (from_noun, from_other) in zip(seeds, figures, heads, strict=True)
        ],
    )


def _neighbor_table(word: WordStates) -> FindingsTable:
    return FindingsTable(
        Bilingual(
            f"Words nearest to “{WORD}” after the last layer", f"最后一层之后与“{WORD}”最近的词"
        ),
        [Bilingual("in", "句中"), Bilingual("nearest words", "最近的词")],
        [
            [context, ", ".join(near.word for near in nearest)]
            for context, nearest in zip(word.contexts, word.neighbors[-1], strict=True)
        ],
    )


def _panels(
    word: list[Estimate],
    within: list[Estimate],
    between: list[Estimate],
    probe: list[Estimate],
    heads: list[tuple[Estimate, Estimate]],
    counts: AdjectiveCounts,
    seeds: list[int],
) -> list[BarPanel | GridPanel]:
    def bars(name: Bilingual, values: list[Estimate]) -> Bars:
        return Bars(
            name, [e.mean for e in values], [e.low for e in values], [e.high for e in values]
        )

    layers = [Bilingual("embedding", "嵌入")] + [
        Bilingual(f"layer {layer}", f"第 {layer} 层") for layer in range(1, len(word))
    ]
    return [
        BarPanel(
            Bilingual("Distance of two vectors of one noun", "同一名词两个向量的距离"),
            Bilingual("cosine distance", "余弦距离"),
            layers,
            [
                bars(Bilingual("“mole”, three sentences", "“mole”，三个句子"), word),
                bars(Bilingual("different senses", "不同词义"), between),
                bars(Bilingual("same sense", "同一词义"), within),
            ],
        ),
        BarPanel(
            Bilingual("A linear probe names the sense", "线性探针说出词义"),
            Bilingual("accuracy", "准确率"),
            layers,
            [bars(Bilingual("probe", "探针"), probe)],
            reference=(Bilingual("most frequent sense", "最常见的词义"), probe[0].mean),
            y_range=(0.0, 1.0),
        ),
        GridPanel(
            Bilingual(
                f"Nouns looking at their adjectives (seed {seeds[0]})",
                f"名词看向其形容词（种子 {seeds[0]}）",
            ),
            Bilingual("head", "头"),
            Bilingual("layer", "层"),
            [str(head + 1) for head in range(counts.hits.shape[1])],
            [str(number + 1) for number in range(counts.hits.shape[0])],
            (counts.hits / max(counts.total, 1)).tolist(),
            written=True,
        ),
        BarPanel(
            Bilingual("The best head of each seed", "每个种子中最好的头"),
            Bilingual("share with the largest weight there", "最大权重落在该处的比例"),
            [Bilingual(f"seed {seed}", f"种子 {seed}") for seed in seeds],
            [
                bars(
                    Bilingual("noun to adjective", "名词到形容词"),
                    [from_noun for from_noun, _ in heads],
                ),
                bars(
                    Bilingual("other words, as far", "其他词，同样距离"),
                    [from_other for _, from_other in heads],
                ),
            ],
            reference=(Bilingual("chance", "随机"), counts.chance),
            y_range=(0.0, 1.0),
        ),
    ]
